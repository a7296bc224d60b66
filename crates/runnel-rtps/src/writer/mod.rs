//! A writer: the samples it holds, and how far each of its readers is.

mod composing;
mod keeping;
mod left;
mod pacer;
mod promises;
mod proxy;
mod reader_set;
mod update;
mod user;

pub use pacer::Rate;
pub(crate) use promises::SHORTEST_PERIOD;
pub(crate) use proxy::{Filled, Gate, ReaderProxy, ReaderSpec};
pub(crate) use update::Change;
pub use update::WriterUpdate;
pub use user::{Suspended, UserWriter};

use crate::history::History;
use crate::lend::Lend;
use crate::wire::{AckNack, EntityId, Guid, GuidPrefix, NackFrag, SequenceNumber, Timestamp};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
pub(crate) use composing::Composed;
use core::net::SocketAddr;
use left::LeftReaders;
use reader_set::ReaderSet;
use runnel_core::qos::{Durability, QoS};
use runnel_core::time::Instant;

/// A writer of ours.
#[derive(Debug)]
pub(crate) struct Writer<B> {
    pub id: EntityId,
    pub qos: QoS,
    /// How many samples a writer holds that keeps all, and of how many bytes before another one has to wait.
    limit: usize,
    limit_bytes: usize,
    history: History<B>,
    readers: ReaderSet,
    left: LeftReaders,
    /// How often readers have been joined or left.
    changes: u32,
    /// Whose turn it is to be sent to.
    turn: usize,
    heartbeats: u32,
    /// Samples that made room for others before every reader had acknowledged them.
    overwritten: u64,
    /// How many samples it holds beyond what it may, since readers were in the midst of them.
    held_over: usize,
    /// Its samples that tell of what is gone.
    gone: VecDeque<SequenceNumber>,
    /// Somebody may come back who had heard of things and does not know that they are gone.
    awaits_return: bool,
}

/// A writer that keeps all holds as many samples as it may, since a reader has not acknowledged them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The reader that is furthest behind.
    pub reader: Guid,
}

impl<B: Lend> Writer<B> {
    pub fn new(id: EntityId, qos: QoS, limit: usize) -> Self {
        Self {
            id,
            qos,
            limit: limit.max(1),
            limit_bytes: usize::MAX,
            history: History::new(),
            readers: ReaderSet::default(),
            left: LeftReaders::default(),
            changes: 0,
            turn: 0,
            heartbeats: 0,
            overwritten: 0,
            held_over: 0,
            gone: VecDeque::new(),
            awaits_return: false,
        }
    }

    /// If it keeps all, it holds no more bytes than these and a sample more.
    #[must_use]
    pub fn within(self, limit_bytes: usize) -> Self {
        Self { limit_bytes: limit_bytes.max(1), ..self }
    }

    pub fn history(&self) -> &History<B> {
        &self.history
    }

    /// The number of the next heartbeat: none is 0, which some readers take for one that they have had.
    pub fn next_heartbeat(&mut self) -> u32 {
        self.heartbeats = self.heartbeats.wrapping_add(1);
        self.heartbeats
    }

    pub fn readers(&self) -> &ReaderSet {
        &self.readers
    }

