//! Writers: the history of samples, and the progress of each matched reader.

mod addressed;
mod composing;
mod keeping;
mod pacer;
mod promises;
mod proxy;
mod reader_set;
mod unmatched_readers;
mod update;
mod user;

use addressed::Addressing;
pub use addressed::NotSent;
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
use core::ops::RangeInclusive;
use reader_set::ReaderSet;
use runnel_core::qos::{Durability, QoS};
use runnel_core::time::Instant;
use unmatched_readers::UnmatchedReaders;

/// A local writer.
#[derive(Debug)]
pub(crate) struct Writer<B> {
    pub id: EntityId,
    pub qos: QoS,
    /// Maximum number of samples of a keep-all writer, and maximum bytes before the next write has to wait.
    limit: usize,
    limit_bytes: usize,
    history: History<B>,
    readers: ReaderSet,
    unmatched: UnmatchedReaders,
    /// Index of the reader that is served next.
    turn: usize,
    heartbeats: u32,
    /// Number of samples that were displaced before every reader had acknowledged them.
    overwritten: u64,
    /// Number of samples beyond the limit, held because readers are receiving their fragments.
    held_over: usize,
    /// Numbers of dispose samples.
    disposed: VecDeque<SequenceNumber>,
    /// A reader may return that knows instances and has missed their disposal.
    keeps_disposals: bool,
    /// If samples are for one reader each.
    addressing: Option<Addressing>,
}

