//! What a writer is told: what came and what is missing, and when that is asked for again.

use super::WriterProxy;
use crate::wire::{
    AckNack, BITS, EntityId, FragmentSet, Heartbeat, HeartbeatFrag, NackFrag, SequenceNumber, SequenceSet,
};
use core::time::Duration;
use runnel_core::time::Instant;

/// How long a repair may take until it is asked for again: at least, and at most.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_millis(500);

/// After so many times in vain the pauses grow.
const PATIENT_TRIES: u32 = 8;

/// How often a writer is asked what it has until it says so; if it does not, it is asked now and then for as long as it is
/// there. It may have said so once, and not have noticed that it was lost.
const GREETINGS: u32 = 20;
const GREETING_PAUSE: Duration = Duration::from_secs(3);

/// When what is missing is asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    pub(super) at: Option<Instant>,
    /// How often the writer was told since a repair came.
    pub(super) tries: u32,
    /// And how often that was since none came in time.
    vain: u32,
    /// What was asked for last, up to here, and when.
    up_to: SequenceNumber,
    /// Up to here nothing is missing that has neither begun nor been asked for.
    looked: SequenceNumber,
    asked: Instant,
    /// How long a repair takes, as far as is known.
    pub(super) takes: Duration,
}

/// The last number there is: no writer gets there.
const LAST: SequenceNumber = SequenceNumber(i64::MAX);

impl Retry {
    pub fn new() -> Self {
        let nothing = SequenceNumber::ZERO;
        let (asked, takes) = (Instant(0), SHORTEST_RETRY);
        Self { at: None, tries: 0, vain: 0, up_to: nothing, looked: nothing, asked, takes }
    }

    /// Nothing is missing.
    pub fn stop(&mut self) {
        (self.at, self.tries, self.vain) = (None, 0, 0);
    }

    /// Something of what is missing has come.
    pub fn note_progress(&mut self) {
        self.vain = 0;
    }
}

