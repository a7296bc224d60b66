//! Reader proxy: the progress of one matched reader of a writer.

mod acknowledgement;
mod flight;
mod fragments;
mod fresh;
mod gate;
mod holes;
mod plain;
mod redundancy;
mod repairs;
mod requested_fragments;
#[cfg(test)]
mod tests;

use super::pacer::{Pacer, Rate};
use crate::count::LatestCount;
use crate::datagram::Datagram;
use crate::history::{Change, History};
use crate::inline_qos;
use crate::lend::Lend;
use crate::wire::{EntityId, Guid, Heartbeat, SequenceNumber, VendorId};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use flight::{Flight, Last};
pub(crate) use gate::Gate;
use requested_fragments::RequestedFragments;
use runnel_core::sorted::SortedSet;
use runnel_core::time::Instant;
#[cfg(test)]
pub(in crate::writer) use tests::FILLS;

/// First delay until an owed acknowledgement is requested.
const FIRST_REMINDER: Duration = Duration::from_millis(10);

/// Longest delay.
const LONGEST_REMINDER: Duration = Duration::from_secs(1);

/// Parameters of a reader to be matched.
#[derive(Clone, Debug)]
pub(crate) struct ReaderSpec {
    pub guid: Guid,
    pub address: SocketAddr,
    pub reliable: bool,
    /// Its durability requests earlier samples.
    pub wants_history: bool,
    /// Maximum datagram size.
    pub datagram: usize,
    /// Rate of fragments.
    pub rate: Rate,
    /// It repeats a request only after a long delay, so repairs are sent redundantly.
    pub requests_slowly: bool,
    /// All readers of its participant that receive no earlier samples have one reorder buffer for the writer, as in
    /// Cyclone DDS: a sample goes to all of them, and so does what HEARTBEATs and GAPs declare lost or irrelevant,
    /// whichever reader they name. A GAP must name one of them.
    pub shares_reorder_buffer: bool,
    /// Inline QoS of its samples: a parameter list, or empty unless it expects that.
    pub inline_qos: Vec<u8>,
    /// Whether it is sent samples.
    pub gate: Gate,
    /// Offset of its sequence numbers from the writer's own.
    pub number_offset: i64,
    /// It receives its first number before samples.
    pub needs_first_number: bool,
    /// Our addresses, if it is a discovery reader that understands only plain announcements.
    pub plain: Option<Vec<SocketAddr>>,
    /// It answers each heartbeat with a request for another: after complete acknowledgement it is not answered.
    pub echoes: bool,
}

impl ReaderSpec {
    /// Returns whether it ignores heartbeats to all readers until it has received one of its own, as Runnel's do.
    fn begins_with_own_heartbeat(&self) -> bool {
        let Guid { prefix, entity } = self.guid;
        self.reliable && prefix.is_of(VendorId::RUNNEL) && !entity.is_builtin()
    }

    /// Returns the readers whose samples it is sent, if samples are for one reader each.
    fn receives_samples_for(&self) -> RangeInclusive<Guid> {
        if self.shares_reorder_buffer { self.guid.prefix.endpoints() } else { self.guid..=self.guid }
    }

    /// Returns the inline QoS with which a sample is sent to it.
    fn inline_qos_of<'a, B>(&'a self, change: &'a Change<B>) -> Cow<'a, [u8]> {
        match (&*self.inline_qos, change.inline_qos()) {
            (expected, []) => Cow::Borrowed(expected),
            ([], own) => Cow::Borrowed(own),
            (expected, own) => Cow::Owned(inline_qos::joined(expected, own)),
        }
    }
}

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

