//! Remembered participants and endpoints whose end was announced. The announcement ends their links immediately but may
//! have been forged: they are remembered for a while, and restored when the same participant or endpoint sends again.
//! Their restored data may also have been forged: their discovery writers are read again, and endpoints that these do
//! not announce are dropped for good.

use super::peers::{Outbox, Peer};
use super::{Participant, discovery_writer};
use crate::announce::{Endpoint, Role};
use crate::event::{Correction, Event};
use crate::reader::{Reader, WriterProxy};
use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// Delay of datagrams that were sent before the end.
const GRACE: Duration = Duration::from_millis(300);

/// Time for which they are remembered, and maximum numbers.
const KEPT: Duration = Duration::from_secs(60);
const MAX_PARTICIPANTS: usize = 64;
const MAX_ENDPOINTS: usize = 1024;

/// Time within which a restored participant must announce its endpoints. Some send HEARTBEATs only every 4 s.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);

/// Remembered participants and endpoints.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    participants: VecDeque<(Peer, Instant)>,
    endpoints: VecDeque<(Endpoint, Instant)>,
    /// Bytes of all remembered endpoints.
    bytes: usize,
}

impl Remembered {
    fn remember_endpoint(&mut self, now: Instant, endpoint: Endpoint) {
        self.expire(now);
        if self.endpoints.len() >= MAX_ENDPOINTS {
            self.forget_oldest_endpoint();
        }
        self.bytes += endpoint.bytes();
        self.endpoints.push_back((endpoint, now));
    }

    fn remember_participant(&mut self, now: Instant, peer: Peer) {
        self.expire(now);
        if self.participants.len() >= MAX_PARTICIPANTS {
            self.forget_oldest_participant();
        }
        self.bytes += peer.endpoint_bytes;
        self.participants.push_back((peer, now));
    }

    /// Returns the bytes of all remembered endpoints.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets entries after their time.
    pub fn expire(&mut self, now: Instant) {
        while self.participants.front().is_some_and(|(_, at)| *at + KEPT <= now) {
            self.forget_oldest_participant();
        }
        while self.endpoints.front().is_some_and(|(_, at)| *at + KEPT <= now) {
            self.forget_oldest_endpoint();
        }
    }

    /// Frees memory for new announcements. Returns false if nothing is remembered.
    pub fn forget_oldest(&mut self) -> bool {
        self.forget_oldest_participant() || self.forget_oldest_endpoint()
    }

    fn forget_oldest_participant(&mut self) -> bool {
        let oldest = self.participants.pop_front();
        self.bytes -= oldest.as_ref().map_or(0, |(peer, _)| peer.endpoint_bytes);
        oldest.is_some()
    }

    fn forget_oldest_endpoint(&mut self) -> bool {
        let oldest = self.endpoints.pop_front();
        self.bytes -= oldest.as_ref().map_or(0, |(endpoint, _)| endpoint.bytes());
        oldest.is_some()
    }

    /// Removes and returns an endpoint, if its end is older than the grace time and not expired.
    fn take_endpoint(&mut self, now: Instant, guid: Guid) -> Option<Endpoint> {
        let place = self.endpoints.iter().position(|(of, _)| of.guid == guid)?;
        let (_, at) = self.endpoints.get(place).filter(|(_, at)| *at + GRACE <= now)?;
        let is_kept = *at + KEPT > now;
        let (endpoint, _) = self.endpoints.remove(place)?;
        self.bytes -= endpoint.bytes();
        is_kept.then_some(endpoint)
    }

    fn take_participant(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) -> Option<Peer> {
        let is_it = |(peer, at): &(Peer, Instant)| {
            peer.data.prefix == prefix && *at + GRACE <= now && peer.is_known_source(from.ip())
        };
        let place = self.participants.iter().position(is_it)?;
        let (peer, at) = self.participants.remove(place)?;
        self.bytes -= peer.endpoint_bytes;
        (at + KEPT > now).then_some(peer)
    }

    /// Returns the address of a participant whose datagrams may have been sent before its end.
    fn address_before_end(&self, now: Instant, prefix: GuidPrefix) -> Option<SocketAddr> {
        let is_it = |(peer, at): &&(Peer, Instant)| peer.data.prefix == prefix && now < *at + GRACE;
        self.participants.iter().find(is_it).map(|(peer, _)| peer.metatraffic)
    }
}

impl Participant {
    /// Returns how often remote state of a local endpoint was corrected after forged or outdated datagrams.
    pub fn corrections(&self, of: EntityId) -> u64 {
        self.corrections.get(&of).copied().unwrap_or(0)
    }

    /// Counts and reports a correction of remote state.
    pub(super) fn corrected(&mut self, local: EntityId, remote: Guid, state: Correction) {
        *self.corrections.entry(local).or_default() += 1;
        self.push_event(Event::Corrected { local, remote, state });
    }

