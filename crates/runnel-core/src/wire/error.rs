//! Errors of decoding and encoding.

use alloc::vec::Vec;
use core::fmt;

/// Error in received bytes, with the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    /// Innermost first, since they are noted on the way out.
    path: Vec<&'static str>,
}

/// Kind of error in received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// Fewer bytes remain than are needed.
    Truncated {
        /// Bytes needed.
        needed: usize,
        /// Remaining bytes.
        remaining: usize,
    },
    /// A sequence has a count that exceeds the remaining bytes.
    CountBeyondMessage {
        /// Elements claimed.
        count: usize,
        /// Remaining bytes.
        remaining: usize,
    },
    /// A truth value is neither 0 nor 1.
    NotABool {
        /// The value.
        byte: u8,
    },
    /// A text that is to be borrowed is not UTF-8.
    NotUtf8,
    /// Bytes follow the end of the message.
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// The length of a part differs from its length prefix.
    WrongLength,
    /// Memory is exhausted.
    NoMemory {
        /// Bytes of memory needed for the sequence.
        bytes: usize,
    },
    /// A text or sequence is longer than its type allows in ROS 2.
    BeyondBound {
        /// Its length: bytes of text, or elements.
        len: usize,
        /// The most allowed.
        bound: usize,
    },
    /// A `wstring`, which ROS 2 implementations encode differently.
    WideText,
    /// The payload is in none of the encodings that are read.
    UnknownEncapsulation {
        /// Its representation identifier.
        identifier: u16,
    },
}

impl DecodeError {
    /// The error with the name of its field prepended, if memory allows; called by generated code.
    #[cold]
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        if self.path.try_reserve(1).is_ok() {
            self.path.push(field);
        }
        self
    }

    /// The kind of error.
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
            Self::Truncated { needed, remaining } => {
                write!(f, "message ends early: {needed} bytes needed, {remaining} left")
            }
            Self::CountBeyondMessage { count, remaining } => {
                write!(f, "{count} elements claimed, but only {remaining} bytes left")
            }
            Self::NotABool { byte } => write!(f, "a bool is {byte}, where only 0 and 1 are allowed"),
            Self::NotUtf8 => f.write_str("text is not UTF-8"),
            Self::TrailingBytes { count } => write!(f, "{count} bytes follow the end of the message"),
            Self::WrongLength => f.write_str("the length of a part differs from its length prefix"),
            Self::NoMemory { bytes } => write!(f, "no memory for a sequence of {bytes} bytes"),
            Self::BeyondBound { len, bound } => write!(f, "length {len}, where {bound} is the most allowed"),
            Self::WideText => f.write_str(WIDE_TEXT),
            Self::UnknownEncapsulation { identifier } => write!(
                f,
                "encapsulation {identifier:#06x}, where only little-endian CDR is read (0x0001, 0x0007, 0x0009)"
            ),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(&self.path, f)?;
        self.kind.fmt(f)
    }
}

impl core::error::Error for DecodeError {}

/// A value that cannot be encoded in ROS 2: reason and field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    kind: EncodeErrorKind,
    /// Innermost first, as in [`DecodeError`].
    path: Vec<&'static str>,
}

/// Reason why a value cannot be encoded in ROS 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeErrorKind {
    /// A text or sequence is longer than its type allows.
    BeyondBound {
        /// Its length: bytes of text, or elements.
        len: usize,
        /// The most allowed.
        bound: usize,
    },
    /// A `wstring`, which ROS 2 implementations encode differently.
    WideText,
}

impl EncodeError {
    /// The error with the name of the field it arose in; generated code calls it on the way out.
    #[cold]
    #[must_use]
    pub fn within(mut self, field: &'static str) -> Self {
        self.path.push(field);
        self
    }

    /// The kind of error.
    pub fn kind(&self) -> EncodeErrorKind {
        self.kind
    }
}

impl From<EncodeErrorKind> for EncodeError {
    #[cold]
    fn from(kind: EncodeErrorKind) -> Self {
        Self { kind, path: Vec::new() }
    }
}

impl From<EncodeErrorKind> for DecodeError {
    #[cold]
    fn from(kind: EncodeErrorKind) -> Self {
        DecodeErrorKind::from(kind).into()
    }
}

impl From<EncodeErrorKind> for DecodeErrorKind {
    fn from(kind: EncodeErrorKind) -> Self {
        match kind {
            EncodeErrorKind::BeyondBound { len, bound } => Self::BeyondBound { len, bound },
            EncodeErrorKind::WideText => Self::WideText,
        }
    }
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DecodeErrorKind::from(*self).fmt(f)
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(&self.path, f)?;
        self.kind.fmt(f)
    }
}

impl core::error::Error for EncodeError {}

const WIDE_TEXT: &str = "wstring has no encoding that all ROS 2 implementations support. Try: string";

fn write_path(path: &[&str], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, field) in path.iter().rev().enumerate() {
        f.write_str(if index == 0 { "field " } else { "." })?;
        f.write_str(field)?;
    }
    if path.is_empty() { Ok(()) } else { f.write_str(": ") }
}
