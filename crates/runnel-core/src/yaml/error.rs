//! Errors of reading a message from text.

use crate::dynamic::DynamicErrorKind;
use std::fmt;

/// A text is not the message it should be: what is wrong, in which field, and where in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    pub(super) path: String,
    pub(super) place: Option<(usize, usize)>,
    pub(super) kind: YamlErrorKind,
}

/// What can be wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlErrorKind {
    /// It is not YAML (or JSON), or not one document.
    Syntax(String),
    /// It is longer than [`MAX_TEXT`](super::MAX_TEXT).
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// Lists and mappings lie more than [`MAX_BRACKETS`](super::MAX_BRACKETS) deep in one another, or may do so, or the
    /// text has more directives than any needs.
    TooDeep,
    /// A value does not fit its field, a field does not exist, or the message would be too large.
    Message(DynamicErrorKind),
    /// A field is given twice.
    GivenTwice,
    /// Values without names are given, but not one for each field.
    ValueCount {
        /// The type whose fields they are for.
        message: String,
        /// How many values there are.
        given: usize,
        /// How many fields there are.
        expected: usize,
    },
}

impl YamlError {
    /// What is wrong.
    pub fn kind(&self) -> &YamlErrorKind {
        &self.kind
    }

    /// The field in which it is wrong, such as `pose.position.x`; empty for the message as a whole.
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
            Self::TooDeep => write!(f, "lists and mappings may lie more than {} deep", super::MAX_BRACKETS),
            Self::Message(kind) => kind.fmt(f),
            Self::GivenTwice => f.write_str("given twice"),
            Self::ValueCount { message, given, expected } => {
                write!(f, "{given} values without names, where {message} has {expected} fields")
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
