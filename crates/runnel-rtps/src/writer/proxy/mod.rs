//! Reader proxy: the progress of one matched reader of a writer.

mod acknowledgement;
mod flight;
mod fragments;
mod fresh;
mod gate;
mod heartbeats;
mod holes;
mod plain;
mod redundancy;
mod repairs;
mod requested_fragments;
mod shared_progress;
mod spec;
mod suspension;
#[cfg(test)]
mod tests;

use super::pacer::{Pacer, Rate};
use crate::count::LatestCount;
use crate::datagram::Datagram;
use crate::history::{Change, History};
use crate::inline_qos;
use crate::lend::Lend;
use crate::wire::{EntityId, Guid, SequenceNumber};
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use flight::Flight;
pub(crate) use gate::Gate;
use requested_fragments::RequestedFragments;
use runnel_core::sorted::SortedSet;
use runnel_core::time::Instant;
pub(crate) use spec::ReaderSpec;
#[cfg(test)]
pub(in crate::writer) use tests::FILLS;

/// First delay until an owed acknowledgement is requested.
const FIRST_REMINDER: Duration = Duration::from_millis(10);

/// Longest delay.
const LONGEST_REMINDER: Duration = Duration::from_secs(1);

/// Matched reader of a writer.
#[derive(Clone, Debug)]
pub(crate) struct ReaderProxy {
    spec: ReaderSpec,
    /// The first sample that is relevant to it.
    start: SequenceNumber,
    /// The last sample that was written before it was matched.
    matched_at: SequenceNumber,
    /// The next sample and fragment to send.
    next: SequenceNumber,
    fragment: u32,
    /// It has acknowledged all samples up to here.
    acked: SequenceNumber,
    /// It begins only with a heartbeat of its own, and is not known to have received one.
    awaits_own_heartbeat: bool,
    /// It is known to have received a heartbeat. Cyclone DDS begins after the first one, and would lose what that
    /// announces.
    has_begun: bool,
    /// It has acknowledged all samples up to here twice.
    confirmed: SequenceNumber,
    /// When to request an acknowledgement, after it contradicted its state.
    probe_at: Option<Instant>,
    corrections: u32,
    /// An alternate path carries samples from this one on.
    until: Option<SequenceNumber>,
    /// It is sent nothing until it is resumed.
    is_held: bool,
    requested: SortedSet<SequenceNumber>,
    requested_fragments: RequestedFragments,
    /// Number of fragments sent since its last request.
    fragments_sent: u32,
    acknowledgements: LatestCount,
    nacks: LatestCount,
    /// A heartbeat is due.
    heartbeat: bool,
    /// A liveliness heartbeat is due.
    liveliness: bool,
    flight: Flight,
    /// When it was last sent something, and the delay until an acknowledgement is requested.
    since: Instant,
    reminder_delay: Duration,
    pacer: Pacer,
}

/// Result of filling a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    Something,
    Nothing,
    /// Fragments wait until this time.
    NotBefore(Instant),
}

impl ReaderProxy {
    pub(super) fn new(spec: ReaderSpec, start: SequenceNumber, matched_at: SequenceNumber) -> Self {
        Self {
            start,
            matched_at,
            next: start,
            fragment: 1,
            acked: start.previous(),
            awaits_own_heartbeat: spec.begins_with_own_heartbeat(),
            has_begun: !spec.shares_reorder_buffer,
            confirmed: start.previous(),
            probe_at: None,
            corrections: 0,
            until: None,
            is_held: false,
            requested: SortedSet::new(),
            requested_fragments: RequestedFragments::default(),
            fragments_sent: 0,
            acknowledgements: LatestCount::default(),
            nacks: LatestCount::default(),
            heartbeat: spec.reliable,
            liveliness: false,
            flight: Flight::default(),
            since: Instant(0),
            reminder_delay: FIRST_REMINDER,
            pacer: Pacer::new(spec.rate),
            spec,
        }
    }

    pub fn guid(&self) -> Guid {
        self.spec.guid
    }

    pub fn address(&self) -> SocketAddr {
        self.spec.address
    }

    pub(super) fn move_to(&mut self, address: SocketAddr) {
        self.spec.address = address;
        self.heartbeat |= self.spec.reliable;
    }

    pub fn is_reliable(&self) -> bool {
        self.spec.reliable
    }

    /// The last sample is irrelevant to it, if it has all before.
    pub(super) fn pass_over(&mut self, last: SequenceNumber) {
        if self.until.is_none() && self.first_unacknowledged() == last {
            (self.start, self.next, self.fragment) = (last.next(), last.next(), 1);
            (self.acked, self.confirmed, self.matched_at) = (last, last, last);
            self.heartbeat |= self.spec.reliable;
        }
    }

    /// Returns the last sample up to which it has acknowledged all.
    pub fn acked(&self) -> SequenceNumber {
        self.acked
    }

    /// Returns the last sample up to which nothing must be held for it.
    pub fn done(&self) -> SequenceNumber {
        let done = if self.spec.reliable { self.acked } else { self.next.previous() };
        match self.until {
            _ if self.spec.gate == Gate::Closed => SequenceNumber(i64::MAX),
            Some(until) if done.next() >= until => SequenceNumber(i64::MAX),
            _ => done,
        }
    }

