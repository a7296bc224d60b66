//! How far a reader is with one of its writers.

use super::fragments::{Complete, Fragments};
use crate::wire::{
    AckNack, DataFrag, EntityId, Gap, Guid, Heartbeat, HeartbeatFrag, NackFrag, SequenceNumber, SequenceSet,
    Timestamp,
};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// How many samples are held that came before one that is missing.
const MOST_HELD: usize = 4096;

/// How many ranges of samples that will not come are remembered ahead.
const MOST_GAPS: usize = 256;

/// How long a repair may take until it is asked for again: at least, and at most.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_millis(500);

/// After so many tries in vain the pauses grow.
const PATIENT_TRIES: u32 = 8;

/// How often a writer is asked what it has until it says so.
const GREETINGS: u32 = 20;

/// A writer to be joined to a reader.
#[derive(Clone, Debug)]
pub(crate) struct WriterSpec {
    pub guid: Guid,
    /// Where acknowledgements go.
    pub address: SocketAddr,
    pub reliable: bool,
    /// The longest sample that is put together, and how many bytes may wait for it or behind one that is missing.
    pub most_bytes: usize,
}

/// A writer of a reader.
#[derive(Debug)]
pub(crate) struct WriterProxy {
    spec: WriterSpec,
    /// The next sample to be delivered.
    next: SequenceNumber,
    /// The writer has said what it has, so `next` is known to be the next.
    greeted: bool,
    /// The last sample that the writer is known to have.
    last: SequenceNumber,
    held: BTreeMap<SequenceNumber, Complete>,
    held_bytes: usize,
    /// Up to here nothing is missing: it is held, or will not come.
    whole: SequenceNumber,
    /// Samples ahead that will not come, from the first to before the last.
    gaps: BTreeMap<SequenceNumber, SequenceNumber>,
    fragments: Fragments,
    heartbeats: Option<u32>,
    fragment_heartbeats: Option<u32>,
    acknowledgements: u32,
    lost: u64,
    /// An answer is due.
    answer: Option<Answer>,
    retry: Retry,
    /// When fragments came last.
    fragments_came: Instant,
    /// It stands in line to answer.
    pub queued: bool,
    /// When its timer goes off next.
    pub armed: Option<Instant>,
}

/// Why the writer is to be told what came and what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It wants to know.
    Asked,
    /// Something is missing.
    Missing,
}

