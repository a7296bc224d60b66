//! Endpoints of participants: told and heard of.

use super::{Participant, teller_of};
use crate::announce::{self, Endpoint, Role};
use crate::event::Event;
use crate::stored::{Lend, Stored};
use crate::wire::{EntityId, Guid, Parameters, Payload, Timestamp};
use alloc::format;
use alloc::vec::Vec;
use runnel_core::time::Instant;

impl<P: Lend> Participant<P> {
    /// Tells every participant of an endpoint of ours.
    pub(super) fn tell_of_endpoint(&mut self, now: Instant, stamp: Timestamp, endpoint: &Endpoint) {
        let mut out = Vec::new();
        endpoint.emit(&mut out);
        self.write_discovery(now, stamp, endpoint.guid, out, false);
    }

    /// Tells every participant that an endpoint of ours is gone.
    pub(super) fn tell_of_end(&mut self, now: Instant, stamp: Timestamp, id: EntityId) {
        let guid = self.config.prefix.with(id);
        self.write_discovery(now, stamp, guid, announce::key(guid), true);
    }

    fn write_discovery(&mut self, now: Instant, stamp: Timestamp, key: Guid, bytes: Vec<u8>, gone: bool) {
        let role = match key.entity.kind() {
            crate::wire::EntityKind::Writer => Role::Writer,
            _ => Role::Reader,
        };
        let teller = teller_of(role);
        if let Some(writer) = self.writers.get_mut(&teller) {
            writer.write_keyed(now, stamp, Stored::Own(bytes.into()), key, gone);
            self.wake_writer(teller);
        }
    }

    /// A sample has come for an endpoint of discovery of ours.
    pub(super) fn discovered(
        &mut self,
        now: Instant,
        reader: EntityId,
        writer: Guid,
        inline_qos: Parameters<'_>,
        payload: Payload<'_>,
    ) {
        let role = match reader {
            EntityId::PUBLICATIONS_READER => Role::Writer,
            EntityId::SUBSCRIPTIONS_READER => Role::Reader,
            _ => return self.sign_heard(now, writer.prefix, payload.bytes()),
        };
        if announce::is_gone(inline_qos) || matches!(payload, Payload::Key(_)) {
            if let Some(guid) =
                announce::key_of(inline_qos, payload).filter(|guid| guid.prefix == writer.prefix)
            {
                self.endpoint_gone(now, guid);
            }
            return;
        }
        match Endpoint::parse(role, payload.bytes()) {
            Ok(endpoint) if endpoint.guid.prefix == writer.prefix => self.endpoint_found(now, endpoint),
            Ok(endpoint) => {
                let who = endpoint.guid.prefix;
                self.tell(Event::Trouble(format!(
                    "{} tells of an endpoint of {who}, which is refused",
                    writer.prefix
                )));
            }
            Err(why) => {
                self.tell(Event::Trouble(format!("an endpoint of {} is refused: {why}", writer.prefix)));
            }
        }
    }

    pub(super) fn endpoint_found(&mut self, now: Instant, endpoint: Endpoint) {
        let guid = endpoint.guid;
        self.note_told_of(guid);
        let most = self.config.limits.endpoints;
        let Some(peer) = self.peers.get_mut(guid.prefix) else { return };
        if peer.endpoints.len() >= most && !peer.endpoints.contains_key(&guid.entity) {
            return self.tell(Event::Trouble(format!("{} has more than {most} endpoints", guid.prefix)));
        }
        if !self.has_room_for(&endpoint) {
            return self
                .tell(Event::Trouble(format!("there is no room for another endpoint of {}", guid.prefix)));
        }
        let Some(peer) = self.peers.get_mut(guid.prefix) else { return };
        peer.endpoint_bytes += endpoint.bytes();
        let former = peer.endpoints.insert(guid.entity, endpoint);
        peer.endpoint_bytes -= former.as_ref().map_or(0, Endpoint::bytes);
        if former.as_ref() == peer.endpoints.get(&guid.entity) {
            return;
        }
        if let Some(former) = former {
            self.check_discovery(now, guid.prefix.with(teller_of(former.role())));
        }
        self.tell(Event::EndpointFound(guid));
        self.match_remote(now, guid);
    }

    pub(super) fn endpoint_gone(&mut self, now: Instant, guid: Guid) {
        let Some(peer) = self.peers.get_mut(guid.prefix) else { return };
        if let Some(known) = peer.endpoints.remove(&guid.entity) {
            peer.endpoint_bytes -= known.bytes();
            self.unmatch(guid);
            if known.role() == Role::Reader {
                self.reader_ended(&known);
            }
            self.tell(Event::EndpointLost(guid));
            self.keep_endpoint(now, known);
        }
    }
}
