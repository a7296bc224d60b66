//! Messages from the text that `rostopic pub` takes.
//!
//! A text is read straight into the message, led by the schema: a [`Node`](node::Node) for each kind of thing that
//! can stand in a place. So a text field takes `1e5` or `yes` as it was typed, and no tree of the text is built.

mod fields;
mod message;
mod nesting;
mod node;
mod scalar;

use super::{YamlError, YamlErrorKind};
use crate::dynamic::{DynamicMessage, join, parts};
use crate::schema::{Arity, Element, Primitive, Schema};
use crate::time::Time;
use fields::FieldNode;
use message::{MessageNode, complete};
pub use nesting::MAX_BRACKETS;
use node::{Context, Node};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml_ng::Deserializer;
use std::fmt;
use std::sync::Arc;

/// The most bytes that a text may have.
pub const MAX_TEXT: usize = 16 << 20;

/// Reads one YAML document as a message. Fields that are not given get their defaults.
///
/// - A mapping gives fields by name; nested messages likewise. A list gives all fields in order.
/// - A message of one field takes anything that is not a mapping as that field's value: `hello` for a
///   `std_msgs/String`, `[[1, 2, 3]]` for a `geometry_msgs/Polygon`.
/// - A time is `now` (the argument `now`), a mapping or list of `secs` and `nsecs` (`sec` and `nanosec` also), or
///   nanoseconds as one number. A header is `auto`, with `now` as its stamp.
/// - Whole numbers may be hexadecimal (`0x1F`), octal (`017`, `0o17`) or binary (`0b11`), and do for floats; truth
///   values are the words of YAML 1.1 (`yes`, `off`), 0 and 1; `nan`, `inf` and `-inf` are floats.
///
/// # Errors
/// When the text is not YAML, names a field that is not there, or holds a value that does not fit its field.
pub fn from_yaml(schema: &Arc<Schema>, text: &str, now: Time) -> Result<DynamicMessage, YamlError> {
    check_length(text.len())?;
    check_nesting(text)?;
    let context = Context::new(now);
    let outer = Outer::of(text)?;
    let whole = match (schema.def.fields.as_slice(), outer) {
        (_, Outer::Mapping) => true,
        ([field], Outer::List) => !takes_list(&field.element, field.arity),
        ([_], Outer::Scalar) => false,
        _ => true,
    };
    match whole {
        true => read(&context, MessageNode { schema, depth: 0 }, text),
        false => from_fields(&context, schema, &[text]),
    }
}

/// Reads what stands behind the type on `rostopic pub`'s command line: one document as [`from_yaml`] does, or one for
/// each field. No argument at all is the message at its defaults.
///
/// # Errors
/// As [`from_yaml`], and when there is neither one argument nor one for each field.
pub fn from_yaml_args(
    schema: &Arc<Schema>,
    arguments: &[&str],
    now: Time,
) -> Result<DynamicMessage, YamlError> {
    match arguments {
        [] => from_yaml(schema, "{}", now),
        [text] => from_yaml(schema, text, now),
        _ => one_for_each_field(schema, arguments, now),
    }
}

/// Reads a JSON object as a message, by the rules of [`from_yaml`].
///
/// # Errors
/// As [`from_yaml`], for JSON.
pub fn from_json(schema: &Arc<Schema>, text: &str, now: Time) -> Result<DynamicMessage, YamlError> {
    check_length(text.len())?;
    let context = Context::new(now);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let message = context.visit(MessageNode { schema, depth: 0 }).deserialize(&mut deserializer);
    let read = message.and_then(|message| deserializer.end().map(|()| message));
    read.map_err(|error| {
        let kind = context.failure().unwrap_or_else(|| YamlErrorKind::Syntax(error.to_string()));
        context.error(kind, (error.line() > 0).then(|| (error.line(), error.column())))
    })
}

