//! Memory in which subscribers of other processes read messages where they lie.

use std::io;
use std::sync::atomic::Ordering;

use runnel_core::wire::Encoding;
use runnel_io::segment::SlotMut;

use super::link::Link;
use super::{Blank, Outgoing, Publication, State};
use crate::ipc::SHORTEST;
use crate::sync::lock;

impl Publication {
    /// The message in memory where subscribers of other processes can read it, if any can and it is long. That is had
    /// without the lock, since it may have to be made.
    pub(super) fn lendable(&self, message: &impl Outgoing) -> Option<Blank> {
        if self.channels.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let length = message.wire_len();
        let mut slot = self.slot(length)?;
        // It may not have the length that it said.
        message.write_slice(&mut slot[..length]).then_some(Blank::slot(Encoding::Ros1, slot, length))
    }

    /// Memory for so many bytes where subscribers of other processes can read them.
    pub(super) fn slot(&self, length: usize) -> Option<SlotMut> {
        if length < SHORTEST || self.channels.load(Ordering::Relaxed) == 0 {
            return None;
        }
        lock(&self.state).links.iter().for_each(Link::take_back);
        self.pool.take(length)
    }

    /// Makes memory for so many messages of up to so many bytes.
    ///
    /// # Errors
    /// When there is not so much.
    pub(crate) fn reserve(&self, messages: usize, message: usize) -> io::Result<()> {
        if message < SHORTEST {
            return Ok(());
        }
        let reserved = self.pool.reserve(messages, message)?;
        lock(&self.state).reserved.push(reserved);
        Ok(())
    }

    /// Whether subscribers of this host have mapped all that is reserved, which they are given if they were not yet.
    pub(crate) fn is_reserved_everywhere(&self) -> bool {
        let mut state = lock(&self.state);
        let State { links, reserved, .. } = &mut *state;
        let in_ros1 =
            reserved.iter_mut().all(|reserved| links.iter().all(|link| link.give(reserved.segments())));
        in_ros1 && state.is_reserved_in_memory()
    }
}
