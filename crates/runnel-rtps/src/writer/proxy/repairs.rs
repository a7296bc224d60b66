//! Repairs: samples and fragments that a reader requests again.

use super::redundancy::copies_against_loss;
use super::requested_fragments::MAX;
use super::{FIRST_REMINDER, ReaderProxy, put};
use crate::datagram::Datagram;
use crate::history::History;
use crate::lend::Lend;
use crate::wire::{EntityId, NackFrag, SequenceNumber};
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Handles a NACK_FRAG. Returns whether something is to be sent.
    pub(in crate::writer) fn nack_fragments(&mut self, now: Instant, nack: &NackFrag) -> bool {
        if !self.spec.reliable || !self.nacks.check(now, nack.count).is_accepted() {
            return false;
        }
        // It answers: with growing delays, its other losses would be requested only after a second.
        (self.reminder_delay, self.since) = (FIRST_REMINDER, now);
        let wanted = self.own_number(nack);
        let sent = |fragment| wanted < self.next || wanted == self.next && fragment < self.fragment;
        // A further request does not always repeat earlier ones, which may still be queued.
        let is_waiting = |fragment| self.requested_fragments.contains((wanted, fragment));
        let fresh = nack.missing.iter().filter(|fragment| sent(*fragment) && !is_waiting(*fragment));
        let fresh: Vec<u32> = fresh.collect();
        let sent_since = core::mem::take(&mut self.fragments_sent);
        let copies =
            if self.spec.requests_slowly { copies_against_loss(fresh.len() as u32, sent_since) } else { 1 };
        // Copies follow each other after the whole run, since losses come in bursts.
        for _ in 0..copies {
            fresh.iter().for_each(|fragment| self.requested_fragments.push((wanted, *fragment)));
        }
        !self.requested_fragments.is_empty()
    }

    /// Appends requested samples and fragments. Returns when to continue if fragments must wait.
    pub(super) fn fill_repairs<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> Option<Instant> {
        while let Some(number) = self.requested.first().copied() {
            if !self.fill_repair(number, ends, history, out) {
                return None;
            }
        }
        // A fragment has a datagram of its own.
        if Self::is_empty(out) { self.fill_fragment_repair(now, ends, history, out) } else { None }
    }

    /// Appends a sample, queues its fragments, or announces that it is gone. Returns false if it does not fit into this
    /// datagram.
    fn fill_repair<B: Lend>(
        &mut self,
        number: SequenceNumber,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> bool {
        let held = history.get_for(&self.spec.receives_samples_for(), number);
        let Some(change) = held.filter(|_| number >= self.start) else {
            return self.announce_gone(number, ends, history, out);
        };
        if !self.is_short(change) {
            self.request_all_fragments(number, history);
        } else if out.has_body() || !self.can_append(change, out) {
            return false;
        } else {
            put(change, ends, &self.spec, out);
        }
        self.requested.remove(&number);
        true
    }

    /// Appends a requested fragment. Returns when to continue if it must wait.
    fn fill_fragment_repair<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        out: &mut Datagram<B>,
    ) -> Option<Instant> {
        let (number, fragment) = self.requested_fragments.front()?;
        if let Some(at) = self.pacer.not_before(now) {
            return Some(at);
        }
        let change = history.get(number);
        if change.is_some_and(|change| !self.can_append_fragment(change, out)) {
            return None;
        }
        self.requested_fragments.pop_front();
        match change {
            Some(change) if fragment > self.fragments(change) => {}
            Some(change) => {
                self.put_fragment(now, change, fragment, ends, out);
                // A NACK_FRAG names at most 256 fragments: a heartbeat with the last of them makes the reader request
                // the next.
                self.heartbeat |= self.requested_fragments.is_empty();
            }
            None => {
                self.requested_fragments.forget(number);
                self.announce_gone(number, ends, history, out);
            }
        }
        None
    }

    fn request_all_fragments<B: Lend>(&mut self, number: SequenceNumber, history: &History<B>) {
        let Some(change) = history.get(number) else { return };
        let count = self.fragments(change);
        let sent = if number == self.next { self.fragment } else { count + 1 };
        self.requested_fragments.forget(number);
        (1..sent).take(MAX).for_each(|fragment| self.requested_fragments.push((number, fragment)));
    }
}
