//! Errors of reading a message from text.

use crate::dynamic::DynamicErrorKind;
use std::fmt;

/// Error in the text of a message, with the field and the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    pub(super) path: String,
    pub(super) place: Option<(usize, usize)>,
    pub(super) kind: YamlErrorKind,
}

/// Kind of error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlErrorKind {
    /// It is not YAML (or JSON), or not one document.
    Syntax(String),
    /// It is longer than [`MAX_TEXT`](super::MAX_TEXT).
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// Lists and mappings are, or may be, nested more than [`MAX_BRACKETS`](super::MAX_BRACKETS) deep, or the text has too
    /// many directives.
    TooDeep,
    /// A value does not fit its field, a field does not exist, or the message would be too large.
    Message(DynamicErrorKind),
    /// A field has two values.
    SetTwice,
    /// The number of values without names differs from the number of fields.
    ValueCount {
        /// The type whose fields they are for.
        message: String,
        /// Number of values.
        values: usize,
        /// Number of fields.
        expected: usize,
    },
}

impl YamlError {
    /// The kind of error.
    pub fn kind(&self) -> &YamlErrorKind {
        &self.kind
    }

    /// The path of the field, such as `pose.position.x`; empty for the complete message.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Line and column in the text, counted from 1, where they are known.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }
}

impl From<DynamicErrorKind> for YamlErrorKind {
    fn from(kind: DynamicErrorKind) -> Self {
        Self::Message(kind)
    }
}

impl fmt::Display for YamlErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(reason) => write!(f, "{reason}"),
            Self::TooLong { len } => write!(f, "{len} bytes of text, where {} are allowed", super::MAX_TEXT),
            Self::TooDeep => {
                write!(f, "lists and mappings may be nested more than {} deep", super::MAX_BRACKETS)
            }
            Self::Message(kind) => kind.fmt(f),
            Self::SetTwice => f.write_str("set twice"),
            Self::ValueCount { message, values, expected } => {
                write!(f, "{values} values without names, but {message} has {expected} fields")
            }
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.kind.fmt(f)?;
        match self.place {
            Some((line, column)) => write!(f, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for YamlError {}
