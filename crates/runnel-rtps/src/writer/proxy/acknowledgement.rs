//! Acknowledgements of a reader. One counts immediately for flow control, but its samples are released only when the next
//! one confirms it: until then a contradicting acknowledgement is believed, and the samples are sent.

use super::{FIRST_REMINDER, ReaderProxy};
use crate::count::CountVerdict;
use crate::evidence::QUIET;
use crate::history::History;
use crate::wire::{AckNack, SequenceNumber};
use runnel_core::time::Instant;

/// Maximum number of samples that wait to be sent again: the earliest, for which the reader waits. It requests further
/// ones again.
pub(super) const MAX_REQUESTED: usize = 4096;

impl ReaderProxy {
    /// Handles an ACKNACK. Returns whether something is to be sent or requested later. Acknowledgements of best-effort
    /// readers are ignored.
    pub(in crate::writer) fn acknowledge<B>(
        &mut self,
        now: Instant,
        ack: &AckNack,
        history: &History<B>,
    ) -> bool {
        if !self.spec.reliable {
            return false;
        }
        if !self.is_count_accepted(now, ack.count) {
            return self.heartbeat || self.probe_at.is_some();
        }
        // Before it has, Cyclone DDS requests one, from the first number on.
        let has_begun = ack.is_final || ack.missing.base > SequenceNumber::FIRST;
        if has_begun && !core::mem::replace(&mut self.has_begun, true) {
            // What was sent before may be announced now.
            self.heartbeat |= self.has_unacknowledged();
        }
        // It has a position, or requests one.
        self.awaits_own_heartbeat = self.spec.begins_with_own_heartbeat() && !ack.is_final;
        let base = ack.missing.base.min(self.last_due(history).next());
        self.note_acknowledged(now, base.previous(), ack.missing.is_empty());
        if base > self.next {
            (self.next, self.fragment) = (base, 1);
        }
        let known_up_to = ack.missing.iter().last().map_or(base.previous(), |last| last.max(base.previous()));
        self.flight.answered(now, known_up_to);
        self.requested.retain(|number| *number >= base);
        self.requested_fragments.forget_before(base);
        let sent = ack.missing.iter().filter(|number| *number < self.next);
        self.requested.merge_least(sent, MAX_REQUESTED);
        let is_echo = self.spec.echoes && self.acked >= self.last_due(history);
        self.heartbeat |= !ack.is_final && self.requested.is_empty() && !is_echo;
        true
    }

    /// Returns false if an acknowledgement was overtaken or has an implausible count; the reader is then asked.
    fn is_count_accepted(&mut self, now: Instant, count: u32) -> bool {
        let news = self.acknowledgements.check(now, count);
        match news {
            CountVerdict::Fresh => self.probe_at = None,
            CountVerdict::Stale => {}
            CountVerdict::Overtaken => self.probe_at = self.probe_at.or(Some(now + QUIET)),
            CountVerdict::Contested => self.heartbeat = true,
            CountVerdict::Restarted => self.corrections += 1,
        }
        news.is_accepted()
    }

    fn note_acknowledged(&mut self, now: Instant, acked: SequenceNumber, has_all: bool) {
        if acked >= self.acked {
            self.confirmed = self.confirmed.max(self.acked);
        } else if !has_all {
            // It misses samples that it had acknowledged.
            self.acked = acked.max(self.start.previous());
            self.confirmed = self.confirmed.min(self.acked);
            self.corrections += 1;
        }
        if acked > self.acked {
            self.acked = acked;
            (self.reminder_delay, self.since) = (FIRST_REMINDER, now);
        }
    }

    /// Returns the last sample that may be released for this reader.
    pub(in crate::writer) fn releasable(&self) -> SequenceNumber {
        let is_here = self.spec.reliable && self.until.is_none();
        if is_here { self.confirmed } else { self.done() }
    }

    /// Returns and clears the number of corrections.
    pub(in crate::writer) fn take_corrections(&mut self) -> u32 {
        core::mem::take(&mut self.corrections)
    }
}
