//! YAML parser: the events of `saphyr-parser` with aliases resolved, as a deserializer and as a tree.
//!
//! The text is parsed while it is read. Only what an anchor names is kept, and what is kept or repeated by aliases is
//! bounded ([`MAX_MEMORY`](crate::dynamic::MAX_MEMORY)). So is the depth of lists and mappings
//! ([`MAX_BRACKETS`](super::MAX_BRACKETS)), with aliases resolved.

mod de;
mod events;
mod indentation;
mod plain;
mod tree;

pub(super) use de::{ReadError, Reader};
pub(super) use events::Events;
pub(super) use indentation::indented;
pub use plain::{Plain, plain_value};
pub use tree::{YamlNode, YamlValue, parse_documents};

/// Line and column, counted from 1.
type Place = (usize, usize);

#[cfg(test)]
mod tests;