/// Progress of a reader after a datagram that also serves other readers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    next: SequenceNumber,
    fragment: u32,
    pacer: Pacer,
    last: Last,
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

    /// Creates the proxy of a reader that shares the reorder buffer of another: it begins where the other one is.
    pub(super) fn beside(spec: ReaderSpec, sibling: &Self) -> Self {
        Self {
            next: sibling.next,
            fragment: sibling.fragment,
            has_begun: sibling.has_begun,
            ..Self::new(spec, sibling.first_unacknowledged(), sibling.matched_at)
        }
    }

    pub fn guid(&self) -> Guid {
        self.spec.guid
    }

    /// Returns whether the readers of its participant share a reorder buffer.
    pub(super) fn shares_reorder_buffer(&self) -> bool {
        self.spec.shares_reorder_buffer
    }

    /// Returns the readers whose samples it is sent, if samples are for one reader each.
    pub(super) fn receives_samples_for(&self) -> RangeInclusive<Guid> {
        self.spec.receives_samples_for()
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

    /// Suspends the reader: an alternate path carries samples from this one on.
    pub(super) fn suspend(&mut self, from: SequenceNumber) {
        self.until = self.until.or(Some(from));
    }

    /// Sends nothing until the reader is resumed.
    pub(super) fn hold(&mut self) {
        let first = self.first_unacknowledged();
        self.until = Some(first);
        (self.next, self.fragment) = (self.next.max(first), 1);
        self.requested.clear();
        self.requested_fragments = RequestedFragments::default();
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.until.is_some()
    }

    /// Resumes the reader, which has received all samples before `from` on another path, except missing ones from
    /// before the suspension.
    pub(super) fn resume(&mut self, now: Instant, from: SequenceNumber) {
        let Some(until) = self.until.take() else { return };
        if self.next >= until {
            (self.next, self.fragment) = (from.max(until), 1);
        }
        if self.first_unacknowledged() >= until {
            // A late joiner on hold would request kept samples.
            self.start = self.start.max(from);
        }
        (self.heartbeat, self.since, self.reminder_delay) = (self.spec.reliable, now, FIRST_REMINDER);
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

    /// Returns whether it is due the same samples and announcements as another reader. If one was matched later, that
    /// holds once earlier samples are no longer held: the other would give up missing ones if it received the later
    /// reader's announcements.
    pub(super) fn has_same_progress<B>(&self, other: &Self, history: &History<B>) -> bool {
        #[cfg(test)]
        tests::COMPARISONS.with(|count| count.set(count.get() + 1));
        let plain = |proxy: &Self| proxy.requested.is_empty() && proxy.requested_fragments.is_empty();
        // Some have a port for each reader, and only reliable readers delay progress.
        let route = |proxy: &Self| (proxy.spec.address, proxy.spec.reliable);
        route(self) == route(other)
            && self.spec.inline_qos == other.spec.inline_qos
            && (self.next, self.fragment, self.until) == (other.next, other.fragment, other.until)
            && (history.is_addressed() || self.has_same_losses(other, history))
            && plain(self)
            && plain(other)
            && !self.awaits_own_heartbeat
            && !other.awaits_own_heartbeat
    }

    /// Returns whether the same samples are announced as lost to it as to another reader: a hole may be, together with
    /// all earlier samples.
    fn has_same_losses<B>(&self, other: &Self, history: &History<B>) -> bool {
        self.first_announced(history) == other.first_announced(history)
            && (self.acked == other.acked || history.get(self.next).is_some() || self.next > history.last())
    }

    /// Returns its progress after a datagram that also serves other readers of its participant.
    pub(super) fn lead(&self) -> Lead {
        Lead { next: self.next, fragment: self.fragment, pacer: self.pacer, last: self.flight.last() }
    }

    /// Records that a datagram for another reader of its participant has reached it as well: by the same socket, at the
    /// same pace.
    pub(super) fn follow(&mut self, now: Instant, leader: Lead) {
        if !self.has_unacknowledged() {
            self.since = now;
        }
        (self.next, self.fragment, self.pacer) = (leader.next, leader.fragment, leader.pacer);
        if self.flight.follow(leader.last, now, self.next.previous()) {
            (self.heartbeat, self.since) = (false, now);
        }
    }

    pub(super) fn assert_liveliness(&mut self) {
        self.liveliness = true;
    }

    /// Returns when to request an owed acknowledgement, or one after a contradiction.
    pub(super) fn reminder(&self) -> Option<Instant> {
        let is_asked = self.has_unacknowledged() && self.spec.gate == Gate::Open;
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

    /// Returns whether to append a heartbeat, also with samples in this datagram.
    fn is_heartbeat_due<B>(&self, has_content: bool, writer: EntityId, history: &History<B>) -> bool {
        let is_due = self.spec.reliable
            && (has_content || self.heartbeat)
            && !self.has_more_discovery(writer, history)
            && !self.has_more_fragments_for_slow_reader(has_content);
        is_due || self.liveliness
    }

    /// Returns whether more discovery samples follow immediately: only the last datagram holds a heartbeat, so that the
    /// participant is complete when it has received that one, and not before.
    fn has_more_discovery<B>(&self, writer: EntityId, history: &History<B>) -> bool {
        let follows = self.next <= history.last() && !self.is_window_full();
        writer.is_builtin() && follows && !self.flight.is_probe_due()
    }

    /// Returns whether more fragments or repairs follow for a reader that asks slowly: an earlier heartbeat would make
    /// it request a part, and the rest only after its delay. Not for the first sample: Cyclone DDS begins after the
    /// first heartbeat that it receives, and the one before that sample may be lost.
    fn has_more_fragments_for_slow_reader(&self, has_content: bool) -> bool {
        let follows = self.fragment > 1 || !self.requested_fragments.is_empty();
        has_content && self.spec.requests_slowly && follows && self.next > self.start
    }

    /// Skips samples that the writer no longer holds.
    fn skip_missing<B>(&mut self, history: &History<B>) {
        let first = history.first().min(self.last_due(history).next());
        if self.next < first && self.spec.plain.is_none() && !history.is_addressed() {
            (self.next, self.fragment) = (first, 1);
            self.heartbeat |= self.spec.reliable;
        }
    }

    /// Appends a heartbeat, and requests an acknowledgement if one is needed.
    fn fill_heartbeat<B: Lend>(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) {
        // Fast DDS treats only a final heartbeat as a liveliness assertion: a request follows later.
        let has_begun = self.has_begun || !history.is_addressed();
        let is_asked = self.heartbeat || self.flight.is_probe_due() || !has_begun;
        let must_answer = !self.liveliness && is_asked;
        if must_answer {
            self.flight.ask(now, self.next.previous());
        }
        *heartbeats = heartbeats.wrapping_add(1);
        let heartbeat = Heartbeat {
            reader,
            writer,
            first: self.numbered(self.first_announced(history)),
            last: self.numbered(match has_begun {
                _ if writer.is_builtin() => history.last(),
                true => self.next.previous(),
                false => self.acked,
            }),
            count: *heartbeats,
            is_final: !must_answer,
            liveliness: self.liveliness,
        };
        heartbeat.emit(out.out());
        self.heartbeat &= self.liveliness;
        self.liveliness = false;
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
