//! YAML parser: the events of `saphyr-parser` with aliases resolved, as a deserializer and as a tree.
//!
//! The text is parsed while it is read. Only anchored nodes are stored. The memory of stored and repeated nodes
//! ([`MAX_MEMORY`](crate::dynamic::MAX_MEMORY)) and the depth of lists and mappings
//! ([`MAX_BRACKETS`](super::MAX_BRACKETS)), with aliases resolved, are bounded.

mod de;
mod events;
mod indentation;
mod place;
mod plain;
mod tree;

pub(super) use de::{ReadError, Reader};
pub(super) use events::Events;
pub(super) use indentation::indented;
pub use place::place_of;
pub use plain::{Plain, plain_value};
pub use tree::{YamlNode, YamlValue, parse_documents};

/// Line and column, counted from 1.
type Place = (usize, usize);

#[cfg(test)]
mod tests;
