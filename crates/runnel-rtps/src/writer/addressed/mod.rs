//! Samples for one reader each: requests and replies of services.
//!
//! Other readers of the writer are sent nothing for such a sample. What they have not been sent is declared irrelevant
//! by a GAP, together with the next sample of their own, so that a reply to one of a thousand clients costs one
//! datagram.
//!
//! Readers that [share a reorder buffer](crate::writer::ReaderSpec::shares_reorder_buffer) are sent the samples of all
//! of them: a GAP for one would declare the samples of the others irrelevant.

mod limits;
mod schedule;
#[cfg(test)]
mod tests;

use super::Writer;
use crate::history::Addressed;
use crate::lend::Lend;
use crate::wire::{Guid, GuidPrefix, SequenceNumber, Timestamp};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use runnel_core::time::Instant;
use schedule::Schedule;

/// Why a sample was not sent to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// The reader is not matched, or the writer has ended.
    Unmatched,
    /// The writer holds as many unacknowledged samples as it may, for the reader's participant or for all.
    Full,
}

/// State of a writer whose samples are for one reader each.
#[derive(Debug, Default)]
pub(super) struct Addressing {
    schedule: Schedule,
    /// Readers whose samples were evicted, and were not reported yet.
    evicted: VecDeque<Guid>,
    /// Matched participants with evicted samples.
    reported: BTreeSet<GuidPrefix>,
}

impl<B: Lend> Writer<B> {
    /// Adds a sample for one reader; returns its number. The inline QoS is empty or a complete parameter list.
    ///
    /// # Errors
    /// The reader is not matched, or the writer is full.
    pub fn write_to(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        payload: B,
        (reader, inline_qos): (Guid, Vec<u8>),
    ) -> Result<SequenceNumber, NotSent> {
        if self.unmatched.expire(now, self.history.last().next()) {
            self.trim();
        }
        let Some(proxy) = self.readers.get(reader) else { return Err(NotSent::Unmatched) };
        if proxy.is_suspended() {
            // An alternate path carries it.
            return Ok(self.history.skip_number());
        }
        let receivers = proxy.receives_samples_for();
        self.make_capacity(now, reader.prefix)?;
        let number = self.history.push_for(payload, stamp, now, Addressed { reader, inline_qos });
        if let Some(addressing) = &mut self.addressing {
            let receivers = self.readers.in_range(receivers).map(|receiver| receiver.guid());
            receivers.for_each(|receiver| addressing.schedule.wake(receiver));
        }
        Ok(number)
    }

    /// Returns the number of samples for a reader that it has not acknowledged; all of them if it is not matched.
    pub fn unacknowledged_by(&self, reader: Guid) -> usize {
        let acked = self.readers.get(reader).map_or(SequenceNumber::ZERO, |proxy| proxy.acked());
        self.history.addressees().map_or(0, |addressees| addressees.count_after(reader, acked))
    }

    /// Returns the readers with samples that they have not acknowledged, and the number of those.
    pub(super) fn unacknowledged_by_addressee(&self) -> impl Iterator<Item = (Guid, usize)> {
        let readers = self.history.addressees().into_iter().flat_map(|addressees| addressees.readers());
        readers.filter_map(|reader| {
            let done = self.readers.get(reader)?.done();
            let count = self.history.addressees()?.count_after(reader, done);
            (count > 0).then_some((reader, count))
        })
    }

    /// Returns the number of samples that their readers, if they are matched, have not acknowledged.
    pub fn unacknowledged_by_addressees(&self) -> usize {
        self.unacknowledged_by_addressee().map(|(_, count)| count).sum()
    }

    /// Removes samples that their readers have acknowledged, and those of readers that are gone.
    pub(super) fn trim_addressed(&mut self) {
        let Self { history, readers, unmatched, .. } = self;
        history.retain(|change| {
            let Some(addressed) = &change.addressed else { return true };
            let left = || unmatched.iter().find(|left| left.guid() == addressed.reader);
            let reader = readers.get(addressed.reader).or_else(left);
            reader.is_some_and(|reader| reader.releasable() < change.number)
        });
    }

    /// Removes samples that a reader no longer needs, after its state has changed. Readers that share a reorder buffer
    /// acknowledge for each other.
    pub(super) fn trim_for(&mut self, reader: Guid) {
        if self.addressing.is_none() {
            return self.trim();
        }
        if let Some(proxy) = self.readers.get(reader) {
            let (readers, end) = (proxy.receives_samples_for(), proxy.releasable());
            self.history.remove_up_to(&readers, end);
        }
    }

    /// Records that the state of a reader has changed: it may have something to be sent now, or later.
    pub(super) fn note_changed(&mut self, reader: Guid) {
        if let Some(addressing) = &mut self.addressing {
            let due = self.readers.get(reader).and_then(|proxy| proxy.reminder());
            addressing.schedule.wake(reader);
            addressing.schedule.set_due(reader, due);
        }
    }

    /// Records that the states of a participant's readers have changed.
    pub(super) fn note_participant_changed(&mut self, prefix: GuidPrefix) {
        let Some(addressing) = &mut self.addressing else { return };
        for proxy in self.readers.of_participant(prefix) {
            addressing.schedule.wake(proxy.guid());
            addressing.schedule.set_due(proxy.guid(), proxy.reminder());
        }
    }

    /// Forgets readers that are no longer matched.
    pub(super) fn note_unmatched(&mut self, readers: &[Guid]) {
        let Some(addressing) = &mut self.addressing else { return };
        for reader in readers {
            addressing.schedule.forget(*reader);
            if self.readers.of_participant(reader.prefix).next().is_none() {
                addressing.reported.remove(&reader.prefix);
            }
        }
    }

    /// Returns the maximum number of readers that may have something to be sent.
    pub(super) fn candidates(&self) -> usize {
        self.addressing.as_ref().map_or(self.readers.len(), |addressing| addressing.schedule.pending())
    }

    /// Returns the index of the reader that is served next.
    pub(super) fn candidate(&mut self) -> Option<usize> {
        let Some(addressing) = &mut self.addressing else {
            return (!self.readers.is_empty()).then(|| self.turn % self.readers.len());
        };
        while let Some(reader) = addressing.schedule.current() {
            if let Some(index) = self.readers.index_of(reader) {
                return Some(index);
            }
            addressing.schedule.forget(reader);
        }
        None
    }

    /// Continues with the reader after this one, which has nothing to be sent now, or must wait.
    pub(super) fn pass(&mut self, index: usize, waits: bool) {
        self.turn = (index + 1) % self.readers.len().max(1);
        if let (Some(addressing), Some(reader)) = (&mut self.addressing, self.readers.get_index(index)) {
            addressing.schedule.pass(reader.guid(), waits);
            addressing.schedule.set_due(reader.guid(), reader.reminder());
        }
    }

    /// Requests owed acknowledgements that are due. Returns whether something is to be sent.
    pub(super) fn remind_addressees(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some(reader) =
            self.addressing.as_mut().and_then(|addressing| addressing.schedule.pop_due(now))
        {
            any |= self.readers.get_mut(reader).is_some_and(|proxy| proxy.remind(now));
            self.note_changed(reader);
        }
        any
    }

    /// Returns when an acknowledgement is to be requested.
    pub(super) fn addressee_timeout(&self) -> Option<Instant> {
        self.addressing.as_ref()?.schedule.timeout()
    }
}
