//! Messages that are written in place: their memory is had first, and published once it is filled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_core::wire::{Encoding, GrowingSink, NoMemory, try_reserve};
use runnel_io::segment::SlotMut;

use super::{Deferred, Offer, Publication, Refused, State, complain};
use crate::data::frames::SHORT;
use crate::error::Unfit;
use crate::frame::{Frame, LengthBeyondLimit, MAX_MESSAGE};
use crate::sync::lock;

/// Memory for one message, to be written before it is published.
pub(crate) struct Blank {
    encoding: Encoding,
    memory: Memory,
}

enum Memory {
    /// Of this process alone. Nobody else holds it.
    Own(Arc<Vec<u8>>),
    /// A slot, of which so many bytes count.
    Slot(SlotMut, usize),
}

impl Blank {
    fn own(encoding: Encoding, bytes: Arc<Vec<u8>>) -> Self {
        Self { encoding, memory: Memory::Own(bytes) }
    }

    /// A slot, of which so many bytes count.
    pub(super) fn slot(encoding: Encoding, slot: SlotMut, len: usize) -> Self {
        Self { encoding, memory: Memory::Slot(slot, len) }
    }

    /// In which encoding the message is to be written, or was.
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The message, as it is so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.memory {
            Memory::Own(bytes) => bytes,
            Memory::Slot(slot, len) => &slot[..*len],
        }
    }

    /// What was written as a frame, which is written no more.
    pub(super) fn frozen(self) -> Frame {
        match self.memory {
            Memory::Slot(slot, len) => Frame::new(self.encoding, slot.freeze(len)),
            Memory::Own(bytes) => Frame::new(self.encoding, bytes),
        }
    }

    /// The same, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Own(bytes) => Arc::get_mut(bytes).map_or(&mut [], Vec::as_mut_slice),
            Memory::Slot(slot, len) => &mut slot[..*len],
        }
    }
}

/// Appends what a message, of which these are the bytes, is in an encoding.
pub(crate) type Translate<'a> = &'a dyn Fn(&[u8], Encoding, &mut GrowingSink) -> Result<(), Unfit>;

/// A message that was written in place, and what else is to be known to publish it.
pub(crate) struct Filled<'a> {
    pub(crate) blank: Blank,
    /// Has it in another one.
    pub(crate) translate: Translate<'a>,
}

/// Why a message cannot be written in place.
#[derive(Debug)]
pub(crate) enum NoBlank {
    TooLong(LengthBeyondLimit),
    NoMemory(NoMemory),
}

impl Publication {
    /// Whether nobody but subscribers in the ROS 2 graph is to get messages: what is written for them in place is sent as
    /// it is.
    pub(crate) fn is_for_ros2_alone(&self, offer: &Offer) -> bool {
        let state = lock(&self.state);
        offer.is_heard_in_ros2() && !state.is_kept_as_bytes(offer) && state.locals.is_empty()
    }

    /// Memory for a message of so many bytes in an encoding: where subscribers of other processes can read it, if any can
    /// and it is long.
    ///
    /// # Errors
    /// When it is longer than any receiver accepts, or there is no memory for it.
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

    /// Publishes what was written in such memory, to subscribers of this process as bytes, too. If the offer is to keep
    /// all, only if no message is dropped for it.
    ///
    /// # Errors
    /// When nobody gets the message.
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
        // A link that stood by until now carries on.
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

/// A message in the encodings that somebody is to get it in. If it was written in ROS 1's it is there in any case.
struct Frames {
    ros1: Option<Frame>,
    cdr: Option<Frame>,
}

impl State {
    /// What was written, in each encoding that is wanted. The other one is had first, since it may not be to be had. If
    /// nobody listens, the next message is written into the same memory.
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

    /// What was written in the encoding of ROS 2 in that of ROS 1.
    fn in_ros1(&mut self, cdr: &Frame, translate: Translate<'_>) -> Option<Frame> {
        self.framed(false, |out| translate(cdr.as_ref(), Encoding::Ros1, out)).ok()
    }
}

/// Makes a frame so long, whatever it holds then.
fn try_resize(frame: &mut Vec<u8>, length: usize) -> Result<(), NoMemory> {
    if frame.capacity() < length {
        // What it holds would be copied for nothing.
        *frame = Vec::new();
        try_reserve(frame, length)?;
    }
    frame.resize(length, 0);
    Ok(())
}
