//! Endpoint discovery (SEDP): announcements of local endpoints, and handling of remote ones.

use super::{Participant, Peer, discovery_reader, discovery_writer};
use crate::announce::{self, Endpoint, Role};
use crate::event::Event;
use crate::fault::PeerFault;
use crate::wire::{EntityId, Guid, GuidPrefix, Parameters, Payload, SequenceNumber, Timestamp};
use alloc::boxed::Box;
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl Participant {
    /// Announces a local endpoint to every participant.
    pub(super) fn write_announcement(&mut self, now: Instant, stamp: Timestamp, endpoint: &Endpoint) {
        let mut out = Vec::new();
        endpoint.emit(&mut out);
        self.write_discovery(now, stamp, endpoint.guid, out, false);
    }

    /// Announces the end of a local endpoint to every participant.
    pub(super) fn write_disposal(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        let guid = self.config.prefix.with(id);
        self.write_discovery(now, stamp, guid, announce::key(guid), true);
    }

    fn write_discovery(&mut self, now: Instant, stamp: Timestamp, key: Guid, bytes: Vec<u8>, disposed: bool) {
        let role = match key.entity.kind() {
            crate::wire::EntityKind::Writer => Role::Writer,
            _ => Role::Reader,
        };
        let announcer = discovery_writer(role);
        if let Some(writer) = self.writers.get_mut(&announcer) {
            writer.write_keyed(now, stamp, bytes.into(), key, disposed);
            self.wake_discovery_of_all();
        }
    }

    /// Handles a sample of a local discovery reader.
    pub(super) fn handle_discovery_sample(
        &mut self,
        now: Instant,
        reader: EntityId,
        (writer, number): (Guid, SequenceNumber),
        inline_qos: Parameters<'_>,
        payload: Payload<'_>,
    ) {
        let role = match reader {
            EntityId::PUBLICATIONS_READER => Role::Writer,
            EntityId::SUBSCRIPTIONS_READER => Role::Reader,
            _ => return self.handle_liveliness_message(now, writer.prefix, payload.bytes()),
        };
        if announce::is_disposed(inline_qos) || matches!(payload, Payload::Key(_)) {
            let guid = announce::key_of(inline_qos, payload);
            // The rest of such a sample is not kept when it has to wait.
            self.reads.note_sample(writer, guid.map(announce::key).as_deref().unwrap_or(&[]));
            if let Some(guid) = guid.filter(|guid| guid.prefix == writer.prefix) {
                self.handle_endpoint_end(now, guid);
            }
            return;
        }
        self.reads.note_sample(writer, payload.bytes());
        match Endpoint::parse(role, payload.bytes()) {
            Ok(endpoint) if endpoint.guid.prefix == writer.prefix => {
                self.handle_endpoint_data(now, endpoint, Some(number));
            }
            Ok(endpoint) => {
                let (participant, owner) = (writer.prefix, endpoint.guid.prefix);
                self.push_event(Event::PeerFault(PeerFault::ForeignEndpoint { participant, owner }));
            }
            Err(error) => {
                self.push_event(Event::PeerFault(PeerFault::BadEndpoint {
                    participant: writer.prefix,
                    error,
                }));
            }
        }
    }

    /// Returns whether an endpoint announcement may be handled. The number is limited for an unproved participant;
    /// further announcements are not acknowledged, and requested until they arrive.
    pub(super) fn can_announce(&self, reader: EntityId, prefix: GuidPrefix) -> bool {
        let is_of_endpoints =
            reader == discovery_reader(Role::Writer) || reader == discovery_reader(Role::Reader);
        !is_of_endpoints
            || self.peers.get(prefix).is_none_or(|peer| peer.is_proved() || !self.is_at_endpoint_limit(peer))
    }

    fn is_at_endpoint_limit(&self, peer: &Peer) -> bool {
        peer.endpoints.len() >= self.config.limits.unproved_endpoints
    }

    /// Requests the remaining endpoints of a participant that has proved its address.
    pub(super) fn request_endpoints(&mut self, now: Instant, prefix: GuidPrefix) {
        if !self.peers.get(prefix).is_some_and(|peer| self.is_at_endpoint_limit(peer)) {
            return;
        }
        for role in [Role::Writer, Role::Reader] {
            let writer = prefix.with(discovery_writer(role));
            self.check_discovery(now, writer);
            self.finish_handling(now, discovery_reader(role), writer);
        }
    }

    /// Handles the announcement of an endpoint by the sample of a discovery writer with this number, or from memory.
    pub(super) fn handle_endpoint_data(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        announced_at: Option<SequenceNumber>,
    ) {
        let guid = endpoint.guid;
        self.note_announced_endpoint(guid);
        let most = self.config.limits.endpoints;
        let Some(peer) = self.peers.get_mut(guid.prefix) else { return };
        if peer.endpoints.len() >= most && !peer.endpoints.contains_key(&guid.entity) {
            let fault = PeerFault::TooManyEndpoints { participant: guid.prefix, limit: most };
            return self.push_event(Event::PeerFault(fault));
        }
        if !self.reserve_endpoint_memory(&endpoint) {
            let fault = PeerFault::EndpointMemoryExceeded { participant: guid.prefix };
            return self.push_event(Event::PeerFault(fault));
        }
        let former = self.peers.alter(guid.prefix, |peer| {
            peer.endpoint_bytes += endpoint.bytes();
            let former = peer.endpoints.insert(guid.entity, Box::new(endpoint));
            match announced_at {
                Some(at) => peer.announced_at.insert(guid.entity, at),
                None => peer.announced_at.remove(&guid.entity),
            };
            // One of the two may have been forged.
            peer.was_corrected |= former.is_some() && former.as_ref() != peer.endpoints.get(&guid.entity);
            peer.endpoint_bytes -= former.as_ref().map_or(0, |former| former.bytes());
            former
        });
        let former = former.flatten();
        let Some(peer) = self.peers.get(guid.prefix) else { return };
        if former.as_ref() == peer.endpoints.get(&guid.entity) {
            return;
        }
        if let Some(former) = former {
            self.check_discovery(now, guid.prefix.with(discovery_writer(former.role())));
            if self.endpoint(guid).is_some_and(|endpoint| requires_rematch(endpoint, &former)) {
                self.unmatch(guid);
            }
        }
        self.push_event(Event::EndpointFound(guid));
        self.match_remote(now, guid);
    }

    /// Handles the announced end of an endpoint, which may be forged: it is remembered.
    pub(super) fn handle_endpoint_end(&mut self, now: Instant, guid: Guid) {
        if let Some(known) = self.drop_endpoint(guid) {
            self.remember_endpoint(now, known);
        }
    }

    /// Removes an endpoint; returns its data.
    pub(super) fn drop_endpoint(&mut self, guid: Guid) -> Option<Endpoint> {
        let known = self.peers.alter(guid.prefix, |peer| {
            let known = peer.endpoints.remove(&guid.entity)?;
            peer.announced_at.remove(&guid.entity);
            peer.endpoint_bytes -= known.bytes();
            Some(*known)
        })??;
        self.unmatch(guid);
        self.push_event(Event::EndpointLost(guid));
        Some(known)
    }
}

/// Returns whether immutable data of an endpoint has changed, so that one of the announcements was forged: it is
/// matched again.
fn requires_rematch(endpoint: &Endpoint, former: &Endpoint) -> bool {
    let fixed = |of: &Endpoint| (of.qos.reliability, of.qos.durability, of.expects_inline_qos);
    endpoint.topic != former.topic || fixed(endpoint) != fixed(former)
}
