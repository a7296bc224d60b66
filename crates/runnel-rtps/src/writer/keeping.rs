//! Which samples a writer keeps, and which make room for others.

use super::{Full, ReaderProxy, Writer};
use crate::lend::Lend;
use crate::wire::SequenceNumber;
use runnel_core::qos::History as Keep;
use runnel_core::time::Instant;

/// How many samples that tell of what is gone are held for those who may come back.
const MOST_GONE: usize = 256;

impl<B: Lend> Writer<B> {
    /// The reader that stands in the way of another sample.
    pub fn full(&self) -> Option<Full> {
        let is_full = self.qos.history == Keep::KeepAll
            && (self.history.len() >= self.limit || self.history.bytes() >= self.limit_bytes)
            && self.history.find(|number| self.may_go(number)).is_none();
        // Those who come later are owed the last ones alone: what everybody has had makes room.
        let held_for = self.readers.iter().filter(|reader| is_full && reader.is_reliable());
        let last = self.history.last();
        let slowest = held_for.filter(|reader| reader.misses(last)).min_by_key(|reader| reader.acked())?;
        Some(Full { reader: slowest.guid() })
    }

    /// True if a sample may make room for another: a long one that is displaced again and again while a reader is in the midst
    /// of it would never arrive, and of a writer that keeps all nobody loses any who acknowledges.
    pub(super) fn may_go(&self, number: SequenceNumber) -> bool {
        let keeps_all = self.qos.history == Keep::KeepAll;
        let holds = |reader: &ReaderProxy| {
            let waits = keeps_all && reader.is_reliable() && reader.is_open();
            reader.is_amid(number) || waits && reader.misses(number)
        };
        !self.readers.iter().any(holds)
    }

    /// Lets go of a sample if there are more than it may hold, and of those that were held over: of the oldest that may go.
    pub(super) fn make_room(&mut self) -> Option<B> {
        let (most, mut out) = (self.most(), None);
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

    /// Lets go of the oldest sample that may go.
    pub(super) fn displace(&mut self) -> Option<B> {
        let place = self.history.find(|number| self.may_go(number))?;
        let change = self.history.take(place)?;
        if self.readers.iter().any(|reader| reader.misses(change.number)) {
            self.overwritten = self.overwritten.saturating_add(1);
        }
        Some(change.payload)
    }

    /// How many samples it holds at most.
    pub(super) fn most(&self) -> usize {
        if self.qos.history == Keep::KeepAll { self.limit } else { self.qos.depth.max(1) }
    }

    /// Lets go of samples that nobody is to get any more.
    pub(super) fn trim(&mut self) {
        // For those who come later only the last count; there are more when some came back that had not arrived.
        let kept = if self.is_latching() { self.most() } else { 0 };
        if self.history.len() <= kept && self.gone.is_empty() {
            return;
        }
        let readers = self.readers.iter().chain(self.left.iter());
        let done = readers.map(ReaderProxy::releasable).min().unwrap_or(self.history.last());
        // Who has never heard of a thing needs not hear that it is gone.
        let gone_kept = if self.awaits_return { MOST_GONE } else { 0 };
        while self.gone.len() > gone_kept
            && let Some(number) = self.gone.pop_front_if(|number| *number <= done)
        {
            self.history.remove(number);
        }
        while self.history.len() > kept && self.history.front().is_some_and(|change| change.number <= done) {
            self.history.pop();
        }
    }

    /// Lets go of samples that are not worth delivering any more.
    pub fn expire(&mut self, now: Instant) {
        let Some(lifespan) = self.qos.lifespan else { return };
        while self.history.front().is_some_and(|change| change.written + lifespan <= now) {
            self.history.pop();
        }
    }

    /// When the oldest sample is not worth delivering any more.
    pub fn expiry(&self) -> Option<Instant> {
        let lifespan = self.qos.lifespan?;
        self.history.front().map(|change| change.written + lifespan)
    }
}
