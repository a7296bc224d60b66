//! Servers of services in the ROS 2 graph, and the dispatch of their requests.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_io::clock;
use runnel_rtps::Sample;
use runnel_rtps::wire::{EntityId, EntityKind, Guid, VendorId};

use super::Ros2;
use super::service_clients::ServiceClients;
use crate::data::{Addressee, Replies, RequestIdentity, ServiceCore};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::rtps::{CallHeader, Framing, Rtps, ServiceRole, ServiceTypeNames};

/// How often held replies are tried again, besides when a reader is matched.
const RETRY: Duration = Duration::from_millis(20);

/// Servers and clients of the nodes of this process.
#[derive(Default)]
pub(in crate::driver) struct Services {
    /// By the reader of requests.
    servers: SortedMap<EntityId, ServerEnd>,
    pub(super) clients: ServiceClients,
}

struct ServerEnd {
    node: NodeKey,
    core: Weak<ServiceCore>,
    replies: Arc<Replies>,
}

impl Services {
    /// The endpoints of the nodes of this process: the reader and the writer of each service end, and its node.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = (NodeKey, EntityId, EntityId)> {
        let servers =
            self.servers.iter().map(|(reader, end)| (end.node, *reader, end.replies.ends().writer.id()));
        servers.chain(self.clients.endpoints())
    }
}

impl Ros2 {
    /// Adds a server of a service. False if the process has left the graph.
    pub(in crate::driver) fn add_server(
        &mut self,
        node: NodeKey,
        core: &Arc<ServiceCore>,
        types: &ServiceTypeNames,
        effects: &mut Effects,
    ) -> io::Result<bool> {
        let Some(rtps) = self.rtps.clone() else { return Ok(false) };
        let ends = rtps.create_service_ends(ServiceRole::Server, &core.service, types)?;
        let reader = ends.reader;
        let replies = Replies::new(core.service.clone(), rtps, ends);
        self.services.servers.insert(reader, ServerEnd { node, core: Arc::downgrade(core), replies });
        effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        Ok(true)
    }

    /// The replies of a server.
    pub(in crate::driver) fn replies_of(&self, core: &Arc<ServiceCore>) -> Option<Arc<Replies>> {
        let mut servers = self.services.servers.values();
        servers
            .find(|end| std::ptr::eq(end.core.as_ptr(), Arc::as_ptr(core)))
            .map(|end| Arc::clone(&end.replies))
    }

    /// Removes a server.
    pub(in crate::driver) fn remove_server(&mut self, core: &Arc<ServiceCore>, effects: &mut Effects) {
        let Some(replies) = self.replies_of(core) else { return };
        self.services.servers.remove(&replies.ends().reader);
        if let Some(rtps) = &self.rtps {
            rtps.remove_service_ends(replies.ends());
        }
        effects.push_back(Effect::NodesChanged);
    }

    /// Whether a process has announced both endpoints of a server.
    pub(in crate::driver) fn is_service_announced(&self, service: &str) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.has_server_of(service))
    }

    /// Whether all clients have acknowledged all replies.
    pub(super) fn are_replies_acknowledged(&self) -> bool {
        self.services.servers.values().all(|end| end.replies.are_acknowledged())
    }

    /// Takes a sample of a service. Returns whether it is one.
    pub(super) fn on_service_sample(&mut self, sample: &Sample, datagram: &[u8]) -> bool {
        let Self { rtps: Some(rtps), services, .. } = self else { return false };
        let line = if let Some(end) = services.servers.get(&sample.reader) {
            end.on_request(rtps, sample, datagram)
        } else if let Some(client) = services.clients.get_mut(sample.reader) {
            client.on_reply(rtps, sample, datagram)
        } else {
            return false;
        };
        if let Some(line) = line {
            self.warn_of_participant(format_args!("{line}"));
        }
        true
    }

    /// Handles a match of an endpoint, which may be of a service.
    pub(in crate::driver) fn service_matched(&mut self, local: EntityId, effects: &mut Effects) {
        if self.services.servers.values().any(|end| end.replies.ends().writer.id() == local) {
            self.send_held_replies(effects);
        }
        self.services.clients.note_matched(local);
    }

    /// Sends replies that were held, if their readers are matched now.
    pub(in crate::driver) fn send_held_replies(&self, effects: &mut Effects) {
        let now = clock::monotonic();
        let any_left =
            self.services.servers.values().fold(false, |any, end| end.replies.send_held(now) | any);
        if any_left {
            effects.schedule_if_earlier(Deadline::HeldReplies, now + RETRY);
        }
    }
}

impl ServerEnd {
    /// Takes a request. Returns a warning if it is not accepted.
    fn on_request(&self, rtps: &Rtps, sample: &Sample, datagram: &[u8]) -> Option<String> {
        let core = self.core.upgrade()?;
        let payload = sample.payload.bytes(datagram);
        let vendor = rtps.vendor_of(sample.writer.prefix)?;
        let Some((to, request)) = addressee(vendor, sample, payload) else {
            let (service, client) = (self.replies.service(), sample.writer);
            return Some(format!("service {service}: a request of client {client} has no header"));
        };
        if let Some(request_of) = self.replies.admit(to) {
            core.push_ros2(request, request_of);
        }
        None
    }
}

/// The client of a request, and the request without its header. `None` if it lacks the header.
fn addressee(vendor: VendorId, sample: &Sample, payload: &[u8]) -> Option<(Addressee, Vec<u8>)> {
    let client = sample.writer;
    let reads_failures = vendor == VendorId::RUNNEL;
    if Framing::of(vendor) == Framing::Header {
        let (header, request) = CallHeader::split(payload)?;
        let identity = RequestIdentity::Header(header);
        return Some((Addressee { client, reader: None, identity, reads_failures }, request));
    }
    // A reader of another participant would get replies that it has not asked for.
    let is_of_client = |guid: &Guid| guid.prefix == client.prefix;
    let related = sample.related.filter(|related| is_of_client(&related.guid));
    let reader = related.map(|related| related.guid).filter(|guid| guid.entity.kind() == EntityKind::Reader);
    let identity = RequestIdentity::of_inline_qos(related, client, sample.number);
    Some((Addressee { client, reader, identity, reads_failures }, payload.to_vec()))
}
