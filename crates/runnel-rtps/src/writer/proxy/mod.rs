//! How far a reader of a writer is.

mod acknowledgement;
mod asked_fragments;
mod flight;
mod fragments;
mod fresh;
mod gate;
mod holes;
mod plain;
mod redundancy;
mod repairs;
#[cfg(test)]
mod tests;

use super::pacer::{Pacer, Rate};
use crate::count::Latest;
use crate::datagram::Datagram;
use crate::history::{Change, History};
use crate::inline_qos;
use crate::lend::Lend;
use crate::wire::{EntityId, Guid, Heartbeat, SequenceNumber};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use asked_fragments::AskedFragments;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use flight::{Flight, Last};
pub(crate) use gate::Gate;
use runnel_core::time::Instant;

/// How long a reader is waited for until it is asked, at first.
const FIRST_REMINDER: Duration = Duration::from_millis(10);

/// How long it is waited for at most.
const LONGEST_REMINDER: Duration = Duration::from_secs(1);

/// A reader to be joined to a writer.
#[derive(Clone, Debug)]
pub(crate) struct ReaderSpec {
    pub guid: Guid,
    pub address: SocketAddr,
    pub reliable: bool,
    /// It wants what was written before it came.
    pub wants_earlier: bool,
    /// The longest datagram that is sent to it.
    pub datagram: usize,
    /// How fast fragments are sent to it.
    pub rate: Rate,
    /// It asks for a lost repair again only after a long delay, so that each repair had better arrive.
    pub asks_slowly: bool,
    /// What each sample says of its writer to it: a parameter list, or nothing if it does not ask for that.
    pub inline_qos: Vec<u8>,
    /// Whether it is sent samples.
    pub gate: Gate,
    /// By how much the sequence numbers that it is told exceed the writer's own.
    pub number_offset: i64,
    /// It is told the first number before it is sent samples.
    pub needs_first_number: bool,
    /// Our addresses that it is told, if it is a reader of discovery that takes plain announcements alone.
    pub plain: Option<Vec<SocketAddr>>,
    /// It acknowledges each heartbeat and asks for another by that: one that has all is not told again.
    pub echoes: bool,
}

/// A reader of a writer.
#[derive(Clone, Debug)]
pub(crate) struct ReaderProxy {
    spec: ReaderSpec,
    /// The first sample that concerns it.
    start: SequenceNumber,
    /// The last sample that was written before it came.
    met_at: SequenceNumber,
    /// The sample to be sent to it next, and the fragment of it.
    next: SequenceNumber,
    fragment: u32,
    /// Up to here it has acknowledged all.
    acked: SequenceNumber,
    /// And up to here it has said so twice.
    confirmed: SequenceNumber,
    /// When it is asked, since it has contradicted what was believed of it.
    probe_at: Option<Instant>,
    corrections: u32,
    /// Samples from this one on reach it by another way.
    until: Option<SequenceNumber>,
    asked: BTreeSet<SequenceNumber>,
    fragments_asked: AskedFragments,
    /// How many fragments it was sent since it asked for some.
    fragments_sent: u32,
    acknowledgements: Latest,
    nacks: Latest,
    /// It must be told what there is.
    heartbeat: bool,
    /// It must be told that the writer's user says that it lives.
    liveliness: bool,
    flight: Flight,
    /// When it was sent something last, and how long it may take to acknowledge.
    since: Instant,
    patience: Duration,
    pacer: Pacer,
}

/// What came of filling a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    Something,
    Nothing,
    /// Fragments wait until then.
    NotBefore(Instant),
}

/// How far a reader is that leads others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lead {
    next: SequenceNumber,
    fragment: u32,
    pacer: Pacer,
    last: Last,
}

