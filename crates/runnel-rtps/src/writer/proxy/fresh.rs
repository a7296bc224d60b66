//! New samples: those that a reader has not been sent yet.

use super::{ReaderProxy, put};
use crate::datagram::Datagram;
use crate::history::{Change, History};
use crate::lend::Lend;
use crate::wire::{EntityId, SequenceNumber};
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Appends new samples, or a fragment of one, to a datagram. Returns when to continue if a fragment must wait.
    pub(super) fn fill_fresh<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> Option<Instant> {
        let last = self.last_due(history);
        while self.next <= last && !out.has_body() && !self.is_window_full() {
            let change = self.next_change(ends, last, history, out)?;
            if !self.is_short(change) {
                // Fragments are sent in datagrams of their own.
                return if Self::is_empty(out) { self.fill_fragment(now, ends, history, out) } else { None };
            }
            if !self.can_append(change, out) {
                return None;
            }
            put(change, ends, &self.spec, out);
            self.next = self.next.next();
        }
        None
    }

    /// Returns whether no new sample may be sent; a partly sent one is completed.
    pub(super) fn is_window_full(&self) -> bool {
        self.fragment == 1 && self.flight.is_full()
    }

    /// Skips missing samples, which it announces to the reader; returns the next sample if there is one and the
    /// announcement fits.
    fn next_change<'a, B: Lend>(
        &mut self,
        ends: (EntityId, EntityId),
        last: SequenceNumber,
        history: &'a History<B>,
        out: &mut Datagram<B>,
    ) -> Option<&'a Change<B>> {
        let next = history.next_for(&self.spec.receives_samples_for(), self.next);
        let Some(change) = next.filter(|change| change.number <= last) else {
            if history.is_addressed() {
                // What is for other readers is announced together with the next sample for this one, or before an
                // alternate path begins.
                if self.is_suspended() && self.next <= last {
                    self.announce_hole(ends, last.next(), history, out);
                    self.heartbeat |= self.spec.reliable;
                }
                return None;
            }
            if self.spec.plain.is_some() {
                self.fill_hole(ends, last.next(), out);
                return None;
            }
            self.next = last.next();
            self.heartbeat |= self.spec.reliable;
            return None;
        };
        let is_announced =
            change.number == self.next || self.announce_hole(ends, change.number, history, out);
        is_announced.then_some(change)
    }

    /// Appends the next fragment of the next sample. Returns when to continue if it must wait.
    fn fill_fragment<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> Option<Instant> {
        if let Some(at) = self.pacer.not_before(now) {
            return Some(at);
        }
        let change = history.get(self.next).filter(|change| self.can_append_fragment(change, out))?;
        let count = self.put_fragment(now, change, self.fragment, ends, out);
        self.fragment += 1;
        if self.fragment > count {
            (self.next, self.fragment) = (self.next.next(), 1);
        }
        None
    }
}
