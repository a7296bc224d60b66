//! How far a reader is with one of its writers.

mod answer;
mod arrival;
mod gaps;
mod jump;
mod position;
mod recent;
#[cfg(test)]
mod tests;
mod timing;

pub(crate) use arrival::{Arrival, copied};

use super::budget::{Budgets, Claim};
use super::fragments::{Complete, Fragments};
use crate::count::Latest;
use crate::wire::{Guid, SequenceNumber, VendorId};
use alloc::collections::BTreeMap;
use answer::Retry;
use core::net::SocketAddr;
use core::time::Duration;
use jump::Jump;
use position::Position;
use runnel_core::time::Instant;

/// Of a sample that is wanted some fragments come more often than this: they are asked for again before.
const STANDSTILL: Duration = Duration::from_secs(3);

/// A writer to be joined to a reader.
#[derive(Clone, Debug)]
pub(crate) struct WriterSpec {
    pub guid: Guid,
    /// Where acknowledgements go.
    pub address: SocketAddr,
    pub reliable: bool,
    /// The longest sample that is put together, and how many bytes may wait for it or behind one that is missing.
    pub most_bytes: usize,
    /// And how many of all writers together.
    pub budgets: Budgets,
}

/// A writer of a reader.
#[derive(Debug)]
pub(crate) struct WriterProxy {
    spec: WriterSpec,
    /// The next sample to be delivered.
    next: SequenceNumber,
    /// What was the next sample when the writer was left, if it was.
    had: Option<SequenceNumber>,
    /// The writer has said what it has, so `next` is known to be the next.
    greeted: bool,
    /// The last sample that the writer is known to have.
    last: SequenceNumber,
    held: BTreeMap<SequenceNumber, Held>,
    held_bytes: usize,
    /// A sample that came early found no room, and there is none yet.
    is_full: bool,
    /// Samples have come by an alternate path: the position is ahead of what the network shows.
    has_alternate_path: bool,
    /// Up to here nothing is missing: it is held, or will not come.
    whole: SequenceNumber,
    /// Samples ahead that will not come, from the first to before the last.
    gaps: BTreeMap<SequenceNumber, SequenceNumber>,
    fragments: Fragments,
    heartbeats: Latest,
    fragment_heartbeats: Latest,
    acknowledgements: u32,
    lost: u64,
    /// What was lost before this number has been counted.
    lost_before: SequenceNumber,
    /// The writer is to be told what came and what is missing.
    owes_answer: bool,
    retry: Retry,
    position: Position,
    /// It stands in line to answer.
    pub queued: bool,
}

/// A sample that waits for those before it.
#[derive(Debug)]
struct Held {
    sample: Complete,
    _claim: Claim,
}

/// What is remembered of a writer that was left: it may come back with the numbers that it had, and may have noticed nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub writer: Guid,
    /// What was the next sample to be delivered. What discovery told is forgotten, and to be told again.
    next: Option<SequenceNumber>,
    /// How that was reached, if that is in doubt.
    jump: Option<Jump>,
    /// How it counted its heartbeats.
    heartbeats: Latest,
    /// It takes no acknowledgement with a count that it has had.
    pub acknowledgements: u32,
}

impl Left {
    /// Samples from `from` to before `to` have come by an alternate path.
    pub fn note_received(&mut self, from: SequenceNumber, to: SequenceNumber) {
        if self.next.is_some_and(|next| from <= next) {
            self.next = self.next.map(|next| next.max(to));
            self.jump = None;
        }
    }
}

impl WriterProxy {
    pub fn new(spec: WriterSpec) -> Self {
        let reliable = spec.reliable;
        let nothing = SequenceNumber::ZERO;
        Self {
            spec,
            next: SequenceNumber::FIRST,
            had: None,
            greeted: !reliable,
            last: nothing,
            held: BTreeMap::new(),
            held_bytes: 0,
            is_full: false,
            has_alternate_path: false,
            whole: nothing,
            gaps: BTreeMap::new(),
            fragments: Fragments::default(),
            heartbeats: Latest::default(),
            fragment_heartbeats: Latest::default(),
            acknowledgements: 0,
            lost: 0,
            lost_before: nothing,
            owes_answer: reliable,
            retry: Retry::new(),
            position: Position::default(),
            queued: false,
        }
    }

