//! Errors of plans.

use std::fmt;

use runnel_core::wire::{DecodeError, DecodeErrorKind, NoMemory};

/// Two types cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// Each type has fields that the other does not have.
    NoCounterpart {
        /// Fields of the source only.
        source: Vec<String>,
        /// Fields of the target only.
        target: Vec<String>,
    },
    /// Corresponding fields have different types.
    FieldTypes {
        /// The field in the target.
        field: String,
        /// Its type in the source.
        source: String,
        /// Its type in the target.
        target: String,
    },
    /// A field is a `wstring`, which ROS 2 implementations encode in different ways.
    WideText {
        /// The field.
        field: String,
    },
    /// A rule names a field that its type does not have.
    NoSuchField {
        /// The type.
        message: String,
        /// The field, as the rule spells it.
        field: String,
    },
    /// The definition of a field's type is missing.
    DefinitionMissing {
        /// The field.
        field: String,
    },
    /// The types are nested too deep, or too large.
    TooLarge,
}

impl CompileError {
    /// The error with the name of the outer field.
    #[must_use]
    pub(super) fn within(mut self, outer: &str) -> Self {
        match &mut self {
            Self::FieldTypes { field, .. } | Self::WideText { field } | Self::DefinitionMissing { field } => {
                *field = format!("{outer}.{field}");
            }
            Self::NoCounterpart { source, target } => {
                for field in source.iter_mut().chain(target) {
                    *field = format!("{outer}.{field}");
                }
            }
            Self::NoSuchField { .. } | Self::TooLarge => {}
        }
        self
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCounterpart { source, target } => write!(
                f,
                "{} and {} have no counterpart in the other definition. Try: a rule with fields_1_to_2",
                source.join(", "),
                target.join(", ")
            ),
            Self::FieldTypes { field, source, target } => {
                write!(f, "field {field} is {source} on one side and {target} on the other")
            }
            Self::WideText { field } => {
                write!(f, "field {field} is a wstring, which ROS 2 implementations encode in different ways")
            }
            Self::NoSuchField { message, field } => {
                write!(f, "{message} has no field {field}, which a rule names")
            }
            Self::DefinitionMissing { field } => write!(f, "the definition of field {field} is missing"),
            Self::TooLarge => f.write_str("the definition is too large or nested too deep"),
        }
    }
}

impl std::error::Error for CompileError {}

/// A message cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError {
    kind: ConvertErrorKind,
    /// The field, if it is known.
    path: String,
}

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertErrorKind {
    /// The bytes do not hold a message of the source type.
    Bytes(DecodeErrorKind),
    /// An array or text is longer than its type in the target allows.
    BeyondBound {
        /// Its length: elements, or bytes of text.
        len: usize,
    },
}

impl ConvertError {
    pub(super) fn new(kind: ConvertErrorKind, path: &str) -> Self {
        Self { kind, path: path.to_owned() }
    }

    /// What is wrong.
    pub fn kind(&self) -> &ConvertErrorKind {
        &self.kind
    }

    /// The field; empty if it is not known.
    pub fn path(&self) -> &str {
        &self.path
    }

    #[cold]
    #[must_use]
    pub(super) fn within(mut self, outer: &str) -> Self {
        let dot = if self.path.is_empty() || outer.is_empty() { "" } else { "." };
        self.path = format!("{outer}{dot}{}", self.path);
        self
    }
}

impl From<DecodeErrorKind> for ConvertError {
    fn from(kind: DecodeErrorKind) -> Self {
        Self { kind: ConvertErrorKind::Bytes(kind), path: String::new() }
    }
}

impl From<DecodeError> for ConvertError {
    fn from(error: DecodeError) -> Self {
        error.kind().into()
    }
}

impl From<NoMemory> for ConvertError {
    fn from(refused: NoMemory) -> Self {
        DecodeErrorKind::from(refused).into()
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "field {}: ", self.path)?;
        }
        match &self.kind {
            ConvertErrorKind::Bytes(kind) => kind.fmt(f),
            ConvertErrorKind::BeyondBound { len } => {
                write!(f, "length {len} is not allowed by the type in the other generation")
            }
        }
    }
}

impl std::error::Error for ConvertError {}
