//! Why a message cannot be had in the form of a generation.

use runnel_core::dynamic::{DynamicError, DynamicErrorKind};
use runnel_core::wire::{DecodeError, DecodeErrorKind, EncodeError, NoMemory};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// Something in it has no form in ROS 2.
    Value(EncodeError),
    /// Its fields do not fit those of the other form, or it was given as bytes that are no message of its type.
    Form(DynamicError),
    /// There is no memory for it in that form.
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
