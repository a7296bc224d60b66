//! Messages from YAML documents.

use super::fields::FieldNode;
use super::message::{MessageNode, complete};
use super::node::{Context, Node};
use super::{check_length, value_count};
use crate::dynamic::{DynamicMessage, parts};
use crate::schema::{Arity, Element, Primitive, Schema};
use crate::time::Time;
use crate::yaml::YamlError;
use crate::yaml::parser::{Events, ReadError, Reader, indented};
use serde::de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Reads one YAML document as a message. Missing fields get their defaults.
///
/// - A mapping sets fields by name, also in nested messages. A list sets all fields in order.
/// - A message with one field accepts a value that is not a mapping as that field's value: `hello` for a
///   `std_msgs/String`, `[[1, 2, 3]]` for a `geometry_msgs/Polygon`.
/// - A time is `now` (the argument `now`), a mapping or list of `secs` and `nsecs` (`sec` and `nanosec` also), or
///   nanoseconds as one number. A header is `auto`, with `now` as its stamp.
/// - Integers may be hexadecimal (`0x1F`), octal (`017`, `0o17`) or binary (`0b11`), also for float fields; booleans are the
///   words of YAML 1.1 (`yes`, `off`), 0 and 1; `nan`, `inf` and `-inf` are floats.
///
/// # Errors
/// If the text is not YAML, names an unknown field, or contains a value that does not fit its field.
pub fn from_yaml(schema: &Arc<Schema>, text: &str, now: Time) -> Result<DynamicMessage, YamlError> {
    check_length(text.len())?;
    let context = Context::new(now);
    let (outer, text) = Outer::of(text)?;
    let text = &*text;
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

/// Reads the arguments after the type on `rostopic pub`'s command line: one document as in [`from_yaml`], or one for each
/// field. Without arguments the message has its defaults.
///
/// # Errors
/// As [`from_yaml`], and if there is neither one argument nor one for each field.
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

fn one_for_each_field(schema: &Arc<Schema>, texts: &[&str], now: Time) -> Result<DynamicMessage, YamlError> {
    let context = Context::new(now);
    check_length(texts.iter().map(|text| text.len()).sum())?;
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

/// Reads the only document of a text. An error is the one that a node left in the context, or the parser's.
fn read<N: Node>(context: &Context, node: N, text: &str) -> Result<N::Output, YamlError> {
    only_document(context.visit(node), text).map_err(|ReadError { kind, place, .. }| {
        let kind = context.failure().unwrap_or(kind);
        context.error(kind, place)
    })
}

/// Reads the only document of a text; a text without one is null.
fn only_document<'de, S: DeserializeSeed<'de>>(seed: S, text: &str) -> Result<S::Value, ReadError> {
    let mut events = Events::new(text);
    if !events.next_document()? {
        return seed.deserialize(().into_deserializer());
    }
    let value = seed.deserialize(Reader(&mut events))?;
    if events.next_document()? {
        return Err(serde::de::Error::custom("more than one YAML document"));
    }
    Ok(value)
}

/// Whether a list is the value of a message's only field, and not the list of its fields.
fn takes_list(element: &Element, arity: Arity) -> bool {
    arity != Arity::One
        || matches!(element, Element::Message(_) | Element::Primitive(Primitive::Time | Primitive::Duration))
}

/// Kind of a document's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outer {
    Scalar,
    List,
    Mapping,
}

impl Outer {
    /// The kind of a document's root, and the text to read.
    fn of(text: &str) -> Result<(Self, Cow<'_, str>), YamlError> {
        let (outer, text) = match only_document(OuterSeed, text) {
            Err(error) if error.is_of_indentation() => {
                let text = indented(text);
                (only_document(OuterSeed, &text), text)
            }
            outer => (outer, Cow::Borrowed(text)),
        };
        let refused = |ReadError { kind, place, .. }| YamlError { path: String::new(), place, kind };
        Ok((outer.map_err(refused)?, text))
    }
}

struct OuterSeed;

impl<'de> DeserializeSeed<'de> for OuterSeed {
    type Value = Outer;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Outer, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Accepts every scalar.
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
