//! Deserializer of one YAML node.

use super::events::{Event, EventKind, Events};
use super::{Place, Plain, plain_value};
use crate::dynamic::DynamicErrorKind;
use crate::yaml::YamlErrorKind;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::fmt;

/// A node cannot be read.
#[derive(Debug)]
pub(crate) struct ReadError {
    pub(crate) kind: YamlErrorKind,
    pub(crate) place: Option<Place>,
    /// The character of the text, and its column from 0, with which quoted text begins that is not indented enough.
    pub(super) refused_quote: Option<(usize, usize)>,
}

impl ReadError {
    pub(super) const TOO_LARGE: Self =
        Self { kind: YamlErrorKind::Message(DynamicErrorKind::TooLarge), place: None, refused_quote: None };

    pub(super) fn of(kind: YamlErrorKind, place: Place) -> Self {
        Self { kind, place: Some(place), refused_quote: None }
    }

    pub(super) fn syntax(reason: &str, place: Place) -> Self {
        Self::of(YamlErrorKind::Syntax(reason.to_owned()), place)
    }

    /// Whether [`indented`](super::indented) may help.
    pub(crate) fn is_of_indentation(&self) -> bool {
        self.refused_quote.is_some()
    }

    /// The error with the place of the node in which it happened, if it has none.
    pub(super) fn within(self, place: Place) -> Self {
        Self { place: self.place.or(Some(place)), ..self }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { kind: YamlErrorKind::Syntax(reason.to_string()), place: None, refused_quote: None }
    }
}

/// Reads the next node.
pub(crate) struct Reader<'e, 't>(pub(crate) &'e mut Events<'t>);

impl<'de> de::Deserializer<'de> for Reader<'_, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let Event { kind, tag, place } = self.0.next()?;
        let tag = tag.as_deref();
        let read = match kind {
            EventKind::Scalar { text, is_plain } => scalar(&text, is_plain, tag, visitor),
            EventKind::List => check_tag(tag, "!!seq").and_then(|()| visitor.visit_seq(Items(self.0))),
            EventKind::Mapping => check_tag(tag, "!!map").and_then(|()| visitor.visit_map(Items(self.0))),
            EventKind::End | EventKind::Alias(_) => Err(ReadError::syntax("a value is missing", place)),
        };
        read.map_err(|error| error.within(place))
    }

    /// `None` for null, otherwise the text as typed.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let Event { kind, tag, place } = self.0.next()?;
        let read = match kind {
            EventKind::Scalar { text, is_plain: true }
                if tag.is_none() && plain_value(&text) == Plain::Null =>
            {
                visitor.visit_none()
            }
            EventKind::Scalar { text, .. } => match tag.as_deref() {
                None | Some("!" | "!!str") => visitor.visit_some(Typed(Some(text))),
                Some(tag) => Err(unknown_tag(tag)),
            },
            _ => visitor.visit_some(Typed(None)),
        };
        read.map_err(|error| error.within(place))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

fn scalar<'de, V: Visitor<'de>>(
    text: &str,
    is_plain: bool,
    tag: Option<&str>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let value = match tag {
        None if is_plain => plain_value(text),
        None | Some("!" | "!!str") => Plain::Text(text),
        Some(tag @ ("!!null" | "!!bool" | "!!int" | "!!float")) => tagged(tag, text)?,
        Some(tag) => return Err(unknown_tag(tag)),
    };
    match value {
        Plain::Null => visitor.visit_unit(),
        Plain::Bool(truth) => visitor.visit_bool(truth),
        Plain::Int(number) => visitor.visit_i128(number),
        Plain::Float(number) => visitor.visit_f64(number),
        Plain::Text(text) => visitor.visit_str(text),
    }
}

/// The value of a tagged text.
fn tagged<'t>(tag: &str, text: &'t str) -> Result<Plain<'t>, ReadError> {
    let value = plain_value(text);
    match (tag, value) {
        ("!!null", Plain::Null) | ("!!bool", Plain::Bool(_)) | ("!!int", Plain::Int(_)) => Ok(value),
        ("!!float", Plain::Float(_)) => Ok(value),
        ("!!float", Plain::Int(number)) => Ok(Plain::Float(number as f64)),
        _ => Err(de::Error::invalid_value(Unexpected::Str(text), &tag)),
    }
}

fn check_tag(tag: Option<&str>, of_kind: &str) -> Result<(), ReadError> {
    match tag {
        Some(tag) if tag != of_kind && tag != "!" => Err(unknown_tag(tag)),
        _ => Ok(()),
    }
}

fn unknown_tag(tag: &str) -> ReadError {
    de::Error::custom(format_args!("unknown tag {tag}"))
}

/// The rest of a list or mapping.
struct Items<'e, 't>(&'e mut Events<'t>);

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        if self.0.take_end()? { Ok(None) } else { seed.deserialize(Reader(self.0)).map(Some) }
    }
}

impl<'de> MapAccess<'de> for Items<'_, '_> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        seed.deserialize(Reader(self.0))
    }
}

/// Text as typed; `None` for a list or mapping.
struct Typed<'t>(Option<Cow<'t, str>>);

impl<'de> de::Deserializer<'de> for Typed<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.0 {
            Some(text) => visitor.visit_str(&text),
            None => Err(de::Error::custom("a list or mapping where text should be")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
