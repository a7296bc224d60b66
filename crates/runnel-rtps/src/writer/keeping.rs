//! Retention of samples: which a writer keeps, and which it displaces.

use super::{Full, ReaderProxy, Writer};
use crate::lend::Lend;
use crate::wire::SequenceNumber;
use runnel_core::qos::History as Keep;
use runnel_core::time::Instant;

/// Maximum number of dispose samples that are held for readers that may return.
const MAX_GONE: usize = 256;

impl<B: Lend> Writer<B> {
    /// Returns the slowest reader if the writer cannot accept another sample.
    pub fn full(&self) -> Option<Full> {
        let is_full = self.qos.history == Keep::KeepAll
            && (self.history.len() >= self.limit || self.history.bytes() >= self.limit_bytes)
            && self.history.find(|number| self.can_displace(number)).is_none();
        // Late joiners are owed only the last samples: those that every reader has can be displaced.
        let held_for = self.readers.iter().filter(|reader| is_full && reader.is_reliable());
        let last = self.history.last();
        let slowest =
            held_for.filter(|reader| reader.is_missing(last)).min_by_key(|reader| reader.acked())?;
        Some(Full { reader: slowest.guid() })
    }

    /// Returns whether a sample may be displaced. A long sample that is displaced while a reader receives its fragments
    /// would never arrive, and a keep-all writer displaces no sample that a reader has not acknowledged.
    pub(super) fn can_displace(&self, number: SequenceNumber) -> bool {
        let keeps_all = self.qos.history == Keep::KeepAll;
        let holds = |reader: &ReaderProxy| {
            let waits = keeps_all && reader.is_reliable() && reader.is_open();
            reader.is_partly_sent(number) || waits && reader.is_missing(number)
        };
        !self.readers.iter().any(holds)
    }

    /// Displaces the oldest samples beyond the limits, including those held over; returns the payload of one.
    pub(super) fn displace_excess(&mut self) -> Option<B> {
        let (most, mut out) = (self.max_samples(), None);
        for _ in 0..=self.held_over {
            if self.history.len() <= most {
                break;
            }
            let Some(payload) = self.displace() else { break };
            out = Some(payload);
        }
        while self.qos.history == Keep::KeepAll
            && self.history.bytes() > self.limit_bytes
            && let Some(payload) = self.displace()
        {
            out = Some(payload);
        }
        self.held_over = self.history.len().saturating_sub(most).min(self.readers.len());
        out
    }

    /// Displaces the oldest sample that may be displaced.
    pub(super) fn displace(&mut self) -> Option<B> {
        let place = self.history.find(|number| self.can_displace(number))?;
        let change = self.history.take(place)?;
        if self.readers.iter().any(|reader| reader.is_missing(change.number)) {
            self.overwritten = self.overwritten.saturating_add(1);
        }
        Some(change.payload)
    }

    /// Returns the maximum number of samples.
    pub(super) fn max_samples(&self) -> usize {
        if self.qos.history == Keep::KeepAll { self.limit } else { self.qos.depth.max(1) }
    }

    /// Removes samples that no reader needs.
    pub(super) fn trim(&mut self) {
        if self.history.is_addressed() {
            return self.trim_addressed();
        }
        // Late joiners need only the last ones; more are held after some were returned by an alternate path.
        let kept = if self.is_latching() { self.max_samples() } else { 0 };
        if self.history.len() <= kept && self.disposed.is_empty() {
            return;
        }
        let readers = self.readers.iter().chain(self.unmatched.iter());
        let done = readers.map(ReaderProxy::releasable).min().unwrap_or(self.history.last());
        // A reader that never received the instance need not receive its disposal.
        let gone_kept = if self.keeps_disposals { MAX_GONE } else { 0 };
        while self.disposed.len() > gone_kept
            && let Some(number) = self.disposed.pop_front_if(|number| *number <= done)
        {
            self.history.remove(number);
        }
        while self.history.len() > kept && self.history.front().is_some_and(|change| change.number <= done) {
            self.history.pop();
        }
    }

    /// Removes samples whose lifespan has ended.
    pub fn expire(&mut self, now: Instant) {
        let Some(lifespan) = self.qos.lifespan else { return };
        while self.history.front().is_some_and(|change| change.written + lifespan <= now) {
            self.history.pop();
        }
    }

    /// Returns when the lifespan of the oldest sample ends.
    pub fn expiry(&self) -> Option<Instant> {
        let lifespan = self.qos.lifespan?;
        self.history.front().map(|change| change.written + lifespan)
    }
}
