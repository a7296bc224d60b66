//! Writing samples, and what of them is still owed.

use super::watch::Watched;
use super::{Participant, Timer};
use crate::stored::{Lend, Stored};
use crate::wire::{EntityId, Guid, Timestamp};
use crate::writer::{Full, Writer};
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl<P: Lend> Participant<P> {
    /// Writes a sample. Gives one back that made room for it, or this one if nobody is to get it.
    ///
    /// # Errors
    /// When the writer keeps all and a reader does not keep pace.
    pub fn write(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        writer: EntityId,
        sample: P,
    ) -> Result<Option<P>, Full> {
        let Some(of) = self.writers.get_mut(&writer) else { return Ok(Some(sample)) };
        let displaced = of.write(now, stamp, Stored::User(sample))?;
        let expiry = of.expire(now);
        self.arm(Timer::Writer(writer), expiry);
        self.wake_writer(writer);
        self.happened(now, Watched::Deadline(writer));
        self.happened(now, Watched::OwnLife(writer));
        Ok(displaced.and_then(Stored::user))
    }

    /// The reader that stands in the way of another sample of a writer that keeps all.
    pub fn full(&self, writer: EntityId) -> Option<Full> {
        self.writers.get(&writer)?.full()
    }

    /// How many samples of a writer some reader has yet to acknowledge, or to be sent.
    pub fn unacknowledged(&self, writer: EntityId) -> u32 {
        self.writers.get(&writer).map_or(0, Writer::unacknowledged)
    }

    /// The readers that have yet to acknowledge samples of a writer, or to be sent them, and how many.
    pub fn owing(&self, writer: EntityId) -> Vec<(Guid, u32)> {
        self.writers.get(&writer).map_or(Vec::new(), Writer::owing)
    }

    /// How many samples of a writer made room for others before every reader had acknowledged them.
    pub fn overwritten(&self, writer: EntityId) -> u64 {
        self.writers.get(&writer).map_or(0, Writer::overwritten)
    }

    /// The user says that a writer lives.
    pub fn assert_liveliness(&mut self, now: Instant, writer: EntityId) {
        if let Some(of) = self.writers.get_mut(&writer) {
            of.assert_liveliness();
            self.wake_writer(writer);
            self.happened(now, Watched::OwnLife(writer));
        }
    }
}
