//! Participant and its user writers under one owner, for single-threaded programs.

use crate::config::Config;
use crate::event::{Event, Sample, Transmit};
use crate::lend::Lend;
use crate::outgoing::Outgoing;
use crate::participant::{Audience, EndpointOptions, Participant};
use crate::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, SequenceNumber, Timestamp};
use crate::writer::{Full, NotSent, Suspended, UserWriter};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::ops::Deref;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

/// Participant with its user writers. Writer updates are applied immediately.
///
/// It dereferences to [`Participant`] for the getters.
#[derive(Debug)]
pub struct ParticipantWithWriters<P> {
    participant: Participant,
    writers: SortedMap<EntityId, UserWriter<P>>,
    /// The writer that sent last.
    turn: Option<EntityId>,
    /// Events of writers.
    events: VecDeque<Event>,
    out: Outgoing<Arc<[u8]>>,
    written: Outgoing<P>,
}

impl<P> Deref for ParticipantWithWriters<P> {
    type Target = Participant;

    fn deref(&self) -> &Participant {
        &self.participant
    }
}

impl<P: Lend> ParticipantWithWriters<P> {
    /// As [`Participant::new`].
    pub fn new(now: Instant, config: Config) -> Self {
        Self {
            participant: Participant::new(now, config),
            writers: SortedMap::new(),
            turn: None,
            events: VecDeque::new(),
            out: Outgoing::default(),
            written: Outgoing::default(),
        }
    }

    /// Runs an operation on the participant, and applies the resulting updates to the writers.
    fn work<T>(&mut self, now: Instant, work: impl FnOnce(&mut Participant) -> T) -> T {
        let done = work(&mut self.participant);
        while let Some(update) = self.participant.poll_writer_update() {
            let (id, acknowledged) = (update.writer(), update.acknowledged());
            let corrections = self.writers.get_mut(&id).map_or(0, |writer| writer.handle_update(now, update));
            if let Some(reader) = acknowledged {
                self.participant.reader_corrected(id, reader, corrections);
            }
        }
        done
    }

    /// As [`Participant::handle_datagram`].
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        self.work(now, |participant| participant.handle_datagram(now, from, datagram));
    }

    /// Handles due timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.work(now, |participant| participant.handle_timeout(now));
        for writer in self.writers.values_mut() {
            if writer.poll_timeout().is_some_and(|at| at <= now) {
                writer.handle_timeout(now);
                self.events.extend(core::iter::from_fn(|| writer.poll_event()));
            }
        }
    }

    /// Returns when [`ParticipantWithWriters::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let writers = self.writers.values().filter_map(UserWriter::poll_timeout);
        writers.chain(self.participant.poll_timeout()).min()
    }

    /// As [`Participant::poll_event`], with the events of writers.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.participant.poll_event().or_else(|| self.events.pop_front())
    }

    /// As [`Participant::poll_sample`].
    pub fn poll_sample(&mut self) -> Option<Sample> {
        self.participant.poll_sample()
    }

    /// Returns the next datagram to send: first those of writers, round-robin.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit<'_>> {
        if self.take_written(now) {
            return Some(self.written.transmit());
        }
        let any = self.participant.take_transmit(now, &mut self.out);
        any.then(|| self.out.transmit())
    }

    /// As [`ParticipantWithWriters::poll_transmit`], but only for writers.
    pub fn poll_user_transmit(&mut self, now: Instant) -> Option<Transmit<'_>> {
        self.take_written(now).then(|| self.written.transmit())
    }

    fn take_written(&mut self, now: Instant) -> bool {
        let Self { writers, turn, written, .. } = self;
        let (before, after): (Vec<_>, Vec<_>) = writers.iter_mut().partition(|(id, _)| Some(**id) <= *turn);
        let sends = after.into_iter().chain(before).find_map(|(id, writer)| {
            let sends = writer.take_transmit(now, written);
            sends.then_some(*id)
        });
        *turn = sends.or(*turn);
        sends.is_some()
    }

    /// As [`Participant::create_writer`].
    pub fn create_writer(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        let writer = self.participant.create_writer(now, stamp, options);
        self.add_writer(now, writer)
    }

    /// As [`Participant::create_addressed_writer`].
    pub fn create_addressed_writer(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
    ) -> EntityId {
        let writer = self.participant.create_addressed_writer(now, stamp, options);
        self.add_writer(now, writer)
    }

    /// As [`Participant::create_writer_for`].
    pub fn create_writer_for(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        options: EndpointOptions,
        audience: Audience,
    ) -> EntityId {
        let writer = self.participant.create_writer_for(now, stamp, options, audience);
        self.add_writer(now, writer)
    }

    fn add_writer(&mut self, now: Instant, writer: UserWriter<P>) -> EntityId {
        let id = writer.id();
        self.writers.insert(id, writer);
        self.work(now, |_| ());
        id
    }

    /// As [`Participant::create_reader`].
    pub fn create_reader(&mut self, now: Instant, stamp: Timestamp, options: EndpointOptions) -> EntityId {
        self.work(now, |participant| participant.create_reader(now, stamp, options))
    }

    /// As [`Participant::remove_endpoint`].
    pub fn remove_endpoint(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        self.writers.remove(&id);
        self.work(now, |participant| participant.remove_endpoint(now, stamp, id));
    }

    /// As [`Participant::close`].
    pub fn close(&mut self) {
        self.writers.clear();
        self.participant.close();
    }

    /// As [`Participant::set_addresses`].
    pub fn set_addresses(&mut self, now: Instant, unicast: Vec<SocketAddr>, own: Vec<IpAddr>) {
        self.work(now, |participant| participant.set_addresses(now, unicast, own));
    }

    /// As [`Participant::send_vendor_message`].
    pub fn send_vendor_message(&mut self, to: GuidPrefix, bytes: &[u8]) -> bool {
        self.participant.send_vendor_message(to, bytes)
    }
}