/// A keep-all writer is full: a reader has not acknowledged its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// The slowest reader.
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
            unmatched: UnmatchedReaders::default(),
            turn: 0,
            heartbeats: 0,
            overwritten: 0,
            held_over: 0,
            disposed: VecDeque::new(),
            keeps_disposals: false,
            addressing: None,
        }
    }

    /// Makes it a writer whose samples are for one reader each ([`Writer::write_to`]).
    #[must_use]
    pub fn addressed(self) -> Self {
        Self { history: History::addressed(), addressing: Some(Addressing::default()), ..self }
    }

    /// Limits the bytes that a keep-all writer holds, plus one sample.
    #[must_use]
    pub fn with_byte_limit(self, limit_bytes: usize) -> Self {
        Self { limit_bytes: limit_bytes.max(1), ..self }
    }

    pub fn history(&self) -> &History<B> {
        &self.history
    }

    /// Returns the count of the next heartbeat. It is never 0, which some readers treat as already received.
    pub fn next_heartbeat(&mut self) -> u32 {
        self.heartbeats = self.heartbeats.wrapping_add(1);
        self.heartbeats
    }

    pub fn readers(&self) -> &ReaderSet {
        &self.readers
    }

    pub fn overwritten(&self) -> u64 {
        self.overwritten
    }

    fn is_latching(&self) -> bool {
        self.qos.durability == Durability::TransientLocal
    }

    /// Matches a reader, which receives earlier samples if both have that durability. A reader that is already matched
    /// keeps its state, but may have a new address.
    pub fn match_reader(&mut self, spec: ReaderSpec) {
        let guid = spec.guid;
        if let Some(reader) = self.readers.get_mut(spec.guid) {
            if reader.address() != spec.address {
                reader.move_to(spec.address);
            }
            return self.note_changed(guid);
        }
        let reader = self.unmatched.take(&spec).unwrap_or_else(|| self.new_reader(spec));
        self.readers.insert(reader);
        self.note_changed(guid);
    }

    fn new_reader(&self, spec: ReaderSpec) -> ReaderProxy {
        let latching = self.is_latching() && spec.wants_history;
        let start = match latching {
            // It waits for sample 1.
            _ if spec.plain.is_some() => SequenceNumber::FIRST,
            true => self.history.first_of_newest(self.max_samples()),
            false => self.history.last().next(),
        };
        let siblings = self.readers.of_participant(spec.guid.prefix);
        let slowest = siblings.filter(|other| other.is_reliable()).min_by_key(|other| other.acked());
        match slowest.filter(|_| !latching && spec.reliable && spec.shares_reorder_buffer) {
            Some(sibling) => ReaderProxy::with_progress_of(spec, sibling),
            None => ReaderProxy::new(spec, start, self.history.last()),
        }
    }

    /// Forgets the position of an unmatched reader.
    pub fn forget_unmatched(&mut self, reader: Guid) {
        self.unmatched.forget(reader);
    }

    /// Unmatches the readers in a range.
    pub fn unmatch_readers(&mut self, readers: RangeInclusive<Guid>) {
        let unmatched = self.readers.remove_range(readers);
        if unmatched.is_empty() {
            return;
        }
        if self.addressing.is_some() {
            let guids: Vec<Guid> = unmatched.iter().map(ReaderProxy::guid).collect();
            self.note_unmatched(&guids);
        }
        if !self.id.is_builtin() {
            unmatched.into_iter().for_each(|reader| self.unmatched.put(reader));
        }
        self.trim();
    }

    /// Sets new addresses for the readers of a participant.
    pub fn move_readers(&mut self, prefix: GuidPrefix, address: impl Fn(Guid) -> SocketAddr) {
        self.readers.of_participant_mut(prefix).for_each(|reader| reader.move_to(address(reader.guid())));
        self.note_participant_changed(prefix);
    }

    /// Adds a sample. Returns a displaced one, or this one if no reader needs it.
    ///
    /// # Errors
    /// The writer is full ([`Writer::full`]).
    pub fn write(&mut self, now: Instant, stamp: Timestamp, payload: B) -> Result<Option<B>, Full> {
        if self.needs_samples(now)
            && let Some(full) = self.full()
        {
            return Err(full);
        }
        Ok(self.write_admitted(now, stamp, payload))
    }

    /// As [`Writer::write`], even if the writer is full: the caller has checked that before. An acknowledgement may have
    /// made it full since, if it holds more samples than its limit because an alternate path has returned some.
    pub fn write_admitted(&mut self, now: Instant, stamp: Timestamp, payload: B) -> Option<B> {
        debug_assert!(self.addressing.is_none(), "its samples are for one reader each");
        if !self.needs_samples(now) {
            self.history.skip_number();
            return Some(payload);
        }
        self.history.push(payload, stamp, now);
        self.displace_excess()
    }

    /// Adds a sample for readers that match later, as if it had been written before those of now were matched. A reader
    /// that lacks earlier samples gets it, too. Returns a displaced sample, or this one if no reader will need it.
    pub fn write_for_late(&mut self, now: Instant, stamp: Timestamp, payload: B) -> Option<B> {
        if !self.is_latching() {
            return Some(payload);
        }
        let number = self.history.push(payload, stamp, now).number;
        self.readers.iter_mut().for_each(|reader| reader.pass_over(number));
        self.displace_excess()
    }

    /// Returns whether a reader needs new samples, now or later.
    fn needs_samples(&mut self, now: Instant) -> bool {
        if self.unmatched.expire(now, self.history.last().next()) {
            self.trim();
        }
        let is_awaited = !self.unmatched.is_empty();
        self.is_latching() || is_awaited || !self.readers.iter().all(ReaderProxy::is_passed_over)
    }

    /// Suspends a reader: an alternate path carries later samples. Returns the first sample that is not known to have
    /// arrived, and the first of the alternate path.
    pub fn suspend(&mut self, reader: Guid) -> Option<(SequenceNumber, SequenceNumber)> {
        let next = self.history.last().next();
        let proxy = self.readers.get_mut(reader)?;
        let first_unacknowledged = proxy.first_unacknowledged().min(next);
        proxy.suspend(next);
        self.note_changed(reader);
        self.trim_for(reader);
        Some((first_unacknowledged, next))
    }

    /// Returns the held samples that a reader is due by RTPS and has not acknowledged.
    pub fn unacknowledged_of(&self, reader: Guid) -> impl Iterator<Item = (SequenceNumber, &B)> {
        let due = self.readers.get(reader).and_then(|proxy| proxy.unacknowledged(&self.history));
        let mut next = due.as_ref().map(|due| *due.start());
        core::iter::from_fn(move || {
            let change = self.history.next_for(&(reader..=reader), next?)?;
            next = Some(change.number.next());
            due.as_ref()
                .is_some_and(|due| due.contains(&change.number))
                .then_some((change.number, &change.payload))
        })
    }

    /// Sends a reader nothing until it is resumed.
    pub fn hold(&mut self, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.hold();
            self.note_changed(reader);
            self.trim_for(reader);
        }
    }

    /// Resumes a reader after its alternate path has ended; `samples` did not arrive there.
    pub fn resume(
        &mut self,
        (now, stamp): (Instant, Timestamp),
        reader: Guid,
        from: SequenceNumber,
        samples: impl Iterator<Item = (SequenceNumber, Instant, B)>,
    ) {
        let Some(proxy) = self.readers.get_mut(reader) else { return };
        proxy.resume(now, from);
        for (number, at, payload) in samples {
            self.history.restore((number, payload), stamp, at, reader);
        }
        self.note_changed(reader);
    }

    /// Adds a sample that replaces earlier ones of the same instance.
    pub fn write_keyed(&mut self, now: Instant, stamp: Timestamp, payload: B, key: Guid, disposed: bool) {
        self.history.retain(|change| change.key != Some(key));
        let change = self.history.push(payload, stamp, now);
        (change.key, change.disposed) = (Some(key), disposed);
        if disposed {
            self.disposed.push_back(change.number);
            self.trim();
        }
    }

    /// Sets whether readers may return that know disposed instances: only then dispose samples are held for long.
    pub fn keep_disposals(&mut self, awaits: bool) {
        self.keeps_disposals = awaits;
        self.trim();
    }

    /// Handles an ACKNACK. Returns whether something is to be sent.
    pub fn acknowledge(&mut self, now: Instant, reader: Guid, ack: &AckNack) -> bool {
        let Some(proxy) = self.readers.get_mut(reader) else { return false };
        let Some(ack) = proxy.own_acknowledgement(ack) else {
            self.note_changed(reader);
            return !ack.is_final;
        };
        let wants = proxy.acknowledge(now, &ack, &self.history);
        self.note_changed(reader);
        self.trim_for(reader);
        wants
    }

    /// Returns and clears the number of corrections of a reader's state.
    pub fn take_corrections(&mut self, reader: Guid) -> u32 {
        let proxy = self.readers.get_mut(reader);
        proxy.map_or(0, ReaderProxy::take_corrections)
    }

    /// Handles a NACK_FRAG. Returns whether something is to be sent.
    pub fn nack_fragments(&mut self, now: Instant, reader: Guid, nack: &NackFrag) -> bool {
        let proxy = self.readers.get_mut(reader);
        let wants = proxy.is_some_and(|proxy| proxy.nack_fragments(now, nack));
        self.note_changed(reader);
        wants
    }

    /// Sets a new address for a reader.
    pub fn move_reader(&mut self, reader: Guid, address: SocketAddr) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.move_to(address);
            self.note_changed(reader);
        }
    }

    /// Requests an acknowledgement that a reader owes, if due.
    pub fn remind(&mut self, now: Instant, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.remind(now);
            self.note_changed(reader);
        }
    }

    /// Requests an acknowledgement from a reader, whether or not it owes one.
    pub fn request_again(&mut self, reader: Guid) {
        if let Some(proxy) = self.readers.get_mut(reader) {
            proxy.request_again();
            self.note_changed(reader);
        }
    }

    /// Returns when to request an acknowledgement that a reader owes.
    pub fn timeout_of(&self, reader: Guid) -> Option<Instant> {
        self.readers.get(reader)?.reminder()
    }

    /// Sets whether the readers of a participant are sent samples. Returns whether there are any.
    pub fn set_gate(&mut self, now: Instant, prefix: GuidPrefix, gate: Gate) -> bool {
        let mut any = false;
        for proxy in self.readers.of_participant_mut(prefix) {
            proxy.set_gate(now, gate);
            any = true;
        }
        if any {
            self.note_participant_changed(prefix);
            self.trim();
        }
        any
    }

    /// Handles the timer: requests owed acknowledgements, and removes samples that were held for unmatched readers.
    /// Returns whether something is to be sent.
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        if self.unmatched.expire(now, self.history.last()) {
            self.trim();
        }
        if self.addressing.is_some() {
            return self.remind_addressees(now);
        }
        self.readers.iter_mut().fold(false, |any, reader| reader.remind(now) | any)
    }

    /// Returns when [`Writer::handle_timeout`] is due.
    pub fn timeout(&self) -> Option<Instant> {
        let unmatched = self.unmatched.timeout(self.history.last());
        if self.addressing.is_some() {
            return self.addressee_timeout().into_iter().chain(unmatched).min();
        }
        self.readers.iter().filter_map(ReaderProxy::reminder).chain(unmatched).min()
    }

    /// Schedules a liveliness heartbeat to every reader.
    pub fn assert_liveliness(&mut self) {
        self.readers.iter_mut().for_each(ReaderProxy::assert_liveliness);
        let readers: Vec<Guid> = self.readers.iter().map(ReaderProxy::guid).collect();
        readers.into_iter().for_each(|reader| self.note_changed(reader));
    }

    /// Returns the readers with unacknowledged or unsent samples, and the number of those.
    pub fn unacknowledged_by_reader(&self) -> Vec<(Guid, u32)> {
        if self.addressing.is_some() {
            return self
                .unacknowledged_by_addressee()
                .map(|(reader, count)| (reader, count as u32))
                .collect();
        }
        let count = |reader: &ReaderProxy| self.history.last().distance_from(reader.done());
        let unacknowledged_by_reader = self.readers.iter().map(|reader| (reader.guid(), count(reader)));
        unacknowledged_by_reader.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the greatest number of samples that a reader has not acknowledged or been sent.
    pub fn unacknowledged(&self) -> u32 {
        if self.history.is_addressed() {
            return self.unacknowledged_by_addressees() as u32;
        }
        let furthest = self.readers.iter().map(ReaderProxy::done).min();
        furthest.map_or(0, |done| self.history.last().distance_from(done))
    }
}
