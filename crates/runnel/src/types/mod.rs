//! Types of messages and services: what the two generations call them, what a node announces of them and can describe.

pub(crate) mod announced;
#[cfg(feature = "type_description")]
pub(crate) mod node_types;
pub(crate) mod type_mapping;

#[cfg(feature = "type_description")]
pub(crate) use node_types::TypeUse;

/// Use of a type, which nodes do not describe.
#[cfg(not(feature = "type_description"))]
pub(crate) struct TypeUse;
