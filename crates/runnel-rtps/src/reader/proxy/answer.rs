//! Acknowledgements and requests to a writer, and their repetition.

use super::WriterProxy;
use super::timing::{LONGEST, Timing};
use crate::count::CountVerdict;
use crate::wire::{
    AckNack, BITS, EntityId, FragmentSet, Heartbeat, HeartbeatFrag, NackFrag, SequenceNumber, SequenceSet,
    VendorId,
};
use core::time::Duration;
use runnel_core::time::Instant;

/// Number of unanswered requests after which the intervals grow.
const BACKOFF_AFTER_TRIES: u32 = 16;

/// Number of unanswered requests after which a heartbeat is also requested, since the writer may no longer have the
/// samples.
const PROBE_AFTER_TRIES: u32 = 3;

/// Number of unanswered requests after which a writer that sends something else does not repeat the samples.
const SKIP_AFTER_TRIES: u32 = 8;

/// Maximum number of requests for a first heartbeat at short intervals. Later ones follow at long intervals while the
/// writer is matched: its only heartbeat may have been lost.
const FIRST_HEARTBEAT_TRIES: u32 = 20;
const FIRST_HEARTBEAT_PAUSE: Duration = Duration::from_secs(3);

/// Repetition of requests for missing samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    pub(super) at: Option<Instant>,
    /// Number of requests without progress.
    unanswered: u32,
    /// All missing samples up to here were requested.
    pub(super) up_to: SequenceNumber,
    /// All missing samples up to here are overdue when the timer fires, and are requested again.
    overdue: SequenceNumber,
    /// Up to here no sample is missing that has neither begun nor been requested.
    pub(super) searched_up_to: SequenceNumber,
    pub(super) timing: Timing,
}

/// The greatest number, which no writer reaches.
const GREATEST: SequenceNumber = SequenceNumber(i64::MAX);

impl Retry {
    pub fn new() -> Self {
        let none = SequenceNumber::ZERO;
        Self {
            at: None,
            unanswered: 0,
            up_to: none,
            overdue: none,
            searched_up_to: none,
            timing: Timing::new(),
        }
    }

    /// Stops the timer: nothing is missing.
    pub fn stop(&mut self) {
        (self.at, self.unanswered, self.overdue) = (None, 0, self.up_to);
    }

    /// Resets the state to samples after this one.
    pub(super) fn return_to(&mut self, number: SequenceNumber) {
        (self.at, self.unanswered) = (None, 0);
        (self.up_to, self.overdue, self.searched_up_to) = (number, number, number);
    }

    /// Records that a missing sample arrived.
    pub fn note_progress(&mut self) {
        self.unanswered = 0;
    }
}

