//! YAML documents as trees.

use super::events::{Event, EventKind, Events};
use super::{ReadError, indented};
use crate::yaml::{MAX_TEXT, YamlError, YamlErrorKind};

/// A value in a YAML document, with aliases resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlNode {
    /// The tag as written, such as `!!str` or `!degrees`.
    pub tag: Option<String>,
    /// The value.
    pub value: YamlValue,
}

/// Value of a YAML node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlValue {
    /// Unquoted text, which may be a number or another value: see [`plain_value`](super::plain_value).
    Plain(String),
    /// Text in quotes or in a block.
    Quoted(String),
    /// The elements of a list.
    List(Vec<YamlNode>),
    /// The members of a mapping in their order.
    Mapping(Vec<(YamlNode, YamlNode)>),
}

/// The documents of a text. A text without documents is one null document.
///
/// # Errors
/// If the text is not YAML, is longer than [`MAX_TEXT`], is nested too deep or, with aliases resolved, uses too much memory.
pub fn parse_documents(text: &str) -> Result<Vec<YamlNode>, YamlError> {
    if text.len() > MAX_TEXT {
        let kind = YamlErrorKind::TooLong { len: text.len() };
        return Err(YamlError { path: String::new(), place: None, kind });
    }
    let read = match documents(text) {
        Err(error) if error.is_of_indentation() => documents(&indented(text)),
        read => read,
    };
    read.map_err(|ReadError { kind, place, .. }| YamlError { path: String::new(), place, kind })
}

fn documents(text: &str) -> Result<Vec<YamlNode>, ReadError> {
    let mut events = Events::new(text);
    let mut documents = Vec::new();
    while events.next_document()? {
        documents.push(node(&mut events)?);
    }
    if documents.is_empty() {
        documents.push(YamlNode { tag: None, value: YamlValue::Plain(String::new()) });
    }
    Ok(documents)
}

fn node(events: &mut Events<'_>) -> Result<YamlNode, ReadError> {
    let Event { kind, tag, place } = events.next()?;
    let value = match kind {
        EventKind::Scalar { text, is_plain: true } => YamlValue::Plain(text.into_owned()),
        EventKind::Scalar { text, is_plain: false } => YamlValue::Quoted(text.into_owned()),
        EventKind::List => YamlValue::List(list(events)?),
        EventKind::Mapping => YamlValue::Mapping(mapping(events)?),
        EventKind::End | EventKind::Alias(_) => return Err(ReadError::syntax("a value is missing", place)),
    };
    Ok(YamlNode { tag: tag.map(|tag| tag.to_string()), value })
}

fn list(events: &mut Events<'_>) -> Result<Vec<YamlNode>, ReadError> {
    let mut elements = Vec::new();
    while !events.take_end()? {
        events.take_bytes(size_of::<[YamlNode; 2]>())?;
        elements.push(node(events)?);
    }
    Ok(elements)
}

fn mapping(events: &mut Events<'_>) -> Result<Vec<(YamlNode, YamlNode)>, ReadError> {
    let mut members = Vec::new();
    while !events.take_end()? {
        events.take_bytes(size_of::<[YamlNode; 2]>())?;
        members.push((node(events)?, node(events)?));
    }
    Ok(members)
}
