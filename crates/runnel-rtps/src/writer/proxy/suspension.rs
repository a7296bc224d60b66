//! Suspension of a reader while an alternate path carries its samples.

use super::{FIRST_REMINDER, ReaderProxy, RequestedFragments};
use crate::wire::SequenceNumber;
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Suspends the reader: an alternate path carries samples from this one on.
    pub(in crate::writer) fn suspend(&mut self, from: SequenceNumber) {
        self.until = self.until.or(Some(from));
    }

    /// Sends nothing until the reader is resumed.
    pub(in crate::writer) fn hold(&mut self) {
        let first = self.first_unacknowledged();
        self.until = Some(first);
        (self.next, self.fragment) = (self.next.max(first), 1);
        self.requested.clear();
        self.requested_fragments = RequestedFragments::default();
    }

    pub(in crate::writer) fn is_suspended(&self) -> bool {
        self.until.is_some()
    }

    /// Resumes the reader, which has received all samples before `from` on another path, except missing ones from
    /// before the suspension.
    pub(in crate::writer) fn resume(&mut self, now: Instant, from: SequenceNumber) {
        let Some(until) = self.until.take() else { return };
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
