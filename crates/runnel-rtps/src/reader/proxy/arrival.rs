//! Samples that come, whole or in fragments, and wait for those before them.

use super::{Held, WriterProxy};
use crate::reader::fragments::Complete;
use crate::wire::{DataFrag, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// How many samples are held that came before one that is missing.
const MOST_HELD: usize = 4096;

/// What holding a sample takes beside its bytes, in bytes and roughly.
const HOLDING: usize = 128;

/// What came of a sample.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is the next: deliver it, and then what [`WriterProxy::take_held`] gives.
    Deliver,
    /// One before it is missing, or the reader's user has no room for it.
    Early,
    /// It came before, or will not be wanted any more.
    Late,
}

impl WriterProxy {
    /// A whole sample has come: what is to be done with it, given whether the reader's user has room for it. If not, it
    /// is held and not acknowledged, unless the writer sends each sample once.
    pub fn arrive(&mut self, now: Instant, number: SequenceNumber, has_room: bool) -> Arrival {
        if !self.spec.reliable {
            return self.arrive_once(number);
        }
        self.last = self.last.max(number);
        if number < self.next || self.held.contains_key(&number) || self.is_gap(number) {
            self.retry.timing.note_came_again(number);
            return Arrival::Late;
        }
        self.fragments.forget(number);
        self.fragments.pass(number);
        if !self.greeted || number > self.next || !has_room {
            return Arrival::Early;
        }
        self.note_repaired(now, number);
        self.advance_to(number.next());
        Arrival::Deliver
    }

    /// The same of a sample that came by another way than the network: it does not show that what is before it was sent,
    /// and lost. The writer may be about to send that.
    pub fn arrive_beside(&mut self, number: SequenceNumber, has_room: bool) -> Arrival {
        if !self.spec.reliable {
            return self.arrive_once(number);
        }
        self.beside = true;
        if number < self.next || self.held.contains_key(&number) || self.is_gap(number) {
            return Arrival::Late;
        }
        self.fragments.forget(number);
        if !self.greeted || number > self.next || !has_room {
            return Arrival::Early;
        }
        self.advance_to(number.next());
        Arrival::Deliver
    }

    /// Of a writer whose samples come once: what was left out is lost.
    fn arrive_once(&mut self, number: SequenceNumber) -> Arrival {
        if number < self.next {
            return Arrival::Late;
        }
        if self.last != SequenceNumber::ZERO {
            self.lost += u64::from(number.distance_from(self.next));
        }
        self.last = number;
        self.next = number.next();
        self.fragments.forget_before(self.next);
        Arrival::Deliver
    }

    /// Holds a sample that came early, and asks for what is missing before it. False if there is no room for it: it will be
    /// asked for again.
    pub fn hold(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        let holds = self.hold_if_room(now, number, sample);
        if !holds {
            self.note_dropped(number);
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause()));
        }
        if number > self.whole {
            self.note_missing();
        }
        holds
    }

    fn hold_if_room(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        if self.held.len() >= MOST_HELD || self.held_bytes + sample.bytes.len() > self.spec.most_bytes {
            return false;
        }
        let Some(claim) = self.spec.budgets.held.claim(HOLDING + sample.bytes.len()) else { return false };
        self.held_bytes += sample.bytes.len();
        self.held.insert(number, Held { sample, _claim: claim });
        self.extend_whole();
        self.note_repaired(now, number);
        true
    }

    /// What would have to be free to hold a sample, if it is not and that is not for what this writer has itself.
    pub fn lacks_to_hold(&self, bytes: usize) -> Option<usize> {
        let may = self.held.len() < MOST_HELD && self.held_bytes + bytes <= self.spec.most_bytes;
        (may && !self.spec.budgets.held.has(HOLDING + bytes)).then_some(HOLDING + bytes)
    }

    /// How much is held that would be sent again if it was let go of, in bytes.
    pub fn held_bytes(&self) -> usize {
        if self.beside { 0 } else { self.held_bytes + self.held.len() * HOLDING }
    }

    /// Lets go of the latest that is held, up to so many bytes: it is asked for again. Gives how many that was.
    pub fn let_go(&mut self, most: usize) -> usize {
        let mut bytes = 0;
        while bytes < most
            && !self.beside
            && let Some((number, held)) = self.held.pop_last()
        {
            self.held_bytes -= held.sample.bytes.len();
            bytes += HOLDING + held.sample.bytes.len();
            self.whole = self.whole.min(number.previous());
            self.note_dropped(number);
        }
        bytes
    }

    /// The sample that was held and is the next now.
    pub fn take_held(&mut self) -> Option<(SequenceNumber, Complete)> {
        if !self.greeted {
            return None;
        }
        let Held { sample, .. } = self.held.remove(&self.next)?;
        self.held_bytes -= sample.bytes.len();
        let number = self.next;
        self.advance_to(number.next());
        Some((number, sample))
    }

    /// Fragments have come; gives the sample if these were the last.
    pub fn take_fragments(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        stamp: Option<Timestamp>,
    ) -> Option<Complete> {
        let number = frag.number;
        let len = frag.sample_len as usize;
        let known = number < self.next || self.held.contains_key(&number) || self.is_gap(number);
        if known {
            return None;
        }
        if len > self.spec.most_bytes {
            self.pass_too_long(number);
            return None;
        }
        if self.spec.reliable {
            self.last = self.last.max(number);
        } else {
            // The next that is whole tells how many are lost.
            let most = self.spec.most_bytes;
            self.fragments.forget_oldest(number, |bytes| bytes + len <= most);
        }
        if !self.fragments.has_room(number, len, self.spec.most_bytes) {
            return None;
        }
        let whole = self.fragments.take(now, frag, stamp, &self.spec.budgets.incomplete);
        let is_refused = whole.is_none() && !self.fragments.has_begun(number);
        if !is_refused {
            self.retry.note_progress();
        }
        self.is_full |= is_refused && !self.spec.budgets.incomplete.has(len);
        if self.spec.reliable && whole.is_none() {
            self.note_missing();
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause_of_fragments()));
        }
        whole
    }

    /// A sample is longer than any that is taken: it is lost, and those behind it do not wait for it.
    fn pass_too_long(&mut self, number: SequenceNumber) {
        // Of one whose samples come once the next one shows it.
        if !self.spec.reliable {
            return;
        }
        self.last = self.last.max(number);
        self.give_up(number);
        self.owes_answer = true;
    }

    /// What is before `number` is done with, and what follows it and will not come.
    pub(super) fn advance_to(&mut self, number: SequenceNumber) {
        self.next = self.next.max(number);
        while let Some((start, end)) = self.gaps.first_key_value().map(|(start, end)| (*start, *end)) {
            if start > self.next {
                break;
            }
            self.gaps.pop_first();
            self.next = self.next.max(end);
        }
        self.fragments.forget_before(self.next);
        self.retry.timing.note_done(self.next);
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() < self.next) {
            self.held_bytes -= entry.remove().sample.bytes.len();
        }
        self.note_room();
        if !self.is_missing_something() {
            self.retry.stop();
        }
    }
}

/// A sample that is held as it lies in a datagram.
pub(crate) fn copied(bytes: &[u8], stamp: Option<Timestamp>, is_key: bool) -> Complete {
    Complete { bytes: Vec::from(bytes), stamp, is_key }
}
