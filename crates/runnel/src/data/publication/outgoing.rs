//! Interface of a message that is about to be published.

use std::any::TypeId;

use runnel_core::wire::GrowingSink;

use crate::data::received::SharedMessage;
use crate::error::ConversionError;
use crate::frame::LengthBeyondLimit;

/// A message to be published.
pub(crate) trait Outgoing {
    /// Its type, if subscriptions of this process may get it by reference.
    fn shared_type(&self) -> Option<TypeId>;
    /// Length of its serialized form in bytes.
    fn wire_len(&self) -> usize;
    /// Appends its serialized form.
    fn write(&self, out: &mut GrowingSink) -> Result<(), ConversionError>;
    /// Appends its ROS 2 encoding, with the encapsulation header.
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), ConversionError>;
    /// Writes its serialized form. False if that does not have the length of `out`.
    fn write_slice(&self, out: &mut [u8]) -> bool;
    /// A copy for subscriptions that take the message by reference, if [`Outgoing::into_shared`] needs one.
    fn copy_to_share(&self) -> Result<Option<SharedMessage>, ConversionError> {
        Ok(None)
    }
    /// The message for subscriptions that take it by reference.
    fn into_shared(self) -> SharedMessage;
}

/// Why a message was not published.
#[derive(Debug)]
pub(crate) enum Refused<O> {
    /// It is longer than any receiver accepts.
    TooLong(LengthBeyondLimit),
    /// It would drop a message that this subscriber has not received, and the history is keep-all.
    Full { subscriber: String, message: O, bytes: usize },
    /// It cannot be converted to a generation that has subscribers.
    Conversion(ConversionError),
}

impl Refused<()> {
    /// The same with the message.
    pub(super) fn with_message<O>(self, message: O) -> Refused<O> {
        match self {
            Self::TooLong(length) => Refused::TooLong(length),
            Self::Full { subscriber, bytes, .. } => Refused::Full { subscriber, message, bytes },
            Self::Conversion(error) => Refused::Conversion(error),
        }
    }
}
