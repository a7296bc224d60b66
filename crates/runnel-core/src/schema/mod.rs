//! Message schemas of `.msg`, `.srv` and `.action` files, in both generations.
//!
//! [`parse`] reads one file into a definition; a [`Library`] finds the definitions that it names and joins them
//! into a [`Schema`], which knows its ROS 1 MD5 and the full text that travels in connection headers, or its ROS 2 type
//! hash: a type has a form in each [`Generation`].

mod action;
mod described_type;
mod fixed_len;
mod folders;
mod form;
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
pub use generation::{Generation, snake_case};
pub use library::{BuiltIn, Kind, Library};
pub use parse::ParseError;
pub use resolve::{MAX_MESSAGE_DEPTH, ResolveError};
pub use type_description::{TypeDescription, TypeSource};
pub use types::{
    ActionDef, ActionSchema, Arity, Constant, Element, Field, Literal, MessageDef, Primitive, Schema,
    ServiceDef, ServiceSchema, TypeName,
};

#[cfg(test)]
mod tests;