fn one_for_each_field(schema: &Arc<Schema>, texts: &[&str], now: Time) -> Result<DynamicMessage, YamlError> {
    let context = Context::new(now);
    check_length(texts.iter().map(|text| text.len()).sum())?;
    texts.iter().try_for_each(|text| check_nesting(text))?;
    if texts.len() != schema.def.fields.len() {
        return Err(context.error(value_count(schema, texts.len()), None));
    }
    from_fields(&context, schema, texts)
}

/// Reads a document for each field.
fn from_fields(context: &Context, schema: &Arc<Schema>, texts: &[&str]) -> Result<DynamicMessage, YamlError> {
    let mut values = Vec::new();
    for ((field, part), text) in parts(schema).zip(texts) {
        let node = FieldNode { field, part, depth: 0 };
        values.push(Some(context.within(field.name.clone(), || read(context, node, text))?));
    }
    complete(context, schema, values, 0).map_err(|kind| context.error(kind, None))
}

fn value_count(schema: &Schema, given: usize) -> YamlErrorKind {
    YamlErrorKind::ValueCount {
        message: schema.def.name.to_string(),
        given,
        expected: schema.def.fields.len(),
    }
}

fn check_length(len: usize) -> Result<(), YamlError> {
    if len > MAX_TEXT { Err(refused(YamlErrorKind::TooLong { len })) } else { Ok(()) }
}

fn check_nesting(text: &str) -> Result<(), YamlError> {
    if nesting::is_bounded(text) { Ok(()) } else { Err(refused(YamlErrorKind::TooDeep)) }
}

/// An error about the text as a whole.
fn refused(kind: YamlErrorKind) -> YamlError {
    YamlError { path: String::new(), place: None, kind }
}

/// Reads a document. An error is the one that a node left in the context, or the parser's.
fn read<N: Node>(context: &Context, node: N, text: &str) -> Result<N::Output, YamlError> {
    context.visit(node).deserialize(Deserializer::from_str(text)).map_err(|error| {
        let kind = context.failure().unwrap_or_else(|| YamlErrorKind::Syntax(error.to_string()));
        context.error(kind, place(&error))
    })
}

/// Line and column of a parser's error.
fn place(error: &serde_yaml_ng::Error) -> Option<(usize, usize)> {
    error.location().map(|place| (place.line(), place.column()))
}

/// True if a list is the value of a message's only field, and not the list of its fields.
fn takes_list(element: &Element, arity: Arity) -> bool {
    arity != Arity::One
        || matches!(element, Element::Message(_) | Element::Primitive(Primitive::Time | Primitive::Duration))
}

/// What a document is as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outer {
    Scalar,
    List,
    Mapping,
}

impl Outer {
    fn of(text: &str) -> Result<Self, YamlError> {
        let syntax = |error: serde_yaml_ng::Error| YamlError {
            path: String::new(),
            place: place(&error),
            kind: YamlErrorKind::Syntax(error.to_string()),
        };
        OuterSeed.deserialize(Deserializer::from_str(text)).map_err(syntax)
    }
}

struct OuterSeed;

impl<'de> DeserializeSeed<'de> for OuterSeed {
    type Value = Outer;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Outer, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Every scalar is one, whatever it holds.
macro_rules! scalars {
    ($($visit:ident: $type:ty),*) => {$(
        fn $visit<E>(self, _: $type) -> Result<Outer, E> {
            Ok(Outer::Scalar)
        }
    )*};
}

impl<'de> Visitor<'de> for OuterSeed {
    type Value = Outer;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }
    scalars!(visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128);
    scalars!(visit_f64: f64, visit_str: &str);
    fn visit_unit<E>(self) -> Result<Outer, E> {
        Ok(Outer::Scalar)
    }
    fn visit_none<E>(self) -> Result<Outer, E> {
        Ok(Outer::Scalar)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Outer, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Outer::List)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outer, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Outer::Mapping)
    }
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