    /// Counts corrections of a reader's state at a local user writer.
    pub fn reader_corrected(&mut self, writer: EntityId, reader: Guid, count: u32) {
        (0..count).for_each(|_| self.corrected(writer, reader, Correction::ReaderPosition));
    }

    /// Handles the announced end of a participant.
    pub(super) fn end_participant(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.lose(prefix).filter(Peer::is_proved) else { return };
        self.remembered.remember_participant(now, peer);
    }

    /// Returns whether the end of a participant that announces itself was just announced: the end may have overtaken
    /// this datagram. The participant is called after a while, and restored if it answers; as a new one, it would be
    /// known by data that may be forged meanwhile.
    pub(super) fn is_end_in_doubt(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let Some(address) = self.remembered.address_before_end(now, prefix) else { return false };
        self.call_twice(now + GRACE, prefix, address);
        true
    }

    /// Restores a remembered participant whose datagram has arrived.
    pub(super) fn restore_participant(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        if self.remembered.participants.is_empty() || self.peers.get(prefix).is_some_and(Peer::is_proved) {
            return;
        }
        let Some(mut peer) = self.remembered.take_participant(now, from, prefix) else { return };
        // Someone may have announced it at another address meanwhile.
        self.lose(prefix);
        let endpoints: Vec<Guid> = peer.endpoints.keys().map(|entity| prefix.with(*entity)).collect();
        (peer.last_received, peer.outbox) = (now, Outbox::default());
        peer.ends_unless_confirmed = Some(now + CONFIRMED_WITHIN);
        peer.was_corrected = true;
        self.peers.restore(peer);
        for role in [Role::Writer, Role::Reader] {
            self.begin_read(prefix.with(discovery_writer(role)));
        }
        self.arm_peer(prefix);
        let remote = prefix.with(EntityId::PARTICIPANT);
        self.corrected(EntityId::PARTICIPANT, remote, Correction::Participant);
        self.push_event(Event::ParticipantFound(prefix));
        self.match_discovery(prefix);
        for endpoint in endpoints {
            self.push_event(Event::EndpointFound(endpoint));
            self.match_remote(now, endpoint);
        }
    }

    /// Remembers an endpoint whose end was announced, and checks its discovery writer.
    pub(super) fn remember_endpoint(&mut self, now: Instant, endpoint: Endpoint) {
        let (role, prefix) = (endpoint.role(), endpoint.guid.prefix);
        self.remembered.remember_endpoint(now, endpoint);
        self.check_discovery(now, prefix.with(discovery_writer(role)));
    }

    /// Requests HEARTBEATs from the writers of a participant whose position is in doubt, since a silent writer would
    /// never contradict a forged HEARTBEAT.
    pub(super) fn check_doubtful(&mut self, now: Instant, prefix: GuidPrefix) {
        let doubtful = |(id, reader): (&EntityId, &mut Reader)| {
            let writers = reader.probe_doubtful(now, prefix);
            (!writers.is_empty()).then_some((*id, writers))
        };
        let doubtful: Vec<_> = self.readers.iter_mut().filter_map(doubtful).collect();
        for (reader, writers) in doubtful {
            writers.into_iter().for_each(|writer| self.wake_acknack(reader, writer));
        }
    }

    /// Restores a remembered endpoint that sends but is not matched.
    pub(super) fn restore_endpoint(&mut self, now: Instant, guid: Guid) {
        if self.remembered.endpoints.is_empty() || self.peers.get(guid.prefix).is_none() {
            return;
        }
        let Some(endpoint) = self.remembered.take_endpoint(now, guid) else { return };
        let announcer = guid.prefix.with(discovery_writer(endpoint.role()));
        self.handle_endpoint_data(now, endpoint, None);
        self.read_discovery_again(now, announcer);
        let matched: Vec<EntityId> =
            self.endpoints.keys().copied().filter(|of| self.is_matched(*of, guid)).collect();
        matched.into_iter().for_each(|local| self.corrected(local, guid, Correction::Endpoint));
    }

    fn is_matched(&self, local: EntityId, remote: Guid) -> bool {
        let is_reader = self.readers.get(&local).is_some_and(|reader| reader.writer(remote).is_some());
        is_reader || self.user_writers.get(&local).is_some_and(|writer| writer.matched.contains(&remote))
    }

    /// Forgets a remembered endpoint that was announced.
    pub(super) fn note_announced_endpoint(&mut self, guid: Guid) {
        self.reads.note_announced_endpoint(guid);
        let Remembered { endpoints, bytes, .. } = &mut self.remembered;
        endpoints.retain(|(endpoint, _)| {
            let is_kept = endpoint.guid != guid;
            *bytes -= if is_kept { 0 } else { endpoint.bytes() };
            is_kept
        });
    }

