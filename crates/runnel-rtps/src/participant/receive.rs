//! Handling of received datagrams and of each submessage in them.

use super::local_readers::LocalReaders;
use super::monitor::Monitored;
use super::{MAX_EARLY, MAX_EARLY_UNPROVED, Participant, Peer};
use crate::announce;
use crate::event::{Event, Sample, SamplePayload};
use crate::fault::PeerFault;
use crate::inline_qos;
use crate::reader::{Arrival, Complete, Reader, WriterProxy, copy_sample};
use crate::wire::{
    Data, DataFrag, EntityId, Gap, Guid, GuidPrefix, Heartbeat, HeartbeatFrag, Message, Parameters, Payload,
    SequenceNumber, Submessage, Timestamp,
};
use alloc::vec::Vec;
use core::net::SocketAddr;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

/// Marks a participant whose incomplete samples have stalled: they are dropped first.
const STALLED: usize = usize::MAX;

/// Receiver state of a message: set by earlier submessages for later ones. Source: RTPS 2.5, section 8.3.4.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub now: Instant,
    pub from: SocketAddr,
    datagram: &'a [u8],
    pub source: GuidPrefix,
    destination: GuidPrefix,
    stamp: Option<Timestamp>,
    /// Bytes of the datagram that are not credited yet.
    uncounted: usize,
    /// It has tried to prove its address.
    pub tried: bool,
    /// It contains a participant announcement to all.
    announced: bool,
}

