//! Conversion errors between the two generations.

use runnel_core::dynamic::{DynamicError, DynamicErrorKind};
use runnel_core::wire::{DecodeError, DecodeErrorKind, EncodeError, NoMemory};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// A value has no ROS 2 encoding.
    Value(EncodeError),
    /// Its fields do not fit the other type, or it was given as bytes that are not a valid message.
    Form(DynamicError),
    /// There is no memory for the conversion.
    NoMemory(NoMemory),
}

impl From<NoMemory> for Unfit {
    fn from(refused: NoMemory) -> Self {
        Self::NoMemory(refused)
    }
}

impl From<EncodeError> for Unfit {
    fn from(error: EncodeError) -> Self {
        Self::Value(error)
    }
}

impl From<DynamicError> for Unfit {
    fn from(error: DynamicError) -> Self {
        match error.kind() {
            DynamicErrorKind::Bytes(DecodeErrorKind::NoMemory { bytes }) => NoMemory { bytes: *bytes }.into(),
            _ => Self::Form(error),
        }
    }
}

impl From<DecodeError> for Unfit {
    fn from(error: DecodeError) -> Self {
        DynamicError::from(error).into()
    }
}
