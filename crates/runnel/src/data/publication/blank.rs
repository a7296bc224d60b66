//! Messages that are written in place: their memory is had first, and published once it is filled.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_io::segment::SlotMut;

use super::{Offer, Publication, Refused, State, complain, number};
use crate::data::frames::SHORT;
use crate::data::{LENGTH, LengthBeyondLimit, MAX_MESSAGE};
use crate::ipc::Frame;
use crate::sync::lock;

/// Memory for one message, with its length before it, to be written before it is published.
pub(crate) enum Blank {
    /// Of this process alone. Nobody else holds it.
    Own(Arc<Vec<u8>>),
    /// A slot, of which so many bytes count.
    Slot(SlotMut, usize),
}

impl Blank {
    /// The message and its length, as they are so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Slot(slot, len) => &slot[..*len],
        }
    }

    /// The same, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => Arc::get_mut(bytes).map_or(&mut [], Vec::as_mut_slice),
            Self::Slot(slot, len) => &mut slot[..*len],
        }
    }
}

impl Publication {
    /// Memory for a message of so many bytes: where subscribers of other processes can read it, if any can and it is long.
    ///
    /// # Errors
    /// When it is longer than any receiver accepts.
    pub(crate) fn blank(&self, message: usize) -> Result<Blank, LengthBeyondLimit> {
        LengthBeyondLimit::check(message, MAX_MESSAGE)?;
        let length = LENGTH + message;
        let mut blank = match self.slot(length) {
            Some(slot) => Blank::Slot(slot, length),
            None => {
                let resize = |bytes: &mut Vec<u8>| bytes.resize(length, 0);
                Blank::Own(lock(&self.state).pool.taken(length <= SHORT, resize))
            }
        };
        if let Some(head) = blank.bytes_mut().first_chunk_mut() {
            *head = (message as u32).to_le_bytes();
        }
        Ok(blank)
    }

    /// Publishes what was written in such memory, to subscribers of this process as bytes, too. If the offer is to keep
    /// all, only if no message is dropped for it.
    ///
    /// # Errors
    /// When nobody gets the message.
    pub(crate) fn publish_filled(&self, filled: Blank, offer: &Offer) -> Result<(), Refused<Blank>> {
        let mut complaint = None;
        let mut state = lock(&self.state);
        let keep_all = offer.keeps_all();
        if keep_all && let Some(subscriber) = state.full_local() {
            return Err(Refused::Full { subscriber, message: filled, bytes: 0 });
        }
        if state.is_kept_as_bytes() || !state.locals.is_empty() {
            let bytes = filled.bytes().len();
            if keep_all && let Some(subscriber) = self.full_at(&mut state, bytes) {
                return Err(Refused::Full { subscriber, message: filled, bytes });
            }
            let frame = state.frozen(filled);
            complaint = self.publish_frame(&mut state, frame, |_| true);
        } else {
            // Nobody listens: the next message is written into the same memory.
            let unheard = state.frozen(filled);
            state.give_back(unheard);
        }
        state.note_published(offer);
        self.published.store(self.published() + 1, Ordering::Relaxed);
        drop(state);
        complain(complaint);
        Ok(())
    }
}

impl State {
    /// What was written as a frame, which gets its number and is written no more.
    pub(super) fn frozen(&mut self, mut filled: Blank) -> Frame {
        number(filled.bytes_mut(), self.next_seq());
        match filled {
            Blank::Slot(slot, len) => Frame::Slot(slot.freeze(len)),
            Blank::Own(bytes) => Frame::Own(bytes),
        }
    }
}
