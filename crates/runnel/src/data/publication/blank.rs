//! Loaned messages: the publisher gets the memory first, writes into it, and publishes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_core::wire::{Encoding, GrowingSink, NoMemory, try_reserve};
use runnel_io::segment::SlotMut;

use super::{Deferred, Offer, Publication, Refused, State, complain};
use crate::data::frames::SHORT;
use crate::error::Unfit;
use crate::frame::{Frame, LengthBeyondLimit, MAX_MESSAGE};
use crate::sync::lock;

/// Memory for one message, written before it is published.
pub(crate) struct Blank {
    encoding: Encoding,
    memory: Memory,
}

enum Memory {
    /// Memory of this process only, with no other owner.
    Own(Arc<Vec<u8>>),
    /// A slot, with the number of bytes in use.
    Slot(SlotMut, usize),
}

impl Blank {
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
    pub(super) fn frozen(self) -> Frame {
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
pub(crate) type Translate<'a> = &'a dyn Fn(&[u8], Encoding, &mut GrowingSink) -> Result<(), Unfit>;

/// A message written in place, with its conversion.
pub(crate) struct Filled<'a> {
    pub(crate) blank: Blank,
    /// Converts it to another encoding.
    pub(crate) translate: Translate<'a>,
}

/// Why a message cannot be written in place.
#[derive(Debug)]
pub(crate) enum NoBlank {
    TooLong(LengthBeyondLimit),
    NoMemory(NoMemory),
}

impl Publication {
    /// Whether only ROS 2 subscribers are to get messages. A loaned message is then sent in the encoding in which it
    /// was written.
    pub(crate) fn is_for_ros2_alone(&self, offer: &Offer) -> bool {
        let state = lock(&self.state);
        offer.is_heard_in_ros2() && !state.is_kept_as_bytes(offer) && state.locals.is_empty()
    }

    /// Memory for a message of `message` bytes in an encoding. A long message goes to shared memory if a subscriber of
    /// another process reads from it.
    ///
    /// # Errors
    /// If the message is longer than any receiver accepts, or there is no memory for it.
    pub(crate) fn blank(&self, message: usize, encoding: Encoding) -> Result<Blank, NoBlank> {
        LengthBeyondLimit::check(message, MAX_MESSAGE).map_err(NoBlank::TooLong)?;
        let slot = if encoding.is_ros1() { self.slot(message) } else { None };
        if let Some(slot) = slot {
            return Ok(Blank::slot(encoding, slot, message));
        }
        let mut resized = Ok(());
        let resize = |bytes: &mut Vec<u8>| resized = try_resize(bytes, message);
        let bytes = lock(&self.state).pool.taken(message <= SHORT, resize);
        resized.map_err(|_| NoBlank::NoMemory(NoMemory { bytes: message }))?;
        Ok(Blank::own(encoding, bytes))
    }

    /// Publishes a loaned message. Subscriptions of this process get it as bytes. A keep-all group publishes only if
    /// no queue would drop a message.
    ///
    /// # Errors
    /// When no subscriber gets the message.
    pub(crate) fn publish_filled<'a>(
        &self,
        filled: Filled<'a>,
        offer: &Offer,
    ) -> Result<(), Refused<Filled<'a>>> {
        let mut deferred = Deferred::default();
        let (mut complaint, mut unsent) = (None, None);
        let mut state = lock(&self.state);
        let bytes = filled.blank.bytes().len();
        let as_bytes = state.is_kept_as_bytes(offer) || !state.locals.is_empty();
        if offer.keeps_all() {
            let full = if as_bytes { self.full_at(&mut state, bytes) } else { None };
            if let Some(subscriber) = full.or_else(|| state.full_without_bytes(offer)) {
                return Err(Refused::Full { subscriber, message: filled, bytes });
            }
        }
        let translate = filled.translate;
        let Frames { ros1, cdr } = state.frames_of(filled, as_bytes, offer).map_err(Refused::Unfit)?;
        if let Some(frame) = &ros1 {
            LengthBeyondLimit::check(frame.as_ref().len(), MAX_MESSAGE).map_err(Refused::TooLong)?;
        }
        let sent = if ros1.is_none() && state.has_links() { cdr.clone() } else { None };
        if let Some(frame) = cdr {
            unsent = self.send_cdr(&mut state, frame, offer);
        }
        // A link that was on standby begins to carry messages.
        if as_bytes || state.has_carrying_link(offer) {
            let ros1 = ros1.or_else(|| state.in_ros1(&sent?, translate));
            if let Some(frame) = ros1 {
                complaint = self.publish_frame(&mut state, frame, offer, |_| true, &mut deferred);
            }
        } else {
            ros1.into_iter().for_each(|unheard| state.give_back(unheard));
        }
        state.note_published(offer);
        self.published.store(self.published() + 1, Ordering::Relaxed);
        drop(state);
        drop(unsent);
        complain(complaint);
        deferred.run();
        Ok(())
    }
}

/// A message in the encodings that subscribers need. One that was written in the ROS 1 encoding is always there in
/// that one.
struct Frames {
    ros1: Option<Frame>,
    cdr: Option<Frame>,
}

impl State {
    /// The written message in each encoding that subscribers need. The conversion comes first, since it can fail.
    /// Without subscribers, the pool gets the memory back.
    fn frames_of(&mut self, filled: Filled<'_>, as_bytes: bool, offer: &Offer) -> Result<Frames, Unfit> {
        let in_ros2 = offer.is_heard_in_ros2();
        let translate = filled.translate;
        if filled.blank.encoding().is_ros1() {
            let translated = |out: &mut GrowingSink| translate(filled.blank.bytes(), Encoding::Xcdr1, out);
            let cdr = if in_ros2 { Some(self.framed_cdr(false, translated)?) } else { None };
            return Ok(Frames { ros1: Some(self.frozen(filled.blank)), cdr });
        }
        let translated = |out: &mut GrowingSink| translate(filled.blank.bytes(), Encoding::Ros1, out);
        let ros1 = if as_bytes { Some(self.framed(false, translated)?) } else { None };
        let mut cdr = Some(filled.blank.frozen());
        if !in_ros2 {
            cdr.take().into_iter().for_each(|unheard| self.give_back(unheard));
        }
        Ok(Frames { ros1, cdr })
    }

    /// Converts a message from the ROS 2 encoding to the ROS 1 encoding.
    fn in_ros1(&mut self, cdr: &Frame, translate: Translate<'_>) -> Option<Frame> {
        self.framed(false, |out| translate(cdr.as_ref(), Encoding::Ros1, out)).ok()
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
