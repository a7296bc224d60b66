//! Files with the QoS of topics, as `--qos-profile-overrides-path` of `ros2 bag` takes them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use runnel::QoS;
use runnel_bag::rosbag2::offered_qos::overrides_from_yaml;

use crate::error::CliError;

/// Profiles by the absolute names of topics.
pub type QosOverrides = BTreeMap<String, QoS>;

/// Reads a file, if there is one.
///
/// # Errors
/// When it cannot be read, or has anything but profiles; the error names file, line and policy.
pub fn read(path: Option<&Path>) -> Result<QosOverrides, CliError> {
    let Some(path) = path else { return Ok(QosOverrides::new()) };
    let failed = |why: &dyn Display| CliError::Failed(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    overrides_from_yaml(&text).map_err(|error| failed(&error))
}
