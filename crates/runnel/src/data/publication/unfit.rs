//! Why a message cannot be had in the form of a generation.

use runnel_core::dynamic::DynamicError;
use runnel_core::wire::{DecodeError, EncodeError};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// Something in it has no form in ROS 2.
    Value(EncodeError),
    /// Its fields do not fit those of the other form, or it was given as bytes that are no message of its type.
    Form(DynamicError),
}

impl From<EncodeError> for Unfit {
    fn from(error: EncodeError) -> Self {
        Self::Value(error)
    }
}

impl From<DynamicError> for Unfit {
    fn from(error: DynamicError) -> Self {
        Self::Form(error)
    }
}

impl From<DecodeError> for Unfit {
    fn from(error: DecodeError) -> Self {
        Self::Form(error.into())
    }
}
