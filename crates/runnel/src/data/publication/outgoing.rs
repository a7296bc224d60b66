//! A message on its way to those who are to have it.

use std::any::TypeId;

use runnel_core::wire::GrowingSink;

use crate::data::received::SharedMessage;
use crate::error::Unfit;
use crate::frame::LengthBeyondLimit;

/// A message to be published.
pub(crate) trait Outgoing {
    /// Its type, if subscribers of this process may have it by reference.
    fn shared_type(&self) -> Option<TypeId>;
    /// Bytes of its wire form.
    fn wire_len(&self) -> usize;
    /// Appends its wire form.
    fn write(&self, out: &mut GrowingSink) -> Result<(), Unfit>;
    /// Appends its form in ROS 2, header first.
    fn write_cdr(&self, out: &mut GrowingSink) -> Result<(), Unfit>;
    /// Writes its wire form where exactly so many bytes are; false if it has not that many.
    fn write_slice(&self, out: &mut [u8]) -> bool;
    /// A copy for those who take the message by reference, if [`Outgoing::into_shared`] cannot do without.
    fn copy_to_share(&self) -> Result<Option<SharedMessage>, Unfit> {
        Ok(None)
    }
    /// The message for those who take it by reference.
    fn into_shared(self) -> SharedMessage;
}

/// Why nobody got a message.
#[derive(Debug)]
pub(crate) enum Refused<O> {
    /// It is longer than any receiver accepts.
    TooLong(LengthBeyondLimit),
    /// It would push out one that this subscriber has not had, and all are to be kept.
    Full { subscriber: String, message: O, bytes: usize },
    /// It cannot be had in the form of a generation that is to have it.
    Unfit(Unfit),
}