    /// Returns the first sample that is not known to have arrived; best effort sends each only once.
    pub(super) fn first_unacknowledged(&self) -> SequenceNumber {
        if self.spec.reliable { self.acked.next().max(self.start) } else { self.next }
    }

    /// Returns the due samples that a reliable reader has not acknowledged.
    pub(super) fn unacknowledged<B>(&self, history: &History<B>) -> Option<RangeInclusive<SequenceNumber>> {
        self.spec.reliable.then(|| self.first_unacknowledged()..=self.last_due(history))
    }

    /// Returns the last sample that RTPS is to deliver to it.
    fn last_due<B>(&self, history: &History<B>) -> SequenceNumber {
        self.until.map_or(history.last(), |until| until.previous().min(history.last()))
    }

    /// Returns whether it is due a sample and is not known to have it.
    pub(super) fn is_missing(&self, number: SequenceNumber) -> bool {
        number > self.done() && number >= self.start
    }

    /// Returns whether it has been sent only some fragments of a sample.
    pub(super) fn is_partly_sent(&self, number: SequenceNumber) -> bool {
        let is_repaired = self.requested_fragments.front().is_some_and(|(asked, _)| asked == number);
        self.next == number && self.fragment > 1 || is_repaired
    }

    fn has_unacknowledged(&self) -> bool {
        self.spec.reliable && self.acked < self.next.previous()
    }

    pub(super) fn assert_liveliness(&mut self) {
        self.liveliness = true;
    }

    /// Returns when to request an owed acknowledgement, or one after a contradiction.
    pub(super) fn reminder(&self) -> Option<Instant> {
        let is_asked = self.has_unacknowledged() && self.spec.gate == Gate::Open && !self.is_held;
        let owed = is_asked.then(|| self.since + self.reminder_delay);
        owed.into_iter().chain(self.probe_at).min()
    }

    /// Requests an acknowledgement if due.
    pub(super) fn remind(&mut self, now: Instant) -> bool {
        if self.reminder().is_none_or(|at| at > now) {
            return false;
        }
        self.probe_at = None;
        self.since = now;
        self.reminder_delay = (self.reminder_delay * 2).min(LONGEST_REMINDER);
        self.heartbeat = true;
        true
    }

    /// Matches an unmatched reader again with its former state.
    pub(super) fn rematch(&mut self, spec: ReaderSpec) {
        self.awaits_own_heartbeat = spec.begins_with_own_heartbeat();
        self.has_begun = !spec.shares_reorder_buffer;
        self.spec = spec;
        self.heartbeat = true;
    }

    /// Requests an owed acknowledgement along with new samples, and resets the delay. Otherwise a reader that was
    /// silent once would be asked at ever longer intervals.
    fn request_along(&mut self, now: Instant) {
        if self.since + FIRST_REMINDER <= now {
            (self.heartbeat, self.since, self.reminder_delay) = (true, now, FIRST_REMINDER);
        }
    }

    /// Appends the pending content for this reader to a datagram.
    pub(super) fn fill<B: Lend>(
        &mut self,
        now: Instant,
        ends: (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) -> Filled {
        if self.spec.gate != Gate::Open {
            return Filled::Nothing;
        }
        if self.is_held {
            return self.fill_held(ends, heartbeats, out);
        }
        #[cfg(test)]
        FILLS.with(|count| count.set(count.get() + 1));
        self.flight.begin();
        let owed = self.has_unacknowledged();
        self.skip_missing(history);
        if self.is_first_number_due(history, out) {
            self.fill_first_number(ends, history, heartbeats, out);
        }
        let empty = out.len();
        let mut not_before = self.fill_repairs(now, ends, history, out);
        if not_before.is_none() && !out.has_body() {
            let next = self.next;
            not_before = self.fill_fresh(now, ends, history, out);
            if owed && self.next > next {
                self.request_along(now);
            }
        }
        let has_content = out.len() > empty;
        if has_content && self.spec.reliable {
            self.flight.send(out.len());
        }
        if self.is_heartbeat_due(has_content, ends.1, history) || self.heartbeat && out.is_limited() {
            self.fill_heartbeat(now, ends, history, heartbeats, out);
        }
        if out.len() == empty {
            return not_before.map_or(Filled::Nothing, Filled::NotBefore);
        }
        if self.spec.reliable && !owed {
            self.since = now;
        }
        Filled::Something
    }

    /// Skips samples that the writer no longer holds.
    fn skip_missing<B>(&mut self, history: &History<B>) {
        let first = history.first().min(self.last_due(history).next());
        if self.next < first && self.spec.plain.is_none() && !history.is_addressed() {
            (self.next, self.fragment) = (first, 1);
            self.heartbeat |= self.spec.reliable;
        }
    }
}

/// Appends a whole sample, with the inline QoS that its reader expects, or the dispose flags.
fn put<B: Lend>(change: &Change<B>, ends: (EntityId, EntityId), spec: &ReaderSpec, out: &mut Datagram<B>) {
    out.stamp(change.stamp);
    let number = spec.numbered(change.number);
    match (&spec.plain, change.key) {
        (Some(addresses), _) => plain::put(change, ends, addresses, out),
        (None, Some(key)) if change.disposed => {
            out.data(ends, number, &inline_qos::disposed(key), &change.payload, true)
        }
        _ => out.data(ends, number, &spec.inline_qos_of(change), &change.payload, false),
    }
}
