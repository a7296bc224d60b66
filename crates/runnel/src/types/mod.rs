//! Types of messages and services: what the two generations call them, what a node announces of them and can describe.

pub(crate) mod announced;
#[cfg(feature = "type_description")]
pub(crate) mod node_types;
pub(crate) mod type_mapping;
