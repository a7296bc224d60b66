//! Errors of decoding and encoding.

use core::fmt;

use super::{MAX_DEPTH, MAX_VALUES};

/// Longest name or text of a peer that an error repeats, in characters.
const QUOTED: usize = 48;

/// A document that is not an XML-RPC call or response, or that exceeds a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The method of the call, if it was already decoded.
    pub method: Option<String>,
    /// The element that contains the error; empty outside the root element.
    pub element: &'static str,
    /// Byte offset in the document.
    pub offset: usize,
    /// The kind of error.
    pub problem: DecodeProblem,
}

/// Error of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeProblem {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The document declares an encoding other than UTF-8, and has characters outside ASCII.
    Encoding(String),
    /// It is not well-formed XML; holds the parser's error.
    Xml(String),
    /// It has a document type definition.
    DocumentType,
    /// It uses an entity other than the five of XML.
    Entity(String),
    /// It has a character that XML forbids.
    Character(char),
    /// `<nil/>`, which is not a value in ROS.
    Nil,
    /// An element that is not defined in XML-RPC.
    UnknownElement(String),
    /// An XML-RPC element in the wrong place.
    Unexpected {
        /// The element found.
        found: String,
        /// The element expected.
        expected: &'static str,
    },
    /// Text where only elements are allowed.
    StrayText(String),
    /// An integer that does not fit 32 bits.
    IntegerRange(String),
    /// Text that is not a value of its element's type.
    BadText(String),
    /// Values nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More values than [`MAX_VALUES`].
    TooManyValues,
    /// A fault without an integer `faultCode` and a string `faultString`.
    BadFault,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "call of {}: ", quoted(method))?;
        }
        write!(f, "byte {}", self.offset)?;
        if !self.element.is_empty() {
            write!(f, " in <{}>", self.element)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for DecodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::Encoding(name) => write!(f, "encoding {name} is not supported, only UTF-8"),
            Self::Xml(why) => write!(f, "not well-formed XML: {why}"),
            Self::DocumentType => f.write_str("document type definitions are refused"),
            Self::Entity(name) => write!(f, "unknown entity &{name};"),
            Self::Character(ch) => write!(f, "character U+{:04X} is forbidden in XML", u32::from(*ch)),
            Self::Nil => f.write_str("<nil/> is not a value in ROS"),
            Self::UnknownElement(name) => write!(f, "<{name}> is not an element of XML-RPC"),
            Self::Unexpected { found, expected } => write!(f, "found {found} instead of {expected}"),
            Self::StrayText(text) => write!(f, "stray text {text:?}"),
            Self::IntegerRange(text) => write!(f, "{text} does not fit a 32-bit integer"),
            Self::BadText(text) => write!(f, "{text:?} is not a value of this type"),
            Self::TooDeep => write!(f, "values nested more than {MAX_DEPTH} deep"),
            Self::TooManyValues => write!(f, "more than {MAX_VALUES} values"),
            Self::BadFault => f.write_str("a fault needs an integer faultCode and a string faultString"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// A value that cannot be written as XML-RPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The method of the call, or `None` for a response.
    pub method: Option<String>,
    /// The kind of error.
    pub problem: EncodeProblem,
}

/// Error of a value to be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeProblem {
    /// A character that XML cannot hold, even escaped.
    Character {
        /// The element whose text contains it.
        element: &'static str,
        /// The character.
        ch: char,
        /// Its byte offset in that text.
        offset: usize,
    },
    /// Values nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// More values than [`MAX_VALUES`].
    TooManyValues,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.method {
            Some(method) => write!(f, "call of {}: {}", quoted(method).escape_debug(), self.problem),
            None => write!(f, "response: {}", self.problem),
        }
    }
}

impl fmt::Display for EncodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Character { element, ch, offset } => {
                let code = u32::from(*ch);
                write!(f, "character U+{code:04X} at byte {offset} of a <{element}> cannot be written in XML")
            }
            Self::TooDeep => write!(f, "values nested more than {MAX_DEPTH} deep"),
            Self::TooManyValues => write!(f, "more than {MAX_VALUES} values"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// The beginning of a peer's text, short enough for a log line.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