impl WriterProxy {
    /// Handles a HEARTBEAT.
    pub fn heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        if !self.spec.reliable
            || self.is_of_held_reader(heartbeat)
            || !self.is_addressed(now, heartbeat.reader)
            || !self.is_count_accepted(now, heartbeat)
        {
            return;
        }
        self.confirm_repeated_gap(now);
        self.has_own_heartbeat |= self.is_paused && heartbeat.reader != EntityId::UNKNOWN;
        if !self.has_first_heartbeat {
            self.begin_by_heartbeat(now, heartbeat);
        } else if !self.check_heartbeat(now, heartbeat) {
            return;
        } else if heartbeat.first > self.next {
            self.note_jump(now, self.next, heartbeat.first);
            let before = self.lost;
            self.lose_before(heartbeat.first);
            self.lost = before + self.position.defer_lost(self.lost - before);
        }
        self.position.note_announced(now, heartbeat.last);
        self.update_last(now, heartbeat);
        self.skip_unrepeated();
        self.note_missing();
        self.owes_answer |= !heartbeat.is_final;
        if self.is_missing_something() && self.retry.at.is_none_or(|at| at <= now) {
            self.owes_answer = true;
        }
    }

    /// Returns whether a HEARTBEAT only asserts the liveliness of a writer that holds this reader.
    fn is_of_held_reader(&self, heartbeat: &Heartbeat) -> bool {
        heartbeat.liveliness && heartbeat.last == SequenceNumber::ZERO && self.has_unique_guid()
    }

    /// Handles the first HEARTBEAT of a writer, or the first since it was matched again.
    fn begin_by_heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        let has_reached = |resume_at: &SequenceNumber| *resume_at <= heartbeat.last.next();
        // A writer with fewer samples than before is another one with the same GUID. Runnel's writers announce only the
        // samples that they have sent, so the HEARTBEAT may have been overtaken, or the former position was forged: it
        // is not confirmed, and the writer is asked.
        let resume_at = self.resume_at.filter(|resume_at| self.has_not_restarted() || has_reached(resume_at));
        match resume_at.as_ref().is_none_or(has_reached) {
            true => self.position.confirm(now),
            false => self.probe(now),
        }
        let first = self.first_position(heartbeat);
        self.begin_at(now, first, resume_at);
        if first < heartbeat.first {
            self.lose_before(heartbeat.first);
        }
    }

    /// Returns false if a HEARTBEAT was overtaken, or has an implausible count that must be confirmed.
    fn is_count_accepted(&mut self, now: Instant, heartbeat: &Heartbeat) -> bool {
        let news = self.heartbeats.check(now, heartbeat.count);
        match news {
            CountVerdict::Fresh => {}
            CountVerdict::Stale => {}
            CountVerdict::Overtaken => self.probe_later(now),
            CountVerdict::Contested => self.probe(now),
            CountVerdict::Restarted => self.note_counts_restarted(),
        }
        news.is_accepted()
    }

    /// Handles a HEARTBEAT_FRAG.
    pub fn heartbeat_fragments(&mut self, now: Instant, heartbeat: &HeartbeatFrag) {
        if !self.spec.reliable || !self.fragment_heartbeats.check(now, heartbeat.count).is_accepted() {
            return;
        }
        if heartbeat.number >= self.next {
            self.last = self.last.max(heartbeat.number);
            self.fragments.extend_known(heartbeat.number, heartbeat.last_fragment);
            self.note_missing();
        }
    }

    /// Handles the timer: schedules repeated requests. Returns whether an answer is due.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        self.probe_if_due(now);
        if self.retry.at.is_none_or(|at| at > now) {
            return self.has_answer_due();
        }
        let missing = self.first_missing().filter(|_| self.has_first_heartbeat);
        let arrived = missing.and_then(|number| self.fragments.last_arrival(number));
        let quiet = arrived.map(|arrived| arrived + self.retry.timing.pause_of_fragments());
        match missing {
            // More fragments of it may be in flight, whatever arrives of other samples.
            Some(_) if quiet.is_some_and(|quiet| now < quiet) => self.retry.at = quiet,
            Some(number) => {
                self.fragments.extend_known_to_all(number);
                self.retry.unanswered = self.retry.unanswered.saturating_add(1);
                self.position.wants_heartbeat |= self.retry.unanswered >= PROBE_AFTER_TRIES;
                (self.retry.at, self.owes_answer) = (None, true);
            }
            None if !self.has_first_heartbeat => {
                self.retry.unanswered = self.retry.unanswered.saturating_add(1);
                (self.retry.at, self.owes_answer) = (None, true);
            }
            None => self.retry.at = None,
        }
        self.has_answer_due()
    }

    /// Returns the due answer: an ACKNACK and a NACK_FRAG. From a writer that sends without a HEARTBEAT all
    /// earlier samples are requested, since some send a GAP only then.
    pub fn answer(&mut self, now: Instant, reader: EntityId) -> Option<(AckNack, Option<NackFrag>)> {
        if !core::mem::take(&mut self.owes_answer) {
            return None;
        }
        let writer = self.spec.guid.entity;
        // Samples requested a moment ago are in flight.
        let is_time = self.retry.at.is_none_or(|at| at <= now);
        let overdue = is_time.then_some(self.retry.overdue);
        let (mut missing, fragments) = self.all_missing(now, overdue);
        if missing.is_empty() && self.needs_preemptive_base() {
            missing = SequenceSet::new(SequenceNumber::ZERO);
        }
        if is_time || !self.is_missing_something() {
            self.plan_retry(now);
        }
        self.acknowledgements = self.acknowledgements.wrapping_add(1);
        self.acknowledged_before = self.acknowledged_before.max(missing.base);
        let asks = core::mem::take(&mut self.position.wants_heartbeat);
        let (count, is_final) = (self.acknowledgements, self.has_first_heartbeat && !asks);
        let nack = fragments.map(|(number, missing)| NackFrag { reader, writer, number, missing, count });
        Some((AckNack { reader, writer, missing, count, is_final }, nack))
    }

    /// Returns whether a request for the first heartbeat has base 0, which is not a number of a sample: a writer of Fast
    /// DDS whose samples are all acknowledged answers no other one. Other vendors ignore an invalid base.
    fn needs_preemptive_base(&self) -> bool {
        !self.has_first_heartbeat && self.spec.guid.prefix.is_of(VendorId::FAST_DDS)
    }

    /// Returns the completely missing samples that were not requested or are overdue, as many as a set holds, and the
    /// fragments of the first incomplete sample that were not requested. Records them as requested.
    fn all_missing(
        &mut self,
        now: Instant,
        overdue: Option<SequenceNumber>,
    ) -> (SequenceSet, Option<(SequenceNumber, FragmentSet)>) {
        let mut missing = SequenceSet::new(self.acknowledgeable());
        if let Some(skipped) = self.position.ask_for_gap(missing.base) {
            let _ = (skipped.start.0..skipped.end.0).all(|number| missing.insert(SequenceNumber(number)));
        }
        let mut fragments = None;
        let Retry { mut up_to, mut timing, .. } = self.retry;
        let in_flight = overdue.unwrap_or(SequenceNumber::ZERO).next()..=up_to;
        let is_known = (self.has_first_heartbeat || !self.held.is_empty()) && !self.position.is_contested();
        let end = self.end_of_capacity();
        for number in self.missing_from(self.next).take_while(|number| is_known && *number < end) {
            match self.fragments.missing(number, overdue.is_some()) {
                Some(of_it) if fragments.is_none() => fragments = Some((number, of_it)),
                _ if self.fragments.has_begun(number) || in_flight.contains(&number) => {}
                _ if missing.insert(number) => timing.note_requested(now, number),
                _ => break,
            }
            up_to = up_to.max(number);
        }
        (self.retry.up_to, self.retry.timing) = (up_to, timing);
        if let Some((number, of_it)) = &fragments {
            self.fragments.note_requested(*number, of_it);
        }
        (missing, fragments)
    }

    fn plan_retry(&mut self, now: Instant) {
        if self.has_first_heartbeat && !self.is_missing_something() {
            return self.retry.stop();
        }
        let doublings = self.retry.unanswered.saturating_sub(BACKOFF_AFTER_TRIES).min(8);
        let is_mute = !self.has_first_heartbeat && self.retry.unanswered >= FIRST_HEARTBEAT_TRIES;
        let pause = (self.retry.timing.pause() * (1 << doublings)).min(LONGEST);
        self.retry.at = Some(now + if is_mute { FIRST_HEARTBEAT_PAUSE } else { pause });
        self.retry.overdue = self.retry.up_to;
    }

    /// Requests unrequested missing samples immediately, except fragments that may be in flight. The search begins after
    /// the range already searched: thousands may be held, and every datagram causes a search.
    pub(super) fn note_missing(&mut self) {
        if !self.has_first_heartbeat {
            return;
        }
        if self.fragments.take_forgotten() {
            self.retry.searched_up_to = SequenceNumber::ZERO;
        }
        let first_unrequested = self.retry.up_to.max(self.retry.searched_up_to).next().max(self.next);
        let number = self.missing_from(first_unrequested).find(|number| !self.fragments.has_begun(*number));
        self.retry.searched_up_to = number.map_or(self.last, SequenceNumber::previous);
        // Samples that exceeded the capacity are requested when there is some, or after a while.
        let may_ask = |number: SequenceNumber| !self.is_full && number.distance_from(self.next) < BITS;
        self.owes_answer |= self.fragments.take_passed() | number.is_some_and(may_ask);
    }

    /// Records that a received sample exceeded the capacity and is missing again.
    pub(super) fn note_dropped(&mut self, number: SequenceNumber) {
        self.is_full = true;
        self.retry.searched_up_to = self.retry.searched_up_to.min(number.previous());
        self.retry.up_to = self.retry.up_to.min(number.previous());
    }

    /// Records that samples went to the user: there may be capacity for unrequested ones.
    pub(super) fn note_capacity(&mut self) {
        self.owes_answer |= core::mem::take(&mut self.is_full) && self.is_missing_something();
    }

    /// Returns the end of the samples that there is capacity for. Without capacity it is only the next one: later ones
    /// would be discarded, and would take capacity from other writers.
    fn end_of_capacity(&self) -> SequenceNumber {
        if self.is_full { self.next.next() } else { GREATEST }
    }

    /// Records that a sample arrived that may have been requested.
    pub(super) fn note_repaired(&mut self, now: Instant, number: SequenceNumber) {
        self.retry.timing.note_arrival(now, number);
        self.retry.note_progress();
    }

    /// Returns whether many requests in a row were not answered. Some writers send HEARTBEATs only at long intervals.
    pub(super) fn is_unanswered(&self) -> bool {
        let tries = if self.has_first_heartbeat { SKIP_AFTER_TRIES } else { FIRST_HEARTBEAT_TRIES };
        self.retry.unanswered >= tries
    }

    /// Returns whether the writer has a sample that has not arrived.
    pub(super) fn is_missing_something(&self) -> bool {
        self.spec.reliable && self.has_first_heartbeat && self.first_missing().is_some()
    }

    fn first_missing(&self) -> Option<SequenceNumber> {
        self.missing_from(self.next).next()
    }

    /// Returns the missing samples, in order.
    pub(super) fn missing_from(&self, start: SequenceNumber) -> impl Iterator<Item = SequenceNumber> {
        // Thousands may be held, which must not be looked up one by one.
        let mut number = start.max(self.complete_up_to.next());
        let mut held = self.held.range(number..).map(|(held, _)| *held).peekable();
        core::iter::from_fn(move || {
            while number <= self.last && number < GREATEST {
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

    /// Extends the range without missing samples.
    pub(super) fn extend_whole(&mut self) {
        self.complete_up_to = self.complete_up_to.max(self.next.previous());
        while self.complete_up_to < GREATEST {
            let after = self.complete_up_to.next();
            if self.held.contains_key(&after) {
                self.complete_up_to = after;
            } else if let Some(end) = self.end_of_gap(after) {
                self.complete_up_to = end.previous();
            } else {
                return;
            }
        }
    }
}
