//! Participants and endpoints that were said to be gone. That ends their links at once, and may have been forged: they are kept
//! for a while, and restored when the same participant or endpoint goes on speaking.
//!
//! What discovery says of endpoints is checked as well: a writer of discovery that has said less than came in its name is
//! read again as a whole, and endpoints that it does not tell of any more are dropped then.

use super::peers::{Outbox, Peer};
use super::{Participant, teller_of};
use crate::announce::Endpoint;
use crate::event::{Correction, Event};
use crate::reader::WriterProxy;
use crate::stored::Lend;
use crate::wire::{EntityId, Guid, GuidPrefix};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use runnel_core::time::Instant;

/// What was sent before the end may come so much later.
const GRACE: Duration = Duration::from_millis(300);

/// How long and how many are kept.
const KEPT: Duration = Duration::from_secs(60);
const MOST_PARTICIPANTS: usize = 64;
const MOST_ENDPOINTS: usize = 1024;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Kept {
    participants: VecDeque<(Peer, Instant)>,
    endpoints: VecDeque<(Endpoint, Instant)>,
    /// By writer of discovery that is read again: the endpoints that it has not told of since.
    unconfirmed: BTreeMap<Guid, BTreeSet<EntityId>>,
}

impl Kept {
    fn keep_endpoint(&mut self, now: Instant, endpoint: Endpoint) {
        if self.endpoints.len() >= MOST_ENDPOINTS {
            self.endpoints.pop_front();
        }
        self.endpoints.push_back((endpoint, now));
    }

    /// The endpoint of this name, if it was said to be gone long enough ago, but not too long.
    fn take_endpoint(&mut self, now: Instant, guid: Guid) -> Option<Endpoint> {
        let place = self.endpoints.iter().position(|(of, _)| of.guid == guid)?;
        let (_, at) = self.endpoints.get(place).filter(|(_, at)| *at + GRACE <= now)?;
        let is_kept = *at + KEPT > now;
        self.endpoints.remove(place).map(|(endpoint, _)| endpoint).filter(|_| is_kept)
    }

    fn take_participant(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) -> Option<Peer> {
        let is_it = |(peer, at): &(Peer, Instant)| {
            peer.data.prefix == prefix && *at + GRACE <= now && peer.sends_from(from.ip())
        };
        let place = self.participants.iter().position(is_it)?;
        let (peer, at) = self.participants.remove(place)?;
        (at + KEPT > now).then_some(peer)
    }

    /// Where a participant was, if what comes of it may have been sent before its end.
    fn address_before_end(&self, now: Instant, prefix: GuidPrefix) -> Option<SocketAddr> {
        let is_it = |(peer, at): &&(Peer, Instant)| peer.data.prefix == prefix && now < *at + GRACE;
        self.participants.iter().find(is_it).map(|(peer, _)| peer.metatraffic)
    }
}

impl<P: Lend> Participant<P> {
    /// How often state of an endpoint of ours was corrected that forged or outdated datagrams had led to.
    pub fn corrections(&self, of: EntityId) -> u64 {
        self.corrections.get(&of).copied().unwrap_or(0)
    }

    /// State that a datagram had led to was contradicted by later ones, and has given way.
    pub(super) fn corrected(&mut self, local: EntityId, remote: Guid, state: Correction) {
        *self.corrections.entry(local).or_default() += 1;
        self.tell(Event::Corrected { local, remote, state });
    }

    /// A participant was said to be gone.
    pub(super) fn end_participant(&mut self, now: Instant, prefix: GuidPrefix) {
        let Some(peer) = self.lose(prefix).filter(Peer::is_proved) else { return };
        if self.kept.participants.len() >= MOST_PARTICIPANTS {
            self.kept.participants.pop_front();
        }
        self.kept.participants.push_back((peer, now));
    }

    /// True if a participant that announces itself has just been said to be gone: it may have been overtaken by that. It is
    /// called in a while, and restored if it answers; found anew, it would be known by what is forged meanwhile.
    pub(super) fn doubts_end(&mut self, now: Instant, prefix: GuidPrefix) -> bool {
        let Some(address) = self.kept.address_before_end(now, prefix) else { return false };
        self.call_twice(now + GRACE, prefix, address);
        true
    }

