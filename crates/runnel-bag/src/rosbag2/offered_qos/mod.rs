//! QoS in the YAML of rosbag2: the field `offered_qos_profiles` of topics, and files of overrides.
//!
//! Policies are spelled as numbers of rmw up to metadata version 8, and as words from version 9 on. Both are read; words
//! are written.
//!
//! - [`to_yaml`] makes the text of [`Channel::offered_qos`](crate::Channel::offered_qos) for a recording, and
//!   [`from_yaml`] reads it for playing. What a recorder of another vendor wrote is never an error if it is a list of
//!   mappings.
//! - [`overrides_from_yaml`] reads a file of the option `--qos-profile-overrides-path` of `ros2 bag`: a mapping of topics
//!   to profiles. It is written by hand, so each unknown policy or value is an error.

mod overrides;
mod profile;
mod spelling;
#[cfg(test)]
mod tests;

pub use overrides::overrides_from_yaml;
pub use profile::{from_yaml, to_yaml};
pub(super) use spelling::{in_words, offered_qos};
