//! Conversion errors between the two generations.

use std::fmt;

use runnel_core::dynamic::{DynamicError, DynamicErrorKind};
use runnel_core::wire::{DecodeError, DecodeErrorKind, EncodeError, NoMemory};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum ConversionError {
    /// A value has no ROS 2 encoding.
    Value(EncodeError),
    /// Its fields do not fit the other type, or it was given as bytes that are not a valid message.
    Mismatch(DynamicError),
    /// There is no memory for the conversion.
    NoMemory(NoMemory),
}

impl fmt::Display for ConversionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(error) => error.fmt(f),
            Self::Mismatch(error) => error.fmt(f),
            Self::NoMemory(refused) => refused.fmt(f),
        }
    }
}

impl From<NoMemory> for ConversionError {
    fn from(refused: NoMemory) -> Self {
        Self::NoMemory(refused)
    }
}

impl From<EncodeError> for ConversionError {
    fn from(error: EncodeError) -> Self {
        Self::Value(error)
    }
}

impl From<DynamicError> for ConversionError {
    fn from(error: DynamicError) -> Self {
        match error.kind() {
            DynamicErrorKind::Bytes(DecodeErrorKind::NoMemory { bytes }) => NoMemory { bytes: *bytes }.into(),
            _ => Self::Mismatch(error),
        }
    }
}

impl From<DecodeError> for ConversionError {
    fn from(error: DecodeError) -> Self {
        DynamicError::from(error).into()
    }
}
