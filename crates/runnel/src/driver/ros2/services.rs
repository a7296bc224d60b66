//! Servers of services in the ROS 2 graph, and the dispatch of their requests.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::{EntityId, EntityKind, Guid, SequenceNumber, VendorId};
use runnel_rtps::{Sample, SamplePayload};

use super::service_clients::ServiceClients;
use super::{ReaderEnd, Ros2, WriterEnd};
use crate::data::{
    ABSENCE, Addressee, Replies, RequestIdentity, ServiceCore, ServiceEnd, ServiceMemory, TopicInput,
};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::rtps::{CallHeader, Framing, ServiceEnds, ServiceRole, ServiceTypeNames};
use crate::sync::{Class, Mutex, lock};

/// How often held replies are tried again, besides when a reader is matched.
const RETRY: Duration = Duration::from_millis(20);

/// Servers and clients of the nodes of this process.
pub(in crate::driver) struct Services {
    /// By the reader of requests.
    servers: SortedMap<EntityId, ServerEnd>,
    pub(super) clients: ServiceClients,
    /// Messages from shared memory, which the event loop takes.
    received: Arc<Mutex<VecDeque<ReceivedInMemory>>>,
}

/// A message with its reader and its writer.
type ReceivedInMemory = (EntityId, Guid, Vec<u8>);

struct ServerEnd {
    core: Weak<ServiceCore>,
    replies: Arc<Replies>,
}

impl Default for Services {
    fn default() -> Self {
        let received = Arc::new(Mutex::new(Class::ServiceInputs, VecDeque::new()));
        Self { servers: SortedMap::new(), clients: ServiceClients::default(), received }
    }
}

impl Services {
    /// Whether a reader belongs to a server or a client.
    pub(super) fn is_reader(&self, reader: EntityId) -> bool {
        self.servers.contains_key(&reader) || self.clients.is_reader(reader)
    }
}

impl Ros2 {
    /// Adds a server of a service. False if the process has left the graph.
    pub(in crate::driver) fn add_server(
        &mut self,
        node: NodeKey,
        core: &Arc<ServiceCore>,
        types: &ServiceTypeNames,
        memory: ServiceMemory,
        effects: &mut Effects,
    ) -> io::Result<bool> {
        let made = self.create_service_end((node, ServiceRole::Server), &core.service, types, memory)?;
        let Some(end) = made else { return Ok(false) };
        let reader = end.ends.reader;
        let replies = Replies::new(core.service.clone(), end, core.refusal().cloned());
        self.services.servers.insert(reader, ServerEnd { core: Arc::downgrade(core), replies });
        effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        Ok(true)
    }