    pub fn changes(&self) -> u32 {
        self.changes
    }

    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }

    fn is_latching(&self) -> bool {
        self.qos.durability == Durability::TransientLocal
    }

    /// Joins a reader, who is told what it has missed if both want that; one that is joined already is as it was, but may be
    /// reached elsewhere.
    pub fn join(&mut self, spec: ReaderSpec) {
        if let Some(reader) = self.readers.get_mut(spec.guid) {
            if reader.address() != spec.address {
                reader.move_to(spec.address);
            }
            return;
        }
        if let Some(reader) = self.left.take(&spec) {
            self.readers.insert(reader);
            self.changes = self.changes.wrapping_add(1);
            return;
        }
        let latching = self.is_latching() && spec.wants_earlier;
        let start = match latching {
            // It waits for the first of all.
            _ if spec.plain.is_some() => SequenceNumber::FIRST,
            true => self.history.first_of_last(self.most()),
            false => self.history.last().next(),
        };
        self.readers.insert(ReaderProxy::new(spec, start, self.history.last()));
        self.changes = self.changes.wrapping_add(1);
    }

    /// Leaves a reader. True if it was joined.
    pub fn leave(&mut self, reader: Guid) -> bool {
        let left = self.readers.remove(reader);
        self.note_left(left)
    }

    /// A reader that was left does not go on where it was.
    pub fn forget_left(&mut self, reader: Guid) {
        self.left.forget(reader);
    }

    /// Leaves all readers of a participant.
    pub fn leave_all(&mut self, prefix: GuidPrefix) {
        let left = self.readers.remove_all(prefix);
        self.note_left(left);
    }

    fn note_left(&mut self, left: impl IntoIterator<Item = ReaderProxy>) -> bool {
        let (is_user, mut any) = (!self.id.is_builtin(), false);
        for proxy in left {
            any = true;
            if is_user {
                self.left.put(proxy);
            }
        }
        if any {
            self.changes = self.changes.wrapping_add(1);
            self.trim();
        }
        any
    }

    /// The readers of a participant are reached elsewhere.
    pub fn move_readers(&mut self, prefix: GuidPrefix, address: impl Fn(Guid) -> SocketAddr) {
        self.readers.of_mut(prefix).for_each(|reader| reader.move_to(address(reader.guid())));
    }

    /// Takes a sample in. Gives back one that made room, or this one if nobody is concerned.
    ///
    /// # Errors
    /// When [`Writer::full`] says so.
    pub fn write(&mut self, now: Instant, stamp: Timestamp, payload: B) -> Result<Option<B>, Full> {
        if self.left.expire(now, self.history.last().next()) {
            self.trim();
        }
        let is_awaited = !self.left.is_empty();
        if !self.is_latching() && !is_awaited && self.readers.iter().all(ReaderProxy::is_passed_over) {
            self.history.pass();
            return Ok(Some(payload));
        }
        if let Some(full) = self.full() {
            return Err(full);
        }
        self.history.push(payload, stamp, now);
        Ok(self.make_room())
    }

    /// What is written from now on reaches a reader by an alternate path. Gives the first sample that is not known to have
    /// arrived from here, and the first for that path.
    pub fn suspend(&mut self, reader: Guid) -> Option<(SequenceNumber, SequenceNumber)> {
        let next = self.history.last().next();
        let proxy = self.readers.get_mut(reader)?;
        let first_unacknowledged = proxy.first_unacknowledged().min(next);
        proxy.suspend(next);
        self.trim();
        Some((first_unacknowledged, next))
    }

    /// What a reader is not known to have of what is to reach it from here, as far as it is held.
    pub fn unacknowledged_of(&self, reader: Guid) -> impl Iterator<Item = (SequenceNumber, &B)> {
        let due = self.readers.get(reader).and_then(|proxy| proxy.unacknowledged(&self.history));
        let mut next = due.as_ref().map(|due| *due.start());
        core::iter::from_fn(move || {
            let change = self.history.at_or_after(next?)?;
            next = Some(change.number.next());
            due.as_ref()
                .is_some_and(|due| due.contains(&change.number))
                .then_some((change.number, &change.payload))
        })
    }

    /// A reader gets nothing until it is resumed.
    pub fn hold(&mut self, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.hold();
            self.trim();
        }
    }

    /// The alternate path has ended; these samples did not arrive by it.
    pub fn resume(
        &mut self,
        (now, stamp): (Instant, Timestamp),
        reader: Guid,
        from: SequenceNumber,
        samples: impl Iterator<Item = (SequenceNumber, Instant, B)>,
    ) {
        let Some(proxy) = self.readers.get_mut(reader) else { return };
        proxy.resume(now, from);
        samples.for_each(|(number, at, payload)| self.history.restore(number, payload, stamp, at));
    }

    /// Takes a sample in that replaces all that tell of the same thing.
    pub fn write_keyed(&mut self, now: Instant, stamp: Timestamp, payload: B, key: Guid, gone: bool) {
        self.history.retain(|change| change.key != Some(key));
        let change = self.history.push(payload, stamp, now);
        (change.key, change.gone) = (Some(key), gone);
        if gone {
            self.gone.push_back(change.number);
            self.trim();
        }
    }

    /// Somebody may come back who had heard of things, or nobody any more: what tells that they are gone is held for long only
    /// if so.
    pub fn await_return(&mut self, awaits: bool) {
        self.awaits_return = awaits;
        self.trim();
    }

    /// A reader tells what it has and misses. True if there is something to be sent.
    pub fn acknowledge(&mut self, now: Instant, reader: Guid, ack: &AckNack) -> bool {
        let Some(proxy) = self.readers.get_mut(reader) else { return false };
        let Some(ack) = proxy.in_own_numbers(ack) else { return !ack.is_final };
        let wants = proxy.acknowledge(now, &ack, &self.history);
        self.trim();
        wants
    }

    /// How often it was corrected what was believed of a reader, since this was last asked.
    pub fn take_corrections(&mut self, reader: Guid) -> u32 {
        let proxy = self.readers.get_mut(reader);
        proxy.map_or(0, ReaderProxy::take_corrections)
    }

    /// A reader tells which fragments it misses. True if there is something to be sent.
    pub fn nack_fragments(&mut self, now: Instant, reader: Guid, nack: &NackFrag) -> bool {
        let proxy = self.readers.get_mut(reader);
        proxy.is_some_and(|proxy| proxy.nack_fragments(now, nack))
    }

    /// A reader is reached elsewhere.
    pub fn move_reader(&mut self, reader: Guid, address: SocketAddr) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.move_to(address);
        }
    }

    /// Asks a reader that owes an acknowledgement, if that is due.
    pub fn remind(&mut self, now: Instant, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.remind(now);
        }
    }

    /// Asks a reader what it has, whether or not it owes an acknowledgement.
    pub fn ask_again(&mut self, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.ask_again();
        }
    }

    /// When to ask a reader that owes an acknowledgement.
    pub fn timeout_of(&self, reader: Guid) -> Option<Instant> {
        self.readers.get(reader)?.reminder()
    }

    /// Whether the readers of a participant are sent samples from now on. True if there are any.
    pub fn set_gate(&mut self, now: Instant, prefix: GuidPrefix, gate: Gate) -> bool {
        let mut any = false;
        for proxy in self.readers.of_mut(prefix) {
            proxy.set_gate(now, gate);
            any = true;
        }
        if any {
            self.trim();
        }
        any
    }

    /// Its timer has gone off: asks readers that owe an acknowledgement, and lets go of what is held for those that were left.
    /// True if there is something to be sent.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.left.expire(now, self.history.last()) {
            self.trim();
        }
        self.readers.iter_mut().fold(false, |any, reader| reader.remind(now) | any)
    }

    /// When to ask readers that owe an acknowledgement, or to let go of what is held for those that were left.
    pub fn timeout(&self) -> Option<Instant> {
        let left = self.left.timeout(self.history.last());
        self.readers.iter().filter_map(ReaderProxy::reminder).chain(left).min()
    }

    /// Has every reader told that the writer's user says that it lives.
    pub fn assert_liveliness(&mut self) {
        self.readers.iter_mut().for_each(ReaderProxy::assert_liveliness);
    }

    /// The readers that have yet to acknowledge samples, or to be sent them, and how many.
    pub fn owing(&self) -> Vec<(Guid, u32)> {
        let count = |reader: &ReaderProxy| self.history.last().distance_from(reader.done());
        let owing = self.readers.iter().map(|reader| (reader.guid(), count(reader)));
        owing.filter(|(_, count)| *count > 0).collect()
    }

    /// How many samples some reader has yet to acknowledge, or to be sent.
    pub fn unacknowledged(&self) -> u32 {
        let furthest = self.readers.iter().map(ReaderProxy::done).min();
        furthest.map_or(0, |done| self.history.last().distance_from(done))
    }
}
