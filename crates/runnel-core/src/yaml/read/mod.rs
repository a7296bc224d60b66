//! Reader of messages in the text form of `rostopic pub`.
//!
//! The schema drives the reader: each kind of value has a [`Node`](node::Node), which reads it directly into the message.
//! Therefore a text field gets `1e5` or `yes` as typed, and no tree of the text is built.

#[cfg(feature = "yaml")]
mod document;
mod fields;
mod message;
mod node;
mod scalar;

use super::{YamlError, YamlErrorKind};
use crate::dynamic::{DynamicMessage, join};
use crate::schema::{MAX_MESSAGE_DEPTH, Schema};
use crate::time::Time;
#[cfg(feature = "yaml")]
pub use document::{from_yaml, from_yaml_args};
use message::MessageNode;
use node::Context;
use serde::de::DeserializeSeed;
use std::sync::Arc;

/// The most bytes that a text may have.
pub const MAX_TEXT: usize = 16 << 20;

/// Maximum nesting of lists and mappings: messages are nested at most [`MAX_MESSAGE_DEPTH`] deep and need two levels each.
pub const MAX_BRACKETS: usize = 2 * MAX_MESSAGE_DEPTH;

/// Reads a JSON object as a message, by the rules of `from_yaml`.
///
/// # Errors
/// If the text is not JSON, names an unknown field, or contains a value that does not fit its field.
pub fn from_json(schema: &Arc<Schema>, text: &str, now: Time) -> Result<DynamicMessage, YamlError> {
    check_length(text.len())?;
    let context = Context::new(now);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let message = context.visit(MessageNode { schema, depth: 0 }).deserialize(&mut deserializer);
    let read = message.and_then(|message| deserializer.end().map(|()| message));
    read.map_err(|error| {
        let kind = context.failure().unwrap_or_else(|| YamlErrorKind::Syntax(without_place(&error)));
        context.error(kind, (error.line() > 0).then(|| (error.line(), error.column())))
    })
}

/// The message of a JSON error, without the position at its end.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
}

fn value_count(schema: &Schema, values: usize) -> YamlErrorKind {
    YamlErrorKind::ValueCount {
        message: schema.def.name.to_string(),
        values,
        expected: schema.def.fields.len(),
    }
}

fn check_length(len: usize) -> Result<(), YamlError> {
    if len > MAX_TEXT { Err(refused(YamlErrorKind::TooLong { len })) } else { Ok(()) }
}

/// An error of the complete text.
fn refused(kind: YamlErrorKind) -> YamlError {
    YamlError { path: String::new(), place: None, kind }
}

impl Context {
    fn error(&self, kind: YamlErrorKind, place: Option<(usize, usize)>) -> YamlError {
        YamlError {
            path: self.path().iter().fold(String::new(), |path, step| join(&path, step)),
            place,
            kind,
        }
    }
}