    /// Counts the corrections of a writer's state.
    pub(super) fn note_corrections(&mut self, reader: EntityId, writer: Guid) {
        let count = self.writer_of(reader, writer).map_or(0, WriterProxy::take_corrections);
        (0..count).for_each(|_| self.corrected(reader, writer, Correction::WriterPosition));
        if count > 0 && reader.is_builtin() {
            self.distrust_discovery(writer.prefix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::{BuiltinEndpoints, ParticipantData};
    use crate::config::Config;
    use crate::wire::{Data, InfoDestination, Payload, SequenceNumber, VERSION, VendorId, begin};
    use alloc::string::String;
    use alloc::vec;

    const THEM: GuidPrefix = GuidPrefix([2; 12]);
    const OTHER: GuidPrefix = GuidPrefix([3; 12]);
    const TOPIC: &str = "rt/chatter";

    fn address() -> SocketAddr {
        ([10, 0, 0, 2], 7410).into()
    }

    fn message(from: GuidPrefix, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = vec![];
        begin(&mut out, VendorId::FAST_DDS, from);
        fill(&mut out);
        out
    }

    fn announcement(from: GuidPrefix, us: GuidPrefix) -> Vec<u8> {
        let data = ParticipantData {
            prefix: from,
            version: VERSION,
            vendor: VendorId::FAST_DDS,
            domain: None,
            domain_tag: String::new(),
            lease: None,
            builtin: BuiltinEndpoints::OURS,
            metatraffic: vec![address()],
            unicast: vec![address()],
            name: String::new(),
            user_data: vec![],
        };
        let mut payload = vec![];
        data.emit(&mut payload);
        message(from, |out| {
            InfoDestination { prefix: us }.emit(out);
            let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
            Data::emit(out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload));
        })
    }

    /// Returns its announcement of a reader, with number 1.
    fn endpoint_announcement(from: GuidPrefix, reader: u32, user_data: usize) -> Vec<u8> {
        let endpoint = Endpoint {
            guid: from.with(EntityId::user_reader(reader)),
            topic: TOPIC.into(),
            type_name: TOPIC.into(),
            qos: Default::default(),
            has_history: true,
            exclusive: false,
            in_default_partition: true,
            representations: vec![],
            expects_inline_qos: false,
            unicast: vec![],
            user_data: vec![b'x'; user_data],
        };
        let mut payload = vec![];
        endpoint.emit(&mut payload);
        let ends = (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER);
        message(from, |out| Data::emit(out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload)))
    }

    /// Creates a participant that has been named by another.
    fn matched(now: Instant, endpoint_bytes: usize) -> Participant {
        let mut config = Config::new(GuidPrefix([1; 12]), 0);
        config.unicast = vec![([10, 0, 0, 1], 7410).into()];
        config.own_addresses = vec![address().ip()];
        config.limits.endpoint_bytes = endpoint_bytes;
        let mut us = Participant::new(now, config);
        let announcement = announcement(THEM, us.prefix());
        us.handle_datagram(now, address(), &announcement);
        us
    }

    #[test]
    fn unannounced_endpoints_of_lost_participant_are_forgotten() {
        let mut now = Instant(1_000_000_000);
        let mut us = matched(now, 1 << 20);
        for reader in [1, 2] {
            now += Duration::from_secs(1);
            us.handle_datagram(now, address(), &endpoint_announcement(THEM, reader, 0));
        }
        assert_eq!(us.reads.in_progress(), 1);
        now += Duration::from_secs(100);
        us.handle_timeout(now);
        assert!(us.peer(THEM).is_none());
        assert_eq!(us.reads.in_progress(), 0);
    }

    #[test]
    fn remembered_endpoints_yield_memory_and_expire() {
        let mut now = Instant(1_000_000_000);
        let mut us = matched(now, 6000);
        us.prove(now, address(), THEM);
        us.handle_datagram(now, address(), &endpoint_announcement(THEM, 1, 3000));
        assert_eq!(us.peer(THEM).map(|peer| peer.endpoints.len()), Some(1));
        us.end_participant(now, THEM);
        assert!(us.remembered.bytes() > 3000);
        let announcement = announcement(OTHER, us.prefix());
        us.handle_datagram(now, address(), &announcement);
        us.handle_datagram(now, address(), &endpoint_announcement(OTHER, 1, 3000));
        assert_eq!(us.peer(OTHER).map(|peer| peer.endpoints.len()), Some(1));
        assert_eq!((us.remembered.participants.len(), us.remembered.bytes()), (0, 0));
        us.prove(now, address(), OTHER);
        us.end_participant(now, OTHER);
        assert!(us.remembered.bytes() > 3000);
        now += KEPT;
        us.handle_timeout(now);
        assert_eq!((us.remembered.participants.len(), us.remembered.bytes()), (0, 0));
    }
}
