//! Samples that a reader has not been sent yet.

use super::{ReaderProxy, put};
use crate::datagram::Datagram;
use crate::history::{Change, History};
use crate::lend::Lend;
use crate::wire::{EntityId, SequenceNumber};
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Puts samples, or a fragment of one, that it has not been sent yet into a datagram.
    /// If a fragment must wait: until when.
    pub(super) fn fill_fresh<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> Option<Instant> {
        let last = self.last_due(history);
        while self.next <= last && !out.has_body() && !self.waits_for_room() {
            let change = self.come_to_next(ends, last, history, out)?;
            if !self.is_short(change) {
                // A fragment has a datagram of its own.
                return if Self::is_empty(out) { self.fill_fragment(now, ends, history, out) } else { None };
            }
            if !self.may_add(change, out) {
                return None;
            }
            put(change, ends, &self.spec, out);
            self.next = self.next.next();
        }
        None
    }

    /// True if nothing new may set out; a sample that has been begun is finished.
    pub(super) fn waits_for_room(&self) -> bool {
        self.fragment == 1 && self.flight.is_full()
    }

    /// Steps over what is not there, which it is told of; gives the sample to be sent next, if there is any and room to tell.
    fn come_to_next<'a, B: Lend>(
        &mut self,
        ends: (EntityId, EntityId),
        last: SequenceNumber,
        history: &'a History<B>,
        out: &mut Datagram<B>,
    ) -> Option<&'a Change<B>> {
        let Some(change) = history.at_or_after(self.next).filter(|change| change.number <= last) else {
            if self.spec.plain.is_some() {
                self.fill_hole(ends, last.next(), out);
                return None;
            }
            self.next = last.next();
            self.heartbeat |= self.spec.reliable;
            return None;
        };
        let is_told = change.number == self.next || self.tell_of_hole(ends, change.number, out);
        is_told.then_some(change)
    }

    /// Puts in the next fragment of the next sample. If it must wait: until when.
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
        let change = history.get(self.next).filter(|change| self.may_add_fragment(change, out))?;
        let count = self.put_fragment(now, change, self.fragment, ends, out);
        self.fragment += 1;
        if self.fragment > count {
            (self.next, self.fragment) = (self.next.next(), 1);
        }
        None
    }
}
