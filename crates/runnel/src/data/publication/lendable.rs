//! Slots of shared memory for messages, which subscribers of other processes read without copying.

use std::io;
use std::sync::atomic::Ordering;

use runnel_core::wire::Encoding;
use runnel_io::segment::SlotMut;

use super::link::Link;
use super::{LoanedBuffer, Outgoing, Publication, State};
use crate::ipc::SHORTEST;
use crate::sync::lock;

impl Publication {
    /// Writes the message into a slot, if it is long and a subscriber of another process reads from shared memory. The
    /// caller holds no lock, since this may allocate a segment.
    pub(super) fn lendable(&self, message: &impl Outgoing) -> Option<LoanedBuffer> {
        if self.channels.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let length = message.wire_len();
        let mut slot = self.slot(length)?;
        // The message's `wire_len` may be wrong.
        message.write_slice(&mut slot[..length]).then_some(LoanedBuffer::slot(Encoding::Ros1, slot, length))
    }

    /// A slot of `length` bytes, if a subscriber of another process reads from shared memory.
    pub(super) fn slot(&self, length: usize) -> Option<SlotMut> {
        if length < SHORTEST || self.channels.load(Ordering::Relaxed) == 0 {
            return None;
        }
        lock(&self.state).links.iter().for_each(Link::reclaim_slots);
        self.pool.take(length)
    }

    /// Preallocates shared memory for `messages` messages of up to `message` bytes.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn preallocate(&self, messages: usize, message: usize) -> io::Result<()> {
        if message < SHORTEST {
            return Ok(());
        }
        let reserved = self.pool.preallocate(messages, message)?;
        lock(&self.state).reserved.push(reserved);
        Ok(())
    }

    /// Whether all subscribers of this host have mapped the preallocated segments. Announces the segments to the
    /// others.
    pub(crate) fn is_preallocation_mapped(&self) -> bool {
        let mut state = lock(&self.state);
        let State { links, reserved, .. } = &mut *state;
        let in_ros1 =
            reserved.iter_mut().all(|reserved| links.iter().all(|link| link.announce(reserved.segments())));
        in_ros1 && state.is_preallocation_mapped_in_memory()
    }
}