impl Participant {
    /// Handles a datagram. Take its samples by [`Participant::poll_sample`] before the next one.
    pub fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        self.samples.clear();
        if self.closed || !self.config.is_accepted_source(from.ip()) {
            return;
        }
        // Other protocols on a well-known port are not worth an event.
        let Ok(message) = Message::parse(datagram) else { return };
        if message.prefix == self.config.prefix {
            return;
        }
        let (source, destination, stamp) = (message.prefix, GuidPrefix::UNKNOWN, None);
        self.restore_participant(now, from, source);
        let is_counted = self.note_datagram(now, from, source, datagram.len());
        let uncounted = if is_counted { 0 } else { datagram.len() };
        let (tried, announced) = (false, false);
        let mut context =
            Context { now, from, datagram, source, destination, stamp, uncounted, tried, announced };
        for submessage in message.submessages() {
            match submessage {
                Ok(submessage) => self.handle_submessage(&mut context, &submessage),
                Err(error) => {
                    let participant = context.source;
                    let fault = PeerFault::MalformedMessage { participant, from, error };
                    return self.push_event(Event::PeerFault(fault));
                }
            }
        }
    }

    fn handle_submessage(&mut self, context: &mut Context<'_>, submessage: &Submessage<'_>) {
        match submessage {
            Submessage::InfoDestination(info) => {
                context.destination = info.prefix;
                if info.prefix == self.config.prefix {
                    if context.announced {
                        self.answer_search(context.now, context.from, context.source);
                    }
                    self.put_on_trial(context.now, context.from, context.source);
                }
            }
            // The timestamp was of another source.
            Submessage::InfoSource(info) => (context.source, context.stamp) = (info.prefix, None),
            Submessage::InfoTimestamp(info) => context.stamp = info.timestamp,
            Submessage::InfoReply(_) | Submessage::Unknown { .. } => {}
            _ if ![GuidPrefix::UNKNOWN, self.config.prefix].contains(&context.destination) => {}
            Submessage::Data(data) if data.writer == EntityId::SPDP_WRITER => {
                let names_us = context.destination == self.config.prefix;
                // Several announcements in one datagram earn no more credit than its bytes.
                let uncounted = core::mem::take(&mut context.uncounted);
                self.handle_participant_sample(context.now, (context.from, names_us), uncounted, data);
                context.announced = true;
                // It knew us before it was discovered.
                if names_us {
                    self.put_on_trial(context.now, context.from, context.source);
                }
            }
            Submessage::AckNack(ack) => self.handle_acknowledgement(context, ack),
            _ if !self.is_from_peer(context) => {}
            Submessage::Data(data) if data.writer == EntityId::VENDOR_MESSAGE_WRITER => {
                if context.destination == self.config.prefix {
                    self.handle_vendor_message(context.source, data.payload.bytes());
                }
            }
            Submessage::Data(data) => self.handle_data(context, data),
            Submessage::DataFrag(frag) => self.handle_fragments(context, frag),
            Submessage::Heartbeat(heartbeat) => self.handle_heartbeat(context, heartbeat),
            Submessage::HeartbeatFrag(heartbeat) => self.handle_heartbeat_frag(context, heartbeat),
            Submessage::Gap(gap) => self.handle_gap(context, gap),
            Submessage::NackFrag(nack) => self.handle_nack_fragments(context, nack),
        }
    }

    /// Returns whether a message is from an address of its participant: one from another address could skip or repeat
    /// samples that the participant never wrote.
    pub(super) fn is_from_peer(&mut self, context: &Context<'_>) -> bool {
        let peer = self.peers.get(context.source);
        let peer =
            peer.filter(|peer| peer.standing.is_discovered() && peer.is_known_source(context.from.ip()));
        let Some(peer) = peer else { return false };
        if !peer.is_talking {
            self.peers.alter(context.source, |peer| peer.is_talking = true);
        }
        true
    }

    /// Returns the local readers of a writer's submessage.
    fn local_readers(&self, reader: EntityId, writer: Guid) -> LocalReaders {
        let mut local_readers = LocalReaders::default();
        let of_writer = self.readers_by_writer.get(&writer).map_or(&[][..], Vec::as_slice);
        for other in of_writer {
            let is_to_all = reader == EntityId::UNKNOWN && self.is_served_by_all(*other, writer, of_writer);
            if is_to_all || reader == *other {
                local_readers.add(*other);
            }
        }
        local_readers
    }

    fn handle_data(&mut self, context: &Context<'_>, data: &Data<'_>) {
        let writer = context.source.with(data.writer);
        self.restore_endpoint_if_silent(context.now, writer);
        for reader in self.local_readers(data.reader, writer) {
            self.handle_sample(context, reader, writer, data);
        }
    }

    fn handle_sample(&mut self, context: &Context<'_>, reader: EntityId, writer: Guid, data: &Data<'_>) {
        if reader.is_builtin() && !self.can_announce(reader, writer.prefix) {
            return self.postpone(reader, writer, data.number);
        }
        let Some(of) = self.readers.get_mut(&reader) else { return };
        let has_capacity = of.has_capacity();
        let Some(proxy) = of.writer_mut(writer) else { return };
        let digest = proxy.digest(data.payload.bytes(), context.stamp);
        match proxy.arrive(context.now, (data.number, digest), has_capacity) {
            Arrival::Deliver if reader.is_builtin() => {
                let sample = (writer, data.number);
                self.handle_discovery_sample(context.now, reader, sample, data.inline_qos, data.payload);
            }
            Arrival::Deliver => self.deliver_in_datagram(context, reader, writer, data),
            Arrival::Early => {
                // A disposal may be marked only by the inline QoS, which is not held.
                let is_disposed = reader.is_builtin() && announce::is_disposed(data.inline_qos);
                let is_key = is_disposed || !matches!(data.payload, Payload::Value(_));
                let disposed = announce::key_of(data.inline_qos, data.payload).filter(|_| is_key);
                let key = disposed.map(announce::key);
                let bytes = key.as_deref().unwrap_or(data.payload.bytes());
                let copy = copy_sample(bytes, context.stamp, is_key);
                let related = inline_qos::related_of(data.inline_qos);
                self.hold(context.now, (reader, writer), data.number, Complete { related, ..copy });
            }
            Arrival::Late => {}
        }
        self.finish_handling(context.now, reader, writer);
    }

    fn postpone(&mut self, reader: EntityId, writer: Guid, number: SequenceNumber) {
        if let Some(proxy) = self.writer_of(reader, writer) {
            proxy.postpone(number);
        }
        self.wake_acknack(reader, writer);
    }

    /// Passes a sample to the user in its datagram.
    fn deliver_in_datagram(
        &mut self,
        context: &Context<'_>,
        reader: EntityId,
        writer: Guid,
        data: &Data<'_>,
    ) {
        let Payload::Value(bytes) = data.payload else { return };
        let begin = (bytes.as_ptr() as usize).wrapping_sub(context.datagram.as_ptr() as usize);
        let payload = SamplePayload::InDatagram(begin..begin.saturating_add(bytes.len()));
        let related = inline_qos::related_of(data.inline_qos);
        self.deliver(
            context.now,
            Sample { reader, writer, number: data.number, stamp: context.stamp, payload, related },
        );
    }

    pub(super) fn deliver(&mut self, now: Instant, sample: Sample) {
        self.note_occurrence(now, Monitored::Deadline(sample.reader));
        self.note_occurrence(now, Monitored::Liveliness(sample.reader, sample.writer));
        if let Some(reader) = self.readers.get_mut(&sample.reader) {
            reader.take_capacity();
        }
        self.samples.push_back(sample);
    }

    /// Delivers a held or reassembled sample.
    fn deliver_owned(
        &mut self,
        now: Instant,
        reader: EntityId,
        writer: Guid,
        (number, sample): (SequenceNumber, Complete),
    ) {
        if reader.is_builtin() {
            let bytes = &sample.bytes;
            let payload = if sample.is_key { Payload::Key(bytes) } else { Payload::Value(bytes) };
            let sample = (writer, number);
            return self.handle_discovery_sample(now, reader, sample, Parameters::none(), payload);
        }
        if !sample.is_key {
            let Complete { bytes, stamp, related, .. } = sample;
            let payload = SamplePayload::Owned(bytes);
            self.deliver(now, Sample { reader, writer, number, stamp, payload, related });
        }
    }

    /// Completes the handling of a writer's submessage: held samples, losses, an answer.
    pub(super) fn finish_handling(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        while self.deliver_held(now, reader, writer) {}
        let proxy = self.writer_of(reader, writer);
        let count = proxy.map_or(0, WriterProxy::take_lost);
        if count > 0 {
            self.push_event(Event::SampleLost { reader, writer, count });
        }
        self.note_corrections(reader, writer);
        if reader.is_builtin() {
            self.continue_read(now, reader, writer);
        }
        self.wake_acknack(reader, writer);
    }

    /// Delivers the held sample that is next, if there is capacity. Returns whether it did.
    pub(super) fn deliver_held(&mut self, now: Instant, reader: EntityId, writer: Guid) -> bool {
        if reader.is_builtin() && !self.can_announce(reader, writer.prefix) {
            return false;
        }
        let Some(of) = self.readers.get_mut(&reader).filter(|reader| reader.has_capacity()) else {
            return false;
        };
        let held = of.writer_mut(writer).and_then(|proxy| proxy.take_held());
        let Some(held) = held else { return false };
        self.deliver_owned(now, reader, writer, held);
        true
    }

    fn handle_fragments(&mut self, context: &Context<'_>, frag: &DataFrag<'_>) {
        let writer = context.source.with(frag.writer);
        self.restore_endpoint_if_silent(context.now, writer);
        for reader in self.local_readers(frag.reader, writer) {
            if reader.is_builtin() && !self.can_announce(reader, writer.prefix) {
                self.postpone(reader, writer, frag.number);
                continue;
            }
            let is_over_budget =
                |proxy: &WriterProxy| proxy.is_over_budget(frag.number, frag.sample_len as usize);
            if self.writer_of(reader, writer).is_some_and(|proxy| is_over_budget(proxy)) {
                self.free_incomplete_memory(context.now, writer.prefix, frag.sample_len as usize);
            }
            let Some(of) = self.readers.get_mut(&reader) else { continue };
            let has_capacity = of.has_capacity();
            let Some(proxy) = of.writer_mut(writer) else { continue };
            if let Some(complete) = proxy.take_fragments(context.now, frag, context.stamp) {
                let digest = proxy.digest(&complete.bytes, context.stamp);
                match proxy.arrive(context.now, (frag.number, digest), has_capacity) {
                    Arrival::Deliver => {
                        self.deliver_owned(context.now, reader, writer, (frag.number, complete))
                    }
                    Arrival::Early => self.hold(context.now, (reader, writer), frag.number, complete),
                    Arrival::Late => {}
                }
            }
            self.finish_handling(context.now, reader, writer);
        }
    }

    /// Frees memory for another incomplete sample: the participant with the most incomplete bytes starts again, if it
    /// has more than half of the budget and the requesting one would not. Otherwise two would displace each other for
    /// ever.
    fn free_incomplete_memory(&mut self, now: Instant, asks: GuidPrefix, len: usize) {
        let mut taken: SortedMap<GuidPrefix, usize> = SortedMap::new();
        for writer in self.readers.values().flat_map(Reader::writers) {
            let prefix = writer.guid().prefix;
            let bytes =
                if prefix != asks && writer.has_stalled(now) { STALLED } else { writer.incomplete_bytes() };
            let of_it = taken.entry(prefix).or_default();
            *of_it = of_it.saturating_add(bytes);
        }
        let half = self.budgets.incomplete.size() / 2;
        let asks_little = taken.remove(&asks).unwrap_or(0) + len <= half;
        let most = taken.into_iter().max_by_key(|(_, bytes)| *bytes);
        if let Some((prefix, _)) = most.filter(|(_, most)| *most == STALLED || *most > half && asks_little) {
            self.readers.values_mut().for_each(|reader| reader.forget_incomplete(prefix));
        }
    }

    fn handle_heartbeat(&mut self, context: &Context<'_>, heartbeat: &Heartbeat) {
        let writer = context.source.with(heartbeat.writer);
        self.restore_endpoint_if_silent(context.now, writer);
        if !self.readers_by_writer.contains_key(&writer) {
            return self.note_early(writer, heartbeat);
        }
        for reader in self.local_readers(heartbeat.reader, writer) {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.handle_heartbeat(context.now, heartbeat);
            }
            if heartbeat.liveliness {
                self.note_occurrence(context.now, Monitored::Liveliness(reader, writer));
            }
            self.finish_handling(context.now, reader, writer);
        }
    }

    /// Restores a writer without local readers, whose end may have been forged.
    fn restore_endpoint_if_silent(&mut self, now: Instant, writer: Guid) {
        if !self.readers_by_writer.contains_key(&writer) {
            self.restore_endpoint(now, writer);
        }
    }

    /// Remembers the heartbeat of an undiscovered writer: it may have discovered our reader first, and send its only
    /// heartbeat.
    fn note_early(&mut self, writer: Guid, heartbeat: &Heartbeat) {
        if !self.readers.contains_key(&heartbeat.reader) || heartbeat.reader.is_builtin() {
            return;
        }
        let [first, last] = [[0; 4], [0xff; 4]].map(|entity| writer.prefix.with(EntityId(entity)));
        let of_participant = (first, EntityId([0; 4]))..=(last, EntityId([0xff; 4]));
        let is_proved = self.peers.get(writer.prefix).is_some_and(Peer::is_proved);
        let most = if is_proved { MAX_EARLY } else { MAX_EARLY_UNPROVED };
        let key = (writer, heartbeat.reader);
        if self.early.contains_key(&key) || self.early.range(of_participant).count() < most {
            self.early.insert(key, *heartbeat);
        }
    }

    fn handle_heartbeat_frag(&mut self, context: &Context<'_>, heartbeat: &HeartbeatFrag) {
        let writer = context.source.with(heartbeat.writer);
        for reader in self.local_readers(heartbeat.reader, writer) {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.handle_heartbeat_frag(context.now, heartbeat);
            }
            self.finish_handling(context.now, reader, writer);
        }
    }

    fn handle_gap(&mut self, context: &Context<'_>, gap: &Gap) {
        let writer = context.source.with(gap.writer);
        for reader in self.local_readers(gap.reader, writer) {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.gap(context.now, gap);
            }
            self.finish_handling(context.now, reader, writer);
        }
    }
}
