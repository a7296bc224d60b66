//! Dynamic messages: messages of types that are known only at run time, by their [`Schema`].
//!
//! A [`DynamicMessage`] always conforms to its schema: each field has the type, length and range of the schema, so encoding
//! cannot fail. Arrays of numbers are stored as numbers ([`Array`]), not as single values.
//!
//! A schema may come from a peer, like bytes. Therefore the memory of a message ([`MAX_MEMORY`]) and the nesting of messages
//! ([`MAX_MESSAGE_DEPTH`](crate::schema::MAX_MESSAGE_DEPTH)) are bounded.

mod array;
mod budget;
mod decode;
mod default;
mod describe;
mod encode;
mod error;
mod fit;
mod form;
mod path;
mod select;
mod value;

pub use array::Array;
pub use error::{DynamicError, DynamicErrorKind};
pub use value::{Value, ValueRef};

pub(crate) use budget::Budget;
pub(crate) use default::default_field;
pub(crate) use describe::{describe, element_name};
pub(crate) use error::join;
#[cfg(feature = "json")]
pub(crate) use fit::check_len;
pub(crate) use fit::fit_element;
#[cfg(feature = "json")]
pub(crate) use path::no_such_field;

use crate::schema::{Field, Schema};
use crate::wire::{NoMemory, try_clone_each};
use std::sync::Arc;

/// The most bytes of memory that a message may take up beyond the bytes it was decoded from.
pub const MAX_MEMORY: usize = 256 << 20;

/// A message of a type known by its schema.
#[derive(Clone, Debug)]
pub struct DynamicMessage {
    schema: Arc<Schema>,
    fields: Vec<Value>,
}

impl DynamicMessage {
    /// The schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The fields in the schema's order, each with its value.
    pub fn fields(&self) -> impl Iterator<Item = (&Field, &Value)> {
        self.schema.def.fields.iter().zip(&self.fields)
    }

    /// The value of a field, or `None` if no field has this name.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields().find(|(field, _)| field.name == name).map(|(_, value)| value)
    }
}

impl DynamicMessage {
    /// A copy of the message, as by `Clone`.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn try_clone(&self) -> Result<Self, NoMemory> {
        let fields = try_clone_each(&self.fields, |value| value.view().try_to_value())?;
        Ok(Self { schema: Arc::clone(&self.schema), fields })
    }
}

impl PartialEq for DynamicMessage {
    /// Messages are equal if they are of one type and their fields are equal.
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &Schema, b: &Schema| a.md5 == b.md5 && a.def.name == b.def.name;
        (Arc::ptr_eq(&self.schema, &other.schema) || same(&self.schema, &other.schema))
            && self.fields == other.fields
    }
}

#[cfg(feature = "json")]
impl DynamicMessage {
    /// A message of these values, which fit the schema's fields one by one.
    pub(crate) fn of_values(schema: Arc<Schema>, fields: Vec<Value>) -> Self {
        Self { schema, fields }
    }
}

/// The fields of a schema, each with the schema of its elements if they are messages.
pub(crate) fn parts(schema: &Schema) -> impl Iterator<Item = (&Field, Option<&Arc<Schema>>)> {
    let part = |index: usize| schema.parts.get(index).and_then(Option::as_ref);
    schema.def.fields.iter().enumerate().map(move |(index, field)| (field, part(index)))
}

#[cfg(all(test, feature = "yaml"))]
pub(crate) mod tests;