/// Methods of readers.
impl<P: Lend> ParticipantWithWriters<P> {
    /// As [`Participant::set_paused`].
    pub fn set_paused(&mut self, now: Instant, pair: (EntityId, Guid), is_paused: bool) {
        self.work(now, |participant| participant.set_paused(now, pair, is_paused));
    }

    /// As [`Participant::set_capacity`].
    pub fn set_capacity(&mut self, now: Instant, reader: EntityId, capacity: usize) {
        self.participant.set_capacity(now, reader, capacity);
    }

    /// As [`Participant::note_received`].
    pub fn note_received(
        &mut self,
        now: Instant,
        pair: (EntityId, Guid),
        from: SequenceNumber,
        to: SequenceNumber,
    ) {
        self.participant.note_received(now, pair, from, to);
    }

    /// As [`Participant::sample_passed`].
    pub fn sample_passed(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        self.participant.sample_passed(now, reader, writer);
    }
}

/// Methods of writers, by entity id. An unknown writer returns samples and is ignored otherwise.
impl<P: Lend> ParticipantWithWriters<P> {
    fn with_writer<T>(&self, writer: EntityId, look: impl FnOnce(&UserWriter<P>) -> T) -> Option<T> {
        self.writers.get(&writer).map(look)
    }

    /// As [`UserWriter::write`].
    ///
    /// # Errors
    /// The writer keeps all samples, and a reader does not keep pace.
    pub fn write(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        writer: EntityId,
        sample: P,
    ) -> Result<Option<P>, Full> {
        match self.writers.get_mut(&writer) {
            Some(writer) => writer.write(now, stamp, sample),
            None => Ok(Some(sample)),
        }
    }

    /// As [`UserWriter::write_to`].
    ///
    /// # Errors
    /// The reader is not matched, or the writer holds too many unacknowledged samples.
    pub fn write_to(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        writer: EntityId,
        (sample, to): (P, (Guid, Option<SampleIdentity>)),
    ) -> Result<SequenceNumber, NotSent> {
        let writer = self.writers.get_mut(&writer).ok_or(NotSent::Unmatched)?;
        writer.write_to(now, stamp, sample, to)
    }

    /// As [`UserWriter::unacknowledged_by`].
    pub fn unacknowledged_by(&self, writer: EntityId, reader: Guid) -> usize {
        self.with_writer(writer, |writer| writer.unacknowledged_by(reader)).unwrap_or_default()
    }

    /// As [`UserWriter::unacknowledged_by_addressees`].
    pub fn unacknowledged_by_addressees(&self, writer: EntityId) -> usize {
        self.with_writer(writer, UserWriter::unacknowledged_by_addressees).unwrap_or_default()
    }

    /// As [`UserWriter::full`].
    pub fn full(&self, writer: EntityId) -> Option<Full> {
        self.with_writer(writer, UserWriter::full)?
    }

    /// As [`UserWriter::unacknowledged`].
    pub fn unacknowledged(&self, writer: EntityId) -> u32 {
        self.with_writer(writer, UserWriter::unacknowledged).unwrap_or_default()
    }

    /// As [`UserWriter::unacknowledged_by_reader`].
    pub fn unacknowledged_by_reader(&self, writer: EntityId) -> Vec<(Guid, u32)> {
        self.with_writer(writer, UserWriter::unacknowledged_by_reader).unwrap_or_default()
    }

    /// As [`UserWriter::overwritten`].
    pub fn overwritten(&self, writer: EntityId) -> u64 {
        self.with_writer(writer, UserWriter::overwritten).unwrap_or_default()
    }

    /// As [`UserWriter::last_number`].
    pub fn last_number(&self, writer: EntityId) -> Option<SequenceNumber> {
        self.with_writer(writer, UserWriter::last_number)?
    }

    /// As [`UserWriter::assert_liveliness`].
    pub fn assert_liveliness(&mut self, now: Instant, writer: EntityId) {
        if let Some(writer) = self.writers.get_mut(&writer) {
            writer.assert_liveliness(now);
        }
    }

    /// As [`UserWriter::hold`].
    pub fn hold(&mut self, writer: EntityId, reader: Guid) {
        self.writers.get_mut(&writer).into_iter().for_each(|writer| writer.hold(reader));
    }

    /// As [`UserWriter::suspend`].
    pub fn suspend(&mut self, writer: EntityId, reader: Guid) -> Option<Suspended> {
        self.writers.get_mut(&writer)?.suspend(reader)
    }

    /// As [`UserWriter::resume`].
    pub fn resume(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        (writer, reader): (EntityId, Guid),
        from: SequenceNumber,
        samples: impl IntoIterator<Item = (SequenceNumber, Instant, P)>,
    ) {
        if let Some(writer) = self.writers.get_mut(&writer) {
            writer.resume(now, stamp, reader, from, samples);
        }
    }
}
