//! Errors of dynamic messages.

use crate::schema::MAX_MESSAGE_DEPTH;
use crate::wire::{DecodeError, DecodeErrorKind, EncodeErrorKind, NoMemory};
use std::fmt;

/// Error of a dynamic message, with the path of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicError {
    path: String,
    kind: DynamicErrorKind,
}

/// Kind of error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DynamicErrorKind {
    /// The bytes are not a message of this schema.
    Bytes(DecodeErrorKind),
    /// The message cannot be encoded in ROS 2.
    NoForm(EncodeErrorKind),
    /// Messages are nested more than [`MAX_MESSAGE_DEPTH`] deep.
    TooDeep,
    /// The message would take up more than [`MAX_MEMORY`](super::MAX_MEMORY).
    TooLarge,
    /// The schema lacks that of a field's type.
    SchemaMissing {
        /// The type.
        name: String,
    },
    /// A sequence or text is longer than its type allows.
    BeyondBound {
        /// Its length: elements, or bytes of text.
        len: usize,
        /// The most allowed.
        bound: usize,
    },
    /// An array does not have the length of its type.
    WrongLength {
        /// The length it has.
        len: usize,
        /// The length it should have.
        expected: usize,
    },
    /// The value has the wrong type.
    WrongType {
        /// The expected type, such as `float64`.
        expected: String,
        /// The value's type, such as `a string`.
        found: String,
    },
    /// A number is not within the range of its type.
    OutOfRange {
        /// The type.
        expected: String,
        /// The number.
        found: String,
    },
    /// The path to a field cannot be read.
    BadPath,
    /// There is no field of this name.
    NoSuchField {
        /// The type that was searched.
        message: String,
        /// The fields it has, joined by commas.
        fields: String,
    },
    /// A field or an element of something that has none.
    NoParts {
        /// The actual type, such as `a float64`.
        found: String,
    },
    /// There is no element of this index.
    NoSuchElement {
        /// Number of elements.
        len: usize,
    },
}

impl DynamicError {
    /// The kind of error.
    pub fn kind(&self) -> &DynamicErrorKind {
        &self.kind
    }

    /// The path of the field, such as `poses[3].position.x`; empty for the complete message.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The error with the field or element (`[3]`) prepended to its path. Without memory the path stays unchanged.
    pub(crate) fn within(self, outer: &str) -> Self {
        match self.kind {
            DynamicErrorKind::Bytes(DecodeErrorKind::NoMemory { .. }) => self,
            kind => Self { path: join(outer, &self.path), kind },
        }
    }

    /// The same of an element.
    pub(crate) fn within_element(self, index: usize) -> Self {
        match self.kind {
            DynamicErrorKind::Bytes(DecodeErrorKind::NoMemory { .. }) => self,
            _ => self.within(&format!("[{index}]")),
        }
    }
}

/// Two parts of a path as one.
pub(crate) fn join(outer: &str, inner: &str) -> String {
    let dot = if outer.is_empty() || inner.is_empty() || inner.starts_with('[') { "" } else { "." };
    format!("{outer}{dot}{inner}")
}

impl From<DynamicErrorKind> for DynamicError {
    fn from(kind: DynamicErrorKind) -> Self {
        Self { path: String::new(), kind }
    }
}

impl From<DecodeErrorKind> for DynamicError {
    fn from(kind: DecodeErrorKind) -> Self {
        DynamicErrorKind::Bytes(kind).into()
    }
}

impl From<DecodeError> for DynamicError {
    fn from(error: DecodeError) -> Self {
        error.kind().into()
    }
}

impl From<NoMemory> for DynamicError {
    fn from(refused: NoMemory) -> Self {
        DecodeErrorKind::from(refused).into()
    }
}

impl fmt::Display for DynamicErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(kind) => kind.fmt(f),
            Self::NoForm(kind) => kind.fmt(f),
            Self::TooDeep => write!(f, "messages are nested more than {} deep", MAX_MESSAGE_DEPTH),
            Self::TooLarge => write!(f, "message would take up more than {} MiB", super::MAX_MEMORY >> 20),
            Self::SchemaMissing { name } => write!(f, "the definition of {name} is missing"),
            Self::BeyondBound { len, bound } => write!(f, "length {len}, where {bound} is the most allowed"),
            Self::WrongLength { len, expected } => {
                write!(f, "{len} elements, where there should be {expected}")
            }
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::OutOfRange { expected, found } => write!(f, "{found} is out of the range of {expected}"),
            Self::BadPath => f.write_str("not a path such as pose.position.x or ranges[3]"),
            Self::NoSuchField { message, fields } => write!(f, "no such field; {message} has {fields}"),
            Self::NoParts { found } => write!(f, "has no fields or elements: it is {found}"),
            Self::NoSuchElement { len } => write!(f, "no such element; the array has {len}"),
        }
    }
}

impl fmt::Display for DynamicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "field {}: ", self.path)?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for DynamicError {}