    /// Creates the endpoints of a server or a client. `None` if the process is not in the graph.
    pub(super) fn create_service_end(
        &mut self,
        (node, role): (NodeKey, ServiceRole),
        service: &str,
        types: &ServiceTypeNames,
        memory: ServiceMemory,
    ) -> io::Result<Option<ServiceEnd>> {
        let Some(rtps) = self.rtps.clone() else { return Ok(None) };
        let ends = rtps.create_service_ends(role, service, types)?;
        let (reader, writer) = (ends.reader, ends.writer.id());
        let (received, noting) = (Arc::clone(&self.services.received), Arc::clone(&rtps));
        let receive = move |from: Guid, payload: Vec<u8>| {
            lock(&received).push_back((reader, from, payload));
            noting.note_service_messages_due();
        };
        let end = ServiceEnd::new(service, (rtps, ends), memory, receive);
        let group = Arc::downgrade(&end.group);
        self.writers.insert(writer, WriterEnd { node, topic: service.to_owned(), group });
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(&end.input), &[]);
        self.readers.insert(reader, ReaderEnd::of_service(node, service, &end.input, input));
        Ok(Some(end))
    }

    /// Removes the endpoints of a server or a client, after all their matches.
    pub(super) fn remove_service_end(&mut self, ends: &ServiceEnds, effects: &mut Effects) {
        self.writers.remove(&ends.writer.id());
        self.readers.remove(&ends.reader);
        if let Some(rtps) = &self.rtps {
            rtps.remove_service_ends(ends);
        }
        effects.push_back(Effect::NodesChanged);
    }

    /// Takes the messages that services have received by shared memory.
    pub(in crate::driver) fn take_service_messages(&mut self) {
        let received = Arc::clone(&self.services.received);
        let next = || lock(&received).pop_front();
        while let Some((reader, writer, payload)) = next() {
            let payload = SamplePayload::Owned(payload);
            let number = SequenceNumber::FIRST;
            let sample = Sample { reader, writer, number, stamp: None, payload, related: None };
            // Only Runnel sends by shared memory. The participant may have been lost meanwhile.
            self.dispatch_service_sample(VendorId::RUNNEL, &sample, &[]);
        }
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
        self.remove_service_end(replies.ends(), effects);
    }

    /// Whether a process has announced both endpoints of a server.
    pub(in crate::driver) fn is_service_announced(&self, service: &str) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.has_server_of(service))
    }

    /// Whether all clients have acknowledged all replies.
    pub(super) fn are_replies_acknowledged(&self) -> bool {
        self.services.servers.values().all(|end| end.replies.are_acknowledged())
    }

    /// Takes a sample of a service.
    pub(super) fn on_service_sample(&mut self, sample: &Sample, datagram: &[u8]) {
        let vendor = self.rtps.as_ref().and_then(|rtps| rtps.vendor_of(sample.writer.prefix));
        if let Some(vendor) = vendor {
            self.dispatch_service_sample(vendor, sample, datagram);
        }
    }

    fn dispatch_service_sample(&mut self, vendor: VendorId, sample: &Sample, datagram: &[u8]) {
        let Self { rtps: Some(rtps), services, .. } = self else { return };
        let line = if let Some(end) = services.servers.get(&sample.reader) {
            end.on_request(vendor, sample, datagram)
        } else if let Some(client) = services.clients.get_mut(sample.reader) {
            let line = client.on_reply((rtps, vendor), sample, datagram);
            services.clients.note_reply(sample);
            line
        } else {
            return;
        };
        if let Some(line) = line {
            self.warn_of_participant(format_args!("{line}"));
        }
    }

    /// Handles a match of an endpoint, which may be of a service.
    pub(in crate::driver) fn service_matched(
        &mut self,
        local: EntityId,
        remote: Guid,
        effects: &mut Effects,
    ) {
        if let Some(server) = self.services.servers.get(&local) {
            server.replies.client_matched(remote);
        }
        if self.services.servers.values().any(|end| end.replies.ends().writer.id() == local) {
            self.send_held_replies(effects);
        }
        self.services.clients.note_matched(local);
    }

    /// Handles an unmatched endpoint, which may be of a service.
    pub(in crate::driver) fn service_unmatched(
        &mut self,
        local: EntityId,
        remote: Guid,
        effects: &mut Effects,
    ) {
        if let Some(server) = self.services.servers.get(&local) {
            let now = clock::monotonic();
            server.replies.client_gone(remote, now);
            effects.schedule_if_earlier(Deadline::AbsentClients, now + ABSENCE);
        }
        self.services.clients.unmatched(local, remote);
    }

    /// Gives up the requests of clients that have been gone for too long.
    pub(in crate::driver) fn forget_absent_clients(&self, now: Instant, effects: &mut Effects) {
        for server in self.services.servers.values() {
            let (absent, next) = server.replies.take_absent(now);
            if let Some(core) = server.core.upgrade().filter(|_| !absent.is_empty()) {
                core.forget_ros2_clients(&absent);
            }
            if let Some(next) = next {
                effects.schedule_if_earlier(Deadline::AbsentClients, next);
            }
        }
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
    fn on_request(&self, vendor: VendorId, sample: &Sample, datagram: &[u8]) -> Option<String> {
        let core = self.core.upgrade()?;
        let payload = sample.payload.bytes(datagram);
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
