//! Loaned messages: the publisher gets the memory first, writes into it, and publishes it.

use std::sync::Arc;

use runnel_core::wire::{Encoding, GrowingSink, NoMemory, try_reserve};
use runnel_io::segment::SlotMut;

use super::publishing::AfterUnlock;
use super::{Publication, Refused, State, WriterGroup};
use crate::data::frames::SHORT;
use crate::error::ConversionError;
use crate::frame::{Frame, LengthBeyondLimit, MAX_MESSAGE};
use crate::sync::lock;

/// Memory for one message, written before it is published.
pub(crate) struct LoanedBuffer {
    encoding: Encoding,
    memory: Memory,
}

enum Memory {
    /// Memory of this process only, with no other owner.
    Own(Arc<Vec<u8>>),
    /// A slot, with the number of bytes in use.
    Slot(SlotMut, usize),
}

impl LoanedBuffer {
    fn own(encoding: Encoding, bytes: Arc<Vec<u8>>) -> Self {
        Self { encoding, memory: Memory::Own(bytes) }
    }

    /// A slot, with the number of bytes in use.
    pub(super) fn slot(encoding: Encoding, slot: SlotMut, len: usize) -> Self {
        Self { encoding, memory: Memory::Slot(slot, len) }
    }

    /// The encoding in which the message is written.
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The bytes of the message.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Own(bytes) => bytes,
            Memory::Slot(slot, len) => &slot[..*len],
        }
    }

    /// The written message as an immutable frame.
    pub(super) fn sealed(self) -> Frame {
        match self.memory {
            Memory::Slot(slot, len) => Frame::new(self.encoding, slot.freeze(len)),
            Memory::Own(bytes) => Frame::new(self.encoding, bytes),
        }
    }

    /// The bytes of the message, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Own(bytes) => Arc::get_mut(bytes).map_or(&mut [], Vec::as_mut_slice),
            Memory::Slot(slot, len) => &mut slot[..*len],
        }
    }
}

/// Appends the conversion of a message, given as bytes, to an encoding.
pub(crate) type Convert<'a> = &'a dyn Fn(&[u8], Encoding, &mut GrowingSink) -> Result<(), ConversionError>;

/// A message written into a loaned buffer, with its conversion.
pub(crate) struct WrittenLoan<'a> {
    pub(crate) buffer: LoanedBuffer,
    /// Converts it to another encoding.
    pub(crate) convert: Convert<'a>,
}

/// Why a message cannot be written into a loaned buffer.
#[derive(Debug)]
pub(crate) enum LoanError {
    TooLong(LengthBeyondLimit),
    NoMemory(NoMemory),
}

impl Publication {
    /// Whether only ROS 2 subscribers are to get messages. A loaned message is then sent in the encoding in which it
    /// was written.
    pub(crate) fn has_only_ros2_subscribers(&self, group: &WriterGroup) -> bool {
        let state = lock(&self.state);
        group.needs_cdr() && !state.is_kept_as_bytes(group) && state.locals.is_empty()
    }

    /// Memory for a message of `message` bytes in an encoding. A long message goes to shared memory if a subscriber of
    /// another process reads from it.
    ///
    /// # Errors
    /// If the message is longer than any receiver accepts, or there is no memory for it.
    pub(crate) fn loan(&self, message: usize, encoding: Encoding) -> Result<LoanedBuffer, LoanError> {
        LengthBeyondLimit::check(message, MAX_MESSAGE).map_err(LoanError::TooLong)?;
        let slot = if encoding.is_ros1() { self.slot(message) } else { None };
        if let Some(slot) = slot {
            return Ok(LoanedBuffer::slot(encoding, slot, message));
        }
        let mut resized = Ok(());
        let resize = |bytes: &mut Vec<u8>| resized = try_resize(bytes, message);
        let bytes = lock(&self.state).pool.taken(message <= SHORT, resize);
        resized.map_err(|_| LoanError::NoMemory(NoMemory { bytes: message }))?;
        Ok(LoanedBuffer::own(encoding, bytes))
    }