/// When what is missing is asked for again.
#[derive(Clone, Copy, Debug)]
struct Retry {
    at: Option<Instant>,
    tries: u32,
    /// What was asked for last, up to here, and when.
    up_to: SequenceNumber,
    asked: Instant,
    /// How long a repair takes, as far as is known.
    takes: Duration,
}

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
    pub fn new(spec: WriterSpec) -> Self {
        let reliable = spec.reliable;
        let nothing = SequenceNumber::ZERO;
        Self {
            spec,
            next: SequenceNumber::FIRST,
            greeted: !reliable,
            last: nothing,
            held: BTreeMap::new(),
            held_bytes: 0,
            whole: nothing,
            gaps: BTreeMap::new(),
            fragments: Fragments::default(),
            heartbeats: None,
            fragment_heartbeats: None,
            acknowledgements: 0,
            lost: 0,
            answer: reliable.then_some(Answer::Asked),
            retry: Retry { at: None, tries: 0, up_to: nothing, asked: Instant(0), takes: SHORTEST_RETRY },
            fragments_came: Instant(0),
            queued: false,
            armed: None,
        }
    }

    pub fn guid(&self) -> Guid {
        self.spec.guid
    }

    pub fn address(&self) -> SocketAddr {
        self.spec.address
    }

    pub fn move_to(&mut self, address: SocketAddr) {
        self.spec.address = address;
    }

    /// Samples that the writer does not have any more and the reader never got, since this was last asked.
    pub fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    /// True if an answer is due.
    pub fn wants_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// True if the writer has said what it has, and all of that has come.
    pub fn has_all(&self) -> bool {
        self.greeted && !self.is_missing_something()
    }

    /// When it does something by itself.
    pub fn timeout(&self) -> Option<Instant> {
        self.retry.at
    }

    /// A whole sample has come: what is to be done with it, given whether the reader's user has room for it. If not, it
    /// is held and not acknowledged, unless the writer sends each sample once.
    pub fn arrive(&mut self, now: Instant, number: SequenceNumber, has_room: bool) -> Arrival {
        if !self.spec.reliable {
            return self.arrive_once(number);
        }
        self.last = self.last.max(number);
        if number < self.next || self.held.contains_key(&number) || self.is_gap(number) {
            return Arrival::Late;
        }
        self.fragments.forget(number);
        if !self.greeted || number > self.next {
            if number > self.whole.next() {
                self.note_missing();
            }
            return Arrival::Early;
        }
        if !has_room {
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

    /// The sample to be delivered next, if that is known.
    pub fn due(&self) -> Option<SequenceNumber> {
        self.greeted.then_some(self.next)
    }

    /// What is missing before a sample is not waited for any longer, and lost.
    pub fn give_up_before(&mut self, number: SequenceNumber) {
        self.greeted = true;
        self.lose_before(number);
    }

    /// Samples of a range were dropped by their writer, and are lost.
    pub fn leave_out(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let start = start.max(self.next);
        // One whose samples come once shows it by its numbers.
        if !self.spec.reliable || start >= end {
            return;
        }
        self.lost += u64::from(end.distance_from(start)) - self.gaps_within(start, end);
        self.add_gap(start, end);
        if self.greeted {
            self.advance_to(self.next);
        }
    }

    /// A sample that has come finds no room, and is lost.
    pub fn give_up(&mut self, number: SequenceNumber) {
        self.lost += 1;
        self.add_gap(number, number.next());
    }

    /// The user has had all before `next`, whatever has come here.
    pub fn pass_over(&mut self, next: SequenceNumber) {
        (self.greeted, self.last) = (true, self.last.max(next.previous()));
        self.advance_to(next);
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

    /// Holds a sample that came early. False if there is no room for it: it will be asked for again.
    pub fn hold(&mut self, number: SequenceNumber, sample: Complete) -> bool {
        if self.held.len() >= MOST_HELD || self.held_bytes + sample.bytes.len() > self.spec.most_bytes {
            return false;
        }
        self.held_bytes += sample.bytes.len();
        self.held.insert(number, sample);
        self.extend_whole();
        true
    }

    /// What follows what is whole may be there by now.
    fn extend_whole(&mut self) {
        self.whole = self.whole.max(self.next.previous());
        loop {
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

    /// The sample that was held and is the next now.
    pub fn take_held(&mut self, now: Instant) -> Option<(SequenceNumber, Complete)> {
        if !self.greeted {
            return None;
        }
        let sample = self.held.remove(&self.next)?;
        self.held_bytes -= sample.bytes.len();
        let number = self.next;
        self.note_repaired(now, number);
        self.advance_to(number.next());
        Some((number, sample))
    }

    /// The writer is to be told how far the reader is, which it waits for.
    pub fn tell_progress(&mut self) {
        self.answer = self.answer.or(self.spec.reliable.then_some(Answer::Asked));
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
        if known || len > self.spec.most_bytes {
            return None;
        }
        if self.spec.reliable {
            self.last = self.last.max(number);
        } else {
            self.lost += u64::from(self.fragments.forget_oldest(number));
        }
        if !self.fragments.has_begun(number) && self.fragments.bytes() + len > self.spec.most_bytes {
            return None;
        }
        self.fragments_came = now;
        let whole = self.fragments.take(frag, stamp);
        if self.spec.reliable && whole.is_none() {
            self.note_missing();
            self.retry.at = self.retry.at.or(Some(now + self.retry.takes));
        }
        whole
    }

    /// The writer tells what it has.
    pub fn heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        if !self.spec.reliable || !is_newer(&mut self.heartbeats, heartbeat.count) {
            return;
        }
        if !self.greeted {
            self.greeted = true;
            self.advance_to(heartbeat.first.max(self.next));
        } else if heartbeat.first > self.next {
            self.lose_before(heartbeat.first);
        }
        self.last = self.last.max(heartbeat.last);
        self.note_missing();
        if !heartbeat.is_final {
            self.answer = self.answer.or(Some(Answer::Asked));
        }
        if self.is_missing_something() && self.retry.at.is_none_or(|at| at <= now) {
            self.answer = Some(Answer::Missing);
        }
    }

    /// The writer tells which fragments of a sample it has sent.
    pub fn heartbeat_fragments(&mut self, heartbeat: &HeartbeatFrag) {
        if !self.spec.reliable || !is_newer(&mut self.fragment_heartbeats, heartbeat.count) {
            return;
        }
        if heartbeat.number >= self.next {
            self.last = self.last.max(heartbeat.number);
            self.fragments.know(heartbeat.number, heartbeat.last_fragment);
            self.note_missing();
        }
    }

    /// The writer tells that samples will not come.
    pub fn gap(&mut self, gap: &Gap) {
        if !self.spec.reliable {
            return;
        }
        self.greeted |= gap.start <= self.next;
        self.add_gap(gap.start, gap.list.base);
        gap.list.iter().for_each(|number| self.add_gap(number, number.next()));
        // The writer has written all of these.
        let range = (gap.start < gap.list.base).then(|| gap.list.base.previous());
        let last = gap.list.iter().last().or(range);
        self.last = last.map_or(self.last, |last| self.last.max(last));
        if self.greeted {
            self.advance_to(self.next);
        }
    }

    /// Those of a range that are not held will not come.
    fn add_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let mut start = start.max(self.next);
        while let Some(held) = self.held.range(start.min(end)..end).next().map(|(held, _)| *held) {
            self.add_empty_gap(start, held);
            start = held.next();
        }
        self.add_empty_gap(start, end);
    }

    /// Of a range nothing is held, and nothing will come.
    fn add_empty_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        if end <= self.next || start >= end {
            return;
        }
        if self.gaps.len() >= MOST_GAPS {
            // It is asked for, and told of again.
            return self.last = self.last.max(end.previous());
        }
        let known = self.gaps.entry(start).or_insert(end);
        *known = (*known).max(end);
    }

    fn is_gap(&self, number: SequenceNumber) -> bool {
        self.end_of_gap(number).is_some()
    }

    /// Where those end that will not come, if this is one of them.
    fn end_of_gap(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        let (_, end) = self.gaps.range(..=number).next_back()?;
        (number < *end).then_some(*end)
    }

    /// What is before `number` is done with, and what follows it and will not come.
    fn advance_to(&mut self, number: SequenceNumber) {
        self.next = self.next.max(number);
        while let Some((start, end)) = self.gaps.first_key_value().map(|(start, end)| (*start, *end)) {
            if start > self.next {
                break;
            }
            self.gaps.pop_first();
            self.next = self.next.max(end);
        }
        self.fragments.forget_before(self.next);
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() < self.next) {
            self.held_bytes -= entry.remove().bytes.len();
        }
        if !self.is_missing_something() {
            (self.retry.at, self.retry.tries) = (None, 0);
        }
    }

    /// The writer does not have what is before `first` any more. What is held of it stays deliverable.
    fn lose_before(&mut self, first: SequenceNumber) {
        let mut number = self.next;
        while let Some((held, _)) = self.held.range(number..first).next() {
            let held = *held;
            self.lost += u64::from(held.distance_from(number)) - self.gaps_within(number, held);
            self.add_gap(number, held);
            number = held.next();
        }
        self.lost += u64::from(first.distance_from(number)) - self.gaps_within(number, first);
        self.add_gap(number, first);
        self.advance_to(self.next);
    }

    /// How many samples of a range will not come and are known not to.
    fn gaps_within(&self, start: SequenceNumber, end: SequenceNumber) -> u64 {
        let overlap = |(from, to): (&SequenceNumber, &SequenceNumber)| {
            u64::from((*to).min(end).distance_from((*from).max(start)))
        };
        let known: u64 = self.gaps.iter().map(overlap).sum();
        known.min(u64::from(end.distance_from(start)))
    }

    /// True if the writer has something that has not come.
    fn is_missing_something(&self) -> bool {
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
            while number <= self.last {
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

    /// What is missing and has not been asked for is asked for at once, but for fragments that may be under way.
    fn note_missing(&mut self) {
        let unasked = self.retry.up_to.next().max(self.next);
        let away = |number| !self.fragments.has_begun(number);
        if self.greeted && self.missing_from(unasked).any(away) {
            self.answer = Some(Answer::Missing);
        }
    }

    /// A sample that was asked for has come: so long does that take.
    fn note_repaired(&mut self, now: Instant, number: SequenceNumber) {
        if number <= self.retry.up_to && self.retry.tries == 1 {
            let took = now.since(self.retry.asked);
            self.retry.takes =
                ((self.retry.takes * 3 + took * 3 / 2) / 4).clamp(SHORTEST_RETRY, LONGEST_RETRY);
        }
        self.retry.tries = self.retry.tries.min(1);
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
                (self.retry.at, self.answer) = (None, Some(Answer::Missing));
            }
            None if !self.greeted && self.retry.tries < GREETINGS => {
                (self.retry.at, self.answer) = (None, Some(Answer::Missing));
            }
            None => self.retry.at = None,
        }
        self.wants_answer()
    }

    /// The answer that is due: an acknowledgement, and what fragments are missing. A writer that sends without having
    /// said what it has is asked for all before that, since some tell only then that it will not come.
    pub fn answer(&mut self, now: Instant, reader: EntityId) -> Option<(AckNack, Option<NackFrag>)> {
        self.answer.take()?;
        let writer = self.spec.guid.entity;
        let mut missing = SequenceSet::new(self.next);
        let mut nack = None;
        let mut up_to = self.retry.up_to;
        if self.greeted || !self.held.is_empty() {
            for number in self.missing_from(self.next) {
                match self.fragments.missing(number) {
                    Some(fragments) if nack.is_none() => nack = Some((number, fragments)),
                    _ if self.fragments.has_begun(number) => {}
                    _ if missing.insert(number) => {}
                    _ => break,
                }
                up_to = up_to.max(number);
            }
        }
        self.retry.up_to = up_to;
        self.plan_retry(now);
        self.acknowledgements = self.acknowledgements.wrapping_add(1);
        let count = self.acknowledgements;
        let is_final = self.greeted;
        let nack = nack.map(|(number, missing)| NackFrag { reader, writer, number, missing, count });
        Some((AckNack { reader, writer, missing, count, is_final }, nack))
    }

    fn plan_retry(&mut self, now: Instant) {
        if self.greeted && !self.is_missing_something() {
            return (self.retry.at, self.retry.tries) = (None, 0);
        }
        let doublings = self.retry.tries.saturating_sub(PATIENT_TRIES).min(8);
        let pause = (self.retry.takes * (1 << doublings)).min(LONGEST_RETRY);
        self.retry.tries = self.retry.tries.saturating_add(1);
        (self.retry.at, self.retry.asked) = (Some(now + pause), now);
    }
}

/// True if a count is the first or later than the last; counts run over.
fn is_newer(last: &mut Option<u32>, count: u32) -> bool {
    let newer = last.is_none_or(|last| count.wrapping_sub(last).cast_signed() > 0);
    if newer {
        *last = Some(count);
    }
    newer
}

/// A sample that is held as it lies in a datagram.
pub(crate) fn copied(bytes: &[u8], stamp: Option<Timestamp>, is_key: bool) -> Complete {
    Complete { bytes: Vec::from(bytes), stamp, is_key }
}