impl WriterProxy {
    /// The writer tells what it has.
    pub fn heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        if !self.spec.reliable || !self.heartbeats.take(heartbeat.count) {
            return;
        }
        if !self.greeted {
            self.greeted = true;
            // One that has fewer samples than it had is another, whose name is the same.
            let had = self.had.filter(|had| *had <= heartbeat.last.next());
            self.advance_to(heartbeat.first.max(had.unwrap_or(self.next)));
        } else if heartbeat.first > self.next {
            self.lose_before(heartbeat.first);
        }
        self.last = self.last.max(heartbeat.last);
        self.note_missing();
        self.owes_answer |= !heartbeat.is_final;
        if self.is_missing_something() && self.retry.at.is_none_or(|at| at <= now) {
            self.owes_answer = true;
        }
    }

    /// The writer tells which fragments of a sample it has sent.
    pub fn heartbeat_fragments(&mut self, heartbeat: &HeartbeatFrag) {
        if !self.spec.reliable || !self.fragment_heartbeats.take(heartbeat.count) {
            return;
        }
        if heartbeat.number >= self.next {
            self.last = self.last.max(heartbeat.number);
            self.fragments.know(heartbeat.number, heartbeat.last_fragment);
            self.note_missing();
        }
    }

    /// Its time has come: asks again. True if an answer is due.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.retry.at.is_none_or(|at| at > now) {
            return self.wants_answer();
        }
        let missing = self.first_missing().filter(|_| self.greeted);
        let quiet = self.fragments_came + self.retry.takes;
        match missing {
            Some(number) if self.fragments.has_begun(number) && now < quiet => self.retry.at = Some(quiet),
            Some(number) => {
                self.fragments.know_all(number);
                self.retry.vain = self.retry.vain.saturating_add(1);
                (self.retry.at, self.owes_answer) = (None, true);
            }
            None if !self.greeted => {
                self.retry.vain = self.retry.vain.saturating_add(1);
                (self.retry.at, self.owes_answer) = (None, true);
            }
            None => self.retry.at = None,
        }
        self.wants_answer()
    }

    /// The answer that is due: an acknowledgement, and what fragments are missing. A writer that sends without having
    /// said what it has is asked for all before that, since some tell only then that it will not come.
    pub fn answer(&mut self, now: Instant, reader: EntityId) -> Option<(AckNack, Option<NackFrag>)> {
        if !core::mem::take(&mut self.owes_answer) {
            return None;
        }
        let writer = self.spec.guid.entity;
        // What was asked for a moment ago is under way, unless nothing of that comes.
        let again = self.retry.vain > 0 || self.retry.at.is_none_or(|at| at <= now);
        let from = if again { self.next } else { self.retry.up_to.next() };
        let (missing, fragments) = self.all_missing(from);
        if again || !self.is_missing_something() {
            self.plan_retry(now);
        }
        self.acknowledgements = self.acknowledgements.wrapping_add(1);
        let (count, is_final) = (self.acknowledgements, self.greeted);
        let nack = fragments.map(|(number, missing)| NackFrag { reader, writer, number, missing, count });
        Some((AckNack { reader, writer, missing, count, is_final }, nack))
    }

    /// The samples from one on that are missing as a whole, as many as a set holds, and the fragments of the first that is
    /// incomplete; notes that they are asked for.
    fn all_missing(&mut self, from: SequenceNumber) -> (SequenceSet, Option<(SequenceNumber, FragmentSet)>) {
        let mut missing = SequenceSet::new(self.next);
        let mut fragments = None;
        let mut up_to = self.retry.up_to;
        let is_known = self.greeted || !self.held.is_empty();
        let end = self.end_of_room();
        for number in self.missing_from(self.next).take_while(|number| is_known && *number < end) {
            match self.fragments.missing(number) {
                Some(of_it) if fragments.is_none() => fragments = Some((number, of_it)),
                _ if self.fragments.has_begun(number) || number < from => {}
                _ if missing.insert(number) => {}
                _ => break,
            }
            up_to = up_to.max(number);
        }
        self.retry.up_to = up_to;
        (missing, fragments)
    }

    fn plan_retry(&mut self, now: Instant) {
        if self.greeted && !self.is_missing_something() {
            return self.retry.stop();
        }
        let doublings = self.retry.vain.saturating_sub(PATIENT_TRIES).min(8);
        let is_mute = !self.greeted && self.retry.tries >= GREETINGS;
        let pause =
            if is_mute { GREETING_PAUSE } else { (self.retry.takes * (1 << doublings)).min(LONGEST_RETRY) };
        self.retry.tries = self.retry.tries.saturating_add(1);
        (self.retry.at, self.retry.asked) = (Some(now + pause), now);
    }

    /// What is missing and has not been asked for is asked for at once, but for fragments that may be under way. It is looked
    /// for where nobody has looked yet: thousands may be held, and this is asked for each datagram.
    pub(super) fn note_missing(&mut self) {
        if !self.greeted {
            return;
        }
        if self.fragments.take_forgotten() {
            self.retry.looked = SequenceNumber::ZERO;
        }
        let unasked = self.retry.up_to.max(self.retry.looked).next().max(self.next);
        let away = self.missing_from(unasked).find(|number| !self.fragments.has_begun(*number));
        self.retry.looked = away.map_or(self.last, SequenceNumber::previous);
        // What has found no room is asked for when there is some, or in a while.
        let may_ask = |away: SequenceNumber| !self.is_full && away.distance_from(self.next) < BITS;
        self.owes_answer |= away.is_some_and(may_ask);
    }

    /// A sample that has come found no room, and is missing again.
    pub(super) fn note_dropped(&mut self, number: SequenceNumber) {
        self.is_full = true;
        self.retry.looked = self.retry.looked.min(number.previous());
        self.retry.up_to = self.retry.up_to.min(number.previous());
    }

    /// Samples have gone to the user: there may be room for what was not asked for.
    pub(super) fn note_room(&mut self) {
        self.owes_answer |= core::mem::take(&mut self.is_full) && self.is_missing_something();
    }

    /// Where those samples end that there is room for: beyond what is held none can be kept, and to ask for them would have
    /// them sent in vain again and again.
    fn end_of_room(&self) -> SequenceNumber {
        let last = self.held.last_key_value().map_or(self.next, |(last, _)| self.next.max(*last));
        if self.is_full { last.next() } else { LAST }
    }

    /// A sample that was asked for has come: so long does that take.
    pub(super) fn note_repaired(&mut self, now: Instant, number: SequenceNumber) {
        if number <= self.retry.up_to && self.retry.tries == 1 {
            let took = now.since(self.retry.asked);
            self.retry.takes =
                ((self.retry.takes * 3 + took * 3 / 2) / 4).clamp(SHORTEST_RETRY, LONGEST_RETRY);
        }
        self.retry.tries = self.retry.tries.min(1);
        self.retry.note_progress();
    }

    /// True if the writer has something that has not come.
    pub(super) fn is_missing_something(&self) -> bool {
        self.spec.reliable && self.greeted && self.first_missing().is_some()
    }

    fn first_missing(&self) -> Option<SequenceNumber> {
        self.missing_from(self.next).next()
    }

    /// The samples that are missing, in order.
    fn missing_from(&self, start: SequenceNumber) -> impl Iterator<Item = SequenceNumber> {
        // Thousands may be held, which are not to be looked up one by one.
        let mut number = start.max(self.whole.next());
        let mut held = self.held.range(number..).map(|(held, _)| *held).peekable();
        core::iter::from_fn(move || {
            while number <= self.last && number < LAST {
                while held.next_if(|held| *held < number).is_some() {}
                if held.next_if_eq(&number).is_some() {
                    number = number.next();
                } else if let Some(end) = self.end_of_gap(number) {
                    number = end;
                } else {
                    number = number.next();
                    return Some(number.previous());
                }
            }
            None
        })
    }

    /// What follows what is whole may be there by now.
    pub(super) fn extend_whole(&mut self) {
        self.whole = self.whole.max(self.next.previous());
        while self.whole < LAST {
            let after = self.whole.next();
            if self.held.contains_key(&after) {
                self.whole = after;
            } else if let Some(end) = self.end_of_gap(after) {
                self.whole = end.previous();
            } else {
                return;
            }
        }
    }
}