    /// Publishes a loaned message. Subscriptions of this process get it as bytes. A keep-all group publishes only if
    /// no queue would drop a message.
    ///
    /// # Errors
    /// When no subscriber gets the message.
    pub(crate) fn publish_loan<'a>(
        &self,
        loan: WrittenLoan<'a>,
        group: &WriterGroup,
    ) -> Result<(), Refused<WrittenLoan<'a>>> {
        let mut after = AfterUnlock::default();
        let mut state = lock(&self.state);
        let bytes = loan.buffer.bytes().len();
        let as_bytes = state.is_kept_as_bytes(group) || !state.locals.is_empty();
        if group.keeps_all() {
            let full = if as_bytes { self.slowest_full(&mut state, bytes) } else { None };
            if let Some(subscriber) = full.or_else(|| state.full_for_any_length(group)) {
                return Err(Refused::Full { subscriber, message: loan, bytes });
            }
        }
        let convert = loan.convert;
        let Frames { ros1, cdr } = state.frames_of(loan, as_bytes, group).map_err(Refused::Conversion)?;
        if let Some(frame) = &ros1 {
            LengthBeyondLimit::check(frame.as_ref().len(), MAX_MESSAGE).map_err(Refused::TooLong)?;
        }
        let sent = if ros1.is_none() && state.has_links() { cdr.clone() } else { None };
        if let Some(frame) = cdr {
            after.unsent = self.send_cdr(&mut state, frame, group);
        }
        // A link that was on standby begins to carry messages.
        if as_bytes || state.has_carrying_link(group) {
            let ros1 = ros1.or_else(|| state.in_ros1(&sent?, convert));
            if let Some(frame) = ros1 {
                self.publish_frame(&mut state, frame, group, |_| true, &mut after);
            }
        } else {
            ros1.into_iter().for_each(|unused| state.recycle(unused));
        }
        self.note_published(&mut state, group);
        drop(state);
        after.run();
        Ok(())
    }
}

/// A message in the encodings that subscribers need. One that was written in the ROS 1 encoding is always there in
/// that one.
pub(super) struct Frames {
    pub(super) ros1: Option<Frame>,
    pub(super) cdr: Option<Frame>,
}

impl State {
    /// The written message in each encoding that subscribers need. The conversion comes first, since it can fail.
    /// Without subscribers, the pool gets the memory back.
    fn frames_of(
        &mut self,
        loan: WrittenLoan<'_>,
        as_bytes: bool,
        group: &WriterGroup,
    ) -> Result<Frames, ConversionError> {
        let in_ros2 = group.needs_cdr();
        let convert = loan.convert;
        if loan.buffer.encoding().is_ros1() {
            let converted = |out: &mut GrowingSink| convert(loan.buffer.bytes(), Encoding::Xcdr1, out);
            let cdr = if in_ros2 { Some(self.framed_cdr(false, converted)?) } else { None };
            return Ok(Frames { ros1: Some(self.sealed(loan.buffer)), cdr });
        }
        let converted = |out: &mut GrowingSink| convert(loan.buffer.bytes(), Encoding::Ros1, out);
        let ros1 = if as_bytes { Some(self.framed(false, converted)?) } else { None };
        let mut cdr = Some(loan.buffer.sealed());
        if !in_ros2 {
            cdr.take().into_iter().for_each(|unused| self.recycle(unused));
        }
        Ok(Frames { ros1, cdr })
    }

    /// Converts a message from the ROS 2 encoding to the ROS 1 encoding.
    fn in_ros1(&mut self, cdr: &Frame, convert: Convert<'_>) -> Option<Frame> {
        self.framed(false, |out| convert(cdr.as_ref(), Encoding::Ros1, out)).ok()
    }
}

/// Resizes a frame to `length` bytes with unspecified content.
fn try_resize(frame: &mut Vec<u8>, length: usize) -> Result<(), NoMemory> {
    if frame.capacity() < length {
        // A reallocation would copy the old content for nothing.
        *frame = Vec::new();
        try_reserve(frame, length)?;
    }
    frame.resize(length, 0);
    Ok(())
}
