//! Why bytes are not a message.

use alloc::vec::Vec;
use core::fmt;

/// Received bytes do not hold the message they should: what is wrong and in which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    /// Innermost first, since they are noted on the way out.
    path: Vec<&'static str>,
}

/// What can be wrong with received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// So many bytes were needed where only so many were left.
    Truncated {
        /// Bytes needed.
        needed: usize,
        /// Bytes left.
        left: usize,
    },
    /// A sequence claims more elements than the bytes left can hold.
    CountBeyondMessage {
        /// Elements claimed.
        count: usize,
        /// Bytes left.
        left: usize,
    },
    /// A text that is to be borrowed is not UTF-8.
    NotUtf8,
    /// Bytes follow the end of the message.
    TrailingBytes {
        /// How many.
        count: usize,
    },
}

impl DecodeError {
    /// The error with the name of the field it arose in; generated code calls it on the way out.
    #[cold]
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        self.path.push(field);
        self
    }

    /// What is wrong.
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }
}

impl From<DecodeErrorKind> for DecodeError {
    #[cold]
    fn from(kind: DecodeErrorKind) -> Self {
        Self { kind, path: Vec::new() }
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, left } => {
                write!(f, "message ends early: {needed} bytes needed, {left} left")
            }
            Self::CountBeyondMessage { count, left } => {
                write!(f, "{count} elements claimed, but only {left} bytes left")
            }
            Self::NotUtf8 => f.write_str("text is not UTF-8"),
            Self::TrailingBytes { count } => write!(f, "{count} bytes follow the end of the message"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.path.iter().rev().enumerate() {
            f.write_str(if index == 0 { "field " } else { "." })?;
            f.write_str(field)?;
        }
        if !self.path.is_empty() {
            f.write_str(": ")?;
        }
        self.kind.fmt(f)
    }
}

impl core::error::Error for DecodeError {}
