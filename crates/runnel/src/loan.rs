//! Messages whose last array is written where subscribers read it.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};

use runnel_core::Message;
use runnel_core::message::{len_with_tail, write_with_tail};
use runnel_core::wire::Encoding;

use crate::data::{Blank, LENGTH};
use crate::error::Error;
use crate::publisher::Handle;

/// A message that is being written in its publisher's memory, where subscribers of other processes of this host read it:
/// the bytes of its last array, or of the whole message if its type is known only while the program runs. What rclcpp
/// gives by `borrow_loaned_message`, for messages of any length.
///
/// What it holds at first is whatever was in that memory, earlier messages of this process for the most part, and what is
/// not written is published so. Numbers are little-endian and lie at any alignment.
///
/// A message below 4 KiB has ordinary memory, and so has any while no subscriber reads shared memory or none can be had:
/// publishing copies it then as it does without a loan. Dropping a loan gives its memory back.
#[must_use = "a loan is heard of once it is published"]
pub struct Loan {
    handle: Handle,
    blank: Blank,
    /// What the user writes.
    part: Range<usize>,
}

impl Loan {
    /// Memory for a message whose last array gets so many elements.
    pub(crate) fn of_tail<M: Message>(handle: &Handle, message: &M, elements: usize) -> Result<Self, Error> {
        let failed = |why| Error::Loan { topic: handle.topic().to_owned(), why };
        let bytes = len_with_tail(message, Encoding::Ros1, elements).map_err(failed)?;
        let mut loan = Self::of_bytes(handle, bytes)?;
        let Range { start, end } =
            write_with_tail(message, Encoding::Ros1, elements, loan.deref_mut()).map_err(failed)?.elements;
        loan.part = LENGTH + start..LENGTH + end;
        Ok(loan)
    }

    /// Memory for a serialized message of so many bytes.
    pub(crate) fn of_bytes(handle: &Handle, bytes: usize) -> Result<Self, Error> {
        let blank = handle.blank(bytes)?;
        Ok(Self { handle: handle.clone(), blank, part: LENGTH..LENGTH + bytes })
    }

    /// Publishes the message without a copy for those who read shared memory. Subscribers of this process get it as bytes.
    ///
    /// # Errors
    /// [`Error::Blocked`] as [`Publisher::publish`](crate::Publisher::publish) has it. The message is lost then.
    pub fn publish(self) -> Result<(), Error> {
        self.handle.publish_filled(self.blank)
    }
}

impl Deref for Loan {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.blank.bytes().get(self.part.clone()).unwrap_or(&[])
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.blank.bytes_mut().get_mut(self.part.clone()).unwrap_or(&mut [])
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Loan({} bytes for {})", self.len(), self.handle.topic())
    }
}