    /// A datagram has come of a participant that may have been said to be gone.
    pub(super) fn restore_if_kept(&mut self, now: Instant, from: SocketAddr, prefix: GuidPrefix) {
        if self.kept.participants.is_empty() || self.peers.get(prefix).is_some_and(Peer::is_proved) {
            return;
        }
        let Some(mut peer) = self.kept.take_participant(now, from, prefix) else { return };
        // Somebody may have announced it elsewhere meanwhile.
        self.lose(prefix);
        let endpoints: Vec<Guid> = peer.endpoints.keys().map(|entity| prefix.with(*entity)).collect();
        (peer.heard, peer.armed, peer.outbox) = (now, None, Outbox::default());
        self.peers.restore(peer);
        self.arm_peer(prefix);
        let remote = prefix.with(EntityId::PARTICIPANT);
        self.corrected(EntityId::PARTICIPANT, remote, Correction::Participant);
        self.tell(Event::ParticipantFound(prefix));
        self.join_discovery(prefix);
        for endpoint in endpoints {
            self.tell(Event::EndpointFound(endpoint));
            self.match_remote(now, endpoint);
        }
    }

    /// An endpoint was said to be gone: it is kept, and its writer of discovery is asked what it has.
    pub(super) fn keep_endpoint(&mut self, now: Instant, endpoint: Endpoint) {
        let (role, prefix) = (endpoint.role(), endpoint.guid.prefix);
        self.kept.keep_endpoint(now, endpoint);
        self.check_discovery(now, prefix.with(teller_of(role)));
    }

    /// Asks a writer of discovery what it has.
    pub(super) fn check_discovery(&mut self, now: Instant, writer: Guid) {
        let readers: Vec<EntityId> = self.heard.get(&writer).cloned().unwrap_or_default();
        for reader in readers {
            if let Some(proxy) = self.writer_of(reader, writer) {
                proxy.probe(now);
            }
            self.wake_answer(reader, writer);
        }
    }

    /// An endpoint speaks that is matched with none of ours: it may have been said to be gone.
    pub(super) fn restore_endpoint_if_kept(&mut self, now: Instant, guid: Guid) {
        if self.kept.endpoints.is_empty() || self.peers.get(guid.prefix).is_none() {
            return;
        }
        let Some(endpoint) = self.kept.take_endpoint(now, guid) else { return };
        self.endpoint_found(now, endpoint);
        let met: Vec<EntityId> =
            self.endpoints.keys().copied().filter(|of| self.is_matched(*of, guid)).collect();
        met.into_iter().for_each(|local| self.corrected(local, guid, Correction::Endpoint));
    }

    fn is_matched(&self, local: EntityId, remote: Guid) -> bool {
        let is_reader = self.readers.get(&local).is_some_and(|reader| reader.writer(remote).is_some());
        let readers = self.writers.get(&local).into_iter().flat_map(|writer| writer.readers());
        is_reader || readers.into_iter().any(|proxy| proxy.guid() == remote)
    }

    /// An endpoint was told of: it need not be kept.
    pub(super) fn note_told_of(&mut self, guid: Guid) {
        self.kept.endpoints.retain(|(endpoint, _)| endpoint.guid != guid);
        let of_participant = self.kept.unconfirmed.iter_mut();
        for (_, endpoints) in of_participant.filter(|(writer, _)| writer.prefix == guid.prefix) {
            endpoints.remove(&guid.entity);
        }
    }

    /// A writer of discovery is read again, or has been: endpoints that it does not tell of are dropped.
    pub(super) fn reread_discovery(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        let proxy = self.writer_of(reader, writer);
        let Some((begins, has_all)) = proxy.map(|proxy| (proxy.take_rereads(), proxy.has_all())) else {
            return;
        };
        if begins {
            let of_writer = |endpoint: &&Endpoint| teller_of(endpoint.role()) == writer.entity;
            let peer = self.peers.get(writer.prefix);
            let endpoints = peer.into_iter().flat_map(|peer| peer.endpoints.values()).filter(of_writer);
            let endpoints = endpoints.map(|endpoint| endpoint.guid.entity).collect();
            self.kept.unconfirmed.insert(writer, endpoints);
        }
        if has_all && let Some(gone) = self.kept.unconfirmed.remove(&writer) {
            gone.into_iter().for_each(|entity| self.endpoint_gone(now, writer.prefix.with(entity)));
        }
    }

    /// Counts what was corrected of a writer.
    pub(super) fn note_corrections(&mut self, reader: EntityId, writer: Guid) {
        let count = self.writer_of(reader, writer).map_or(0, WriterProxy::take_corrections);
        (0..count).for_each(|_| self.corrected(reader, writer, Correction::WriterPosition));
    }
}
