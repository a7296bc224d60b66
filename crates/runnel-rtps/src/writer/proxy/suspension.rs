//! Suspension of a reader while an alternate path carries its samples.

use super::{FIRST_REMINDER, Filled, ReaderProxy, RequestedFragments};
use crate::datagram::Datagram;
use crate::lend::Lend;
use crate::wire::{EntityId, Heartbeat, SequenceNumber};
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Suspends the reader: an alternate path carries samples from this one on.
    pub(in crate::writer) fn suspend(&mut self, from: SequenceNumber) {
        self.until = self.until.or(Some(from));
    }

    /// Sends nothing until the reader is resumed. It may lack samples that another path has yet to deliver, and would
    /// give them up after a HEARTBEAT or GAP: a reader that has not noticed that it was unmatched continues at its own
    /// position.
    pub(in crate::writer) fn hold(&mut self) {
        let first = self.first_unacknowledged();
        (self.until, self.is_held) = (Some(first), true);
        (self.next, self.fragment) = (self.next.max(first), 1);
        self.requested.clear();
        self.requested_fragments = RequestedFragments::default();
    }

    /// Appends the pending content for a held reader: an assertion of liveliness, which announces no samples.
    pub(super) fn fill_held<B: Lend>(
        &mut self,
        (reader, writer): (EntityId, EntityId),
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) -> Filled {
        self.flight.begin();
        if !core::mem::take(&mut self.liveliness) {
            return Filled::Nothing;
        }
        *heartbeats = heartbeats.wrapping_add(1);
        let (first, last, count) = (SequenceNumber::FIRST, SequenceNumber::ZERO, *heartbeats);
        let heartbeat = Heartbeat { reader, writer, first, last, count, is_final: true, liveliness: true };
        heartbeat.emit(out.out());
        Filled::Something
    }

    pub(in crate::writer) fn is_suspended(&self) -> bool {
        self.until.is_some()
    }

    /// Resumes the reader, which has received all samples before `from` on another path, except missing ones from
    /// before the suspension.
    pub(in crate::writer) fn resume(&mut self, now: Instant, from: SequenceNumber) {
        let Some(until) = self.until.take() else { return };
        if core::mem::take(&mut self.is_held) {
            // Another path has answered these requests.
            self.requested.clear();
            self.requested_fragments = RequestedFragments::default();
        }
        if self.next >= until {
            (self.next, self.fragment) = (from.max(until), 1);
        }
        if self.first_unacknowledged() >= until {
            // A late joiner on hold would request kept samples.
            self.start = self.start.max(from);
        }
        (self.heartbeat, self.since, self.reminder_delay) = (self.spec.reliable, now, FIRST_REMINDER);
    }
}