impl ReaderProxy {
    pub(super) fn new(spec: ReaderSpec, start: SequenceNumber, met_at: SequenceNumber) -> Self {
        Self {
            start,
            met_at,
            next: start,
            fragment: 1,
            acked: start.previous(),
            confirmed: start.previous(),
            probe_at: None,
            corrections: 0,
            until: None,
            asked: BTreeSet::new(),
            fragments_asked: AskedFragments::default(),
            fragments_sent: 0,
            acknowledgements: Latest::default(),
            nacks: Latest::default(),
            heartbeat: spec.reliable,
            liveliness: false,
            flight: Flight::default(),
            since: Instant(0),
            patience: FIRST_REMINDER,
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

    /// Up to here it has acknowledged all.
    pub fn acked(&self) -> SequenceNumber {
        self.acked
    }

    /// Up to here nothing has to be held for it.
    pub fn done(&self) -> SequenceNumber {
        let done = if self.spec.reliable { self.acked } else { self.next.previous() };
        match self.until {
            _ if self.spec.gate == Gate::Closed => SequenceNumber(i64::MAX),
            Some(until) if done.next() >= until => SequenceNumber(i64::MAX),
            _ => done,
        }
    }

    /// The first sample that is not known to have arrived: one of best effort gets each once.
    pub(super) fn first_unacknowledged(&self) -> SequenceNumber {
        if self.spec.reliable { self.acked.next().max(self.start) } else { self.next }
    }

    /// The samples that are to reach it from here and that a reliable one has not acknowledged.
    pub(super) fn unacknowledged<B>(&self, history: &History<B>) -> Option<RangeInclusive<SequenceNumber>> {
        self.spec.reliable.then(|| self.first_unacknowledged()..=self.last_due(history))
    }

    /// Samples from this one on reach it by an alternate path.
    pub(super) fn suspend(&mut self, from: SequenceNumber) {
        self.until = self.until.or(Some(from));
    }

    /// It gets nothing from here until it is resumed.
    pub(super) fn hold(&mut self) {
        let first = self.first_unacknowledged();
        self.until = Some(first);
        (self.next, self.fragment) = (self.next.max(first), 1);
        self.asked.clear();
        self.fragments_asked = AskedFragments::default();
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.until.is_some()
    }

    /// Samples reach it from here again, which has had all before `from` by another way, unless it still misses some that were
    /// written before it was suspended.
    pub(super) fn resume(&mut self, now: Instant, from: SequenceNumber) {
        let Some(until) = self.until.take() else { return };
        if self.next >= until {
            (self.next, self.fragment) = (from.max(until), 1);
        }
        if self.first_unacknowledged() >= until {
            // A late joiner that was held would ask for what is kept.
            self.start = self.start.max(from);
        }
        (self.heartbeat, self.since, self.patience) = (self.spec.reliable, now, FIRST_REMINDER);
    }

    /// The last sample that is to reach it from here.
    fn last_due<B>(&self, history: &History<B>) -> SequenceNumber {
        self.until.map_or(history.last(), |until| until.previous().min(history.last()))
    }

    /// True if it should get a sample and has not, as far as is known.
    pub(super) fn misses(&self, number: SequenceNumber) -> bool {
        number > self.done() && number >= self.start
    }

    /// True if it has been sent some fragments of a sample and waits for others.
    pub(super) fn is_amid(&self, number: SequenceNumber) -> bool {
        let is_repaired = self.fragments_asked.front().is_some_and(|(asked, _)| asked == number);
        self.next == number && self.fragment > 1 || is_repaired
    }

    fn owes_acknowledgement(&self) -> bool {
        self.spec.reliable && self.acked < self.next.previous()
    }

    /// True if what it is to be sent and told is what the other is to be. Where one came later that is so once the samples
    /// before are held no more: the first would give up what it misses of them if it were told what the other is.
    pub(super) fn is_level_with<B>(&self, other: &Self, history: &History<B>) -> bool {
        #[cfg(test)]
        tests::COMPARISONS.with(|count| count.set(count.get() + 1));
        let plain = |proxy: &Self| proxy.asked.is_empty() && proxy.fragments_asked.is_empty();
        // Some have a port for each reader, and only those who acknowledge are waited for.
        let way = |proxy: &Self| (proxy.spec.address, proxy.spec.reliable);
        way(self) == way(other)
            && self.spec.inline_qos == other.spec.inline_qos
            && (self.next, self.fragment, self.until) == (other.next, other.fragment, other.until)
            && self.first_told(history) == other.first_told(history)
            // A hole may be told as lost, and with it all that is before.
            && (self.acked == other.acked || history.get(self.next).is_some() || self.next > history.last())
            && plain(self)
            && plain(other)
    }

    /// How far it is after a datagram that was for others of its participant as well.
    pub(super) fn lead(&self) -> Lead {
        Lead { next: self.next, fragment: self.fragment, pacer: self.pacer, last: self.flight.last() }
    }

    /// What was sent to another reader of its participant has reached it as well: by the same socket, at the same pace.
    pub(super) fn follow(&mut self, now: Instant, leader: Lead) {
        if !self.owes_acknowledgement() {
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

    /// When it is asked for an acknowledgement that it owes, or what it has after it contradicted itself.
    pub(super) fn reminder(&self) -> Option<Instant> {
        let is_asked = self.owes_acknowledgement() && self.spec.gate == Gate::Open;
        let owed = is_asked.then(|| self.since + self.patience);
        owed.into_iter().chain(self.probe_at).min()
    }

    /// Asks it for an acknowledgement if that is due.
    pub(super) fn remind(&mut self, now: Instant) -> bool {
        if self.reminder().is_none_or(|at| at > now) {
            return false;
        }
        self.probe_at = None;
        self.since = now;
        self.patience = (self.patience * 2).min(LONGEST_REMINDER);
        self.heartbeat = true;
        true
    }

    /// It was left, and is joined again as it was.
    pub(super) fn join_again(&mut self, spec: ReaderSpec) {
        self.spec = spec;
        self.heartbeat = true;
    }

    /// Something new sets out: who has owed an acknowledgement for a while is asked for it along with that, and is waited for
    /// as if it had owed none. Else who was silent once would hear of what follows by ever rarer reminders.
    fn ask_along(&mut self, now: Instant) {
        if self.since + FIRST_REMINDER <= now {
            (self.heartbeat, self.since, self.patience) = (true, now, FIRST_REMINDER);
        }
    }

    /// Puts what it must get into a datagram that has been begun.
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
        self.flight.begin();
        let owed = self.owes_acknowledgement();
        self.skip_what_is_gone(history);
        if self.tells_first_number(history, out) {
            self.fill_first_number(ends, history, heartbeats, out);
        }
        let empty = out.len();
        let mut not_before = self.fill_repairs(now, ends, history, out);
        if not_before.is_none() && !out.has_body() {
            let next = self.next;
            not_before = self.fill_fresh(now, ends, history, out);
            if owed && self.next > next {
                self.ask_along(now);
            }
        }
        let brings = out.len() > empty;
        if brings && self.spec.reliable {
            self.flight.send(out.len());
        }
        if self.is_to_be_told(brings, ends.1, history) || self.heartbeat && out.is_limited() {
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

    /// True if it is told how much there is, along with samples if the datagram brings any.
    fn is_to_be_told<B>(&self, brings: bool, writer: EntityId, history: &History<B>) -> bool {
        let is_due = self.spec.reliable
            && (brings || self.heartbeat)
            && !self.is_amid_discovery(writer, history)
            && !self.is_amid_fragments_for_slow_reader(brings);
        is_due || self.liveliness
    }

    /// True while more of what its participant has follows at once: only at the end is it told how much there is, so that
    /// it knows all once it has that, and not before.
    fn is_amid_discovery<B>(&self, writer: EntityId, history: &History<B>) -> bool {
        let follows = self.next <= history.last() && !self.waits_for_room();
        writer.is_builtin() && follows && !self.flight.wants_probe()
    }

    /// True while more fragments of a sample, or more repairs, follow for a reader that asks slowly: a heartbeat before the
    /// last of them would have it ask for a part, and then not for the rest until its delay has passed. Not of the first
    /// sample: Cyclone DDS begins behind the first heartbeat that it receives, and the one before that sample may be lost.
    fn is_amid_fragments_for_slow_reader(&self, brings: bool) -> bool {
        let follows = self.fragment > 1 || !self.fragments_asked.is_empty();
        brings && self.spec.asks_slowly && follows && self.next > self.start
    }

    /// What the writer does not hold any more will not be sent.
    fn skip_what_is_gone<B>(&mut self, history: &History<B>) {
        let first = history.first().min(self.last_due(history).next());
        if self.next < first && self.spec.plain.is_none() {
            (self.next, self.fragment) = (first, 1);
            self.heartbeat |= self.spec.reliable;
        }
    }

    /// Tells what has been sent so far, and asks for an acknowledgement if one is needed.
    fn fill_heartbeat<B: Lend>(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) {
        // Fast DDS takes for a sign of life only what asks for nothing: what asks follows.
        let must_answer = !self.liveliness && (self.heartbeat || self.flight.wants_probe());
        if must_answer {
            self.flight.ask(now, self.next.previous());
        }
        *heartbeats = heartbeats.wrapping_add(1);
        let heartbeat = Heartbeat {
            reader,
            writer,
            first: self.numbered(self.first_told(history)),
            last: self.numbered(if writer.is_builtin() { history.last() } else { self.next.previous() }),
            count: *heartbeats,
            is_final: !must_answer,
            liveliness: self.liveliness,
        };
        heartbeat.emit(out.out());
        self.heartbeat &= self.liveliness;
        self.liveliness = false;
    }
}

/// Puts in a whole sample, with inline QoS if its reader asks for that and it does not tell that something is gone.
fn put<B: Lend>(change: &Change<B>, ends: (EntityId, EntityId), spec: &ReaderSpec, out: &mut Datagram<B>) {
    out.stamp(change.stamp);
    let number = spec.numbered(change.number);
    match (&spec.plain, change.key) {
        (Some(addresses), _) => plain::put(change, ends, addresses, out),
        (None, Some(key)) if change.gone => {
            out.data(ends, number, &inline_qos::gone(key), &change.payload, true)
        }
        _ => out.data(ends, number, &spec.inline_qos, &change.payload, false),
    }
}
