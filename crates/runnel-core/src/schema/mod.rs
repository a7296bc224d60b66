//! Message schemas of `.msg`, `.srv` and `.action` files, in both generations.
//!
//! [`parse`] reads one file into a definition; a [`Library`] resolves the types that it names into a [`Schema`]. A type has a
//! form in each [`Generation`]: the ROS 1 form has an MD5 and the full text for connection headers, the ROS 2 form a type
//! hash.

mod action;
mod definition_text;
mod described_type;
mod fixed_len;
mod folders;
mod form;
mod from_description;
mod full_text;
mod generation;
mod library;
mod md5;
pub mod parse;
mod resolve;
mod rihs01;
mod type_description;
mod types;

pub use described_type::{DescribedField, DescribedType};
pub use folders::{DefinitionFile, definition_files};
pub use from_description::DescriptionError;
pub use generation::{Generation, snake_case};
pub use library::{BuiltIn, Kind, Library};
pub use parse::ParseError;
pub use resolve::{MAX_MESSAGE_DEPTH, ResolveError};
pub use rihs01::ros2_action_messages;
pub use type_description::{TypeDescription, TypeSource};
pub use types::{
    ActionDef, ActionSchema, Arity, Constant, Element, Field, Literal, MessageDef, Primitive, Schema,
    ServiceDef, ServiceSchema, TypeName,
};

#[cfg(test)]
mod tests;