    /// A writer that was left, and may not know that it was.
    pub fn found_again(spec: WriterSpec, left: Left) -> Self {
        let Left { next, jump, heartbeats, acknowledgements, .. } = left;
        let mut proxy = Self { had: next, heartbeats, acknowledgements, ..Self::new(spec) };
        proxy.position.resume(jump);
        if proxy.is_named_once() && !proxy.spec.reliable {
            proxy.next = proxy.had.unwrap_or(proxy.next);
        }
        proxy
    }

    /// True for writers of ours: their names are random, and none comes back as another. Those of others may be made of what
    /// is the same after a restart.
    fn is_named_once(&self) -> bool {
        self.spec.guid.prefix.is_of(VendorId::RUNNEL)
    }

    /// The last sample that the writer has announced or sent.
    pub fn last_announced(&self) -> SequenceNumber {
        self.last
    }

    /// A writer that may have been left and forgotten, and may not know that: its acknowledgements begin behind this count.
    pub fn new_behind(spec: WriterSpec, acknowledgements: u32) -> Self {
        Self { acknowledgements, ..Self::new(spec) }
    }

    /// True if it has said what it has, now or before it was left.
    pub fn is_worth_remembering(&self) -> bool {
        self.greeted && self.spec.reliable || self.had.is_some() || self.last > SequenceNumber::ZERO
    }

    /// What is to be remembered of it when it is left.
    pub fn left(&self) -> Left {
        let is_user = !self.spec.guid.entity.is_builtin();
        Left {
            writer: self.spec.guid,
            // One that has said nothing since it was found again had what it had before.
            next: if self.greeted { is_user.then_some(self.next) } else { self.had },
            jump: self.position.jump_to_resume().filter(|_| is_user),
            heartbeats: self.heartbeats,
            acknowledgements: self.acknowledgements,
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
        core::mem::take(&mut self.lost) + self.position.take_lost()
    }

    /// True if an answer is due.
    pub fn wants_answer(&self) -> bool {
        self.owes_answer
    }

    /// True if the writer has said what it has, and all of that has come.
    pub fn has_all(&self) -> bool {
        self.greeted && !self.is_missing_something()
    }

    /// True if fragments are the first of their sample, and there is no room for that as long as others have theirs.
    pub fn lacks_room(&self, number: SequenceNumber, len: usize) -> bool {
        !self.spec.budgets.incomplete.has(len)
            && !self.fragments.has_begun(number)
            && len <= self.spec.most_bytes
    }

    /// How many bytes its incomplete samples take.
    pub fn incomplete_bytes(&self) -> usize {
        self.fragments.bytes()
    }

    /// True if it has incomplete samples of which nothing has come for a while.
    pub fn has_stalled(&self, now: Instant) -> bool {
        self.fragments.last_came().is_some_and(|came| came + STANDSTILL <= now)
    }

    /// What is incomplete makes room for what others send; it is asked for again.
    pub fn forget_incomplete(&mut self) {
        self.fragments.forget_all();
    }

    /// When it does something by itself.
    pub fn timeout(&self) -> Option<Instant> {
        self.retry.at.into_iter().chain(self.position.probe_at).min()
    }

    /// True if what is lost is sent again.
    pub fn is_reliable(&self) -> bool {
        self.spec.reliable
    }

    /// The sample to be delivered next, if that is known.
    pub fn due(&self) -> Option<SequenceNumber> {
        self.greeted.then_some(self.next)
    }

    /// The number before which nothing is delivered any more, whatever comes.
    pub fn passed_before(&self) -> Option<SequenceNumber> {
        self.greeted.then(|| self.acknowledgeable())
    }

    /// The writer is to be told how far the reader is, which it waits for.
    pub fn tell_progress(&mut self) {
        self.owes_answer |= self.spec.reliable;
    }
}
