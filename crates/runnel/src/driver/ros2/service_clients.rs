//! Clients of services in the ROS 2 graph, and their calls.
//!
//! A request is sent once a server is ready: its reader of requests is matched, and its writer of replies has addressed
//! the client's reader. Otherwise the server could answer before it knows the reader, and its reply would be lost. A
//! request goes to one server alone. If that server ends, or does not acknowledge the request in time, another one that
//! is ready gets the request. The first reply counts.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_core::wire::Encoding;
use runnel_io::{clock, host};
use runnel_rtps::Sample;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, SequenceNumber, Timestamp, VendorId};

use super::Ros2;
use super::lost_replies::LostReplies;
use super::server_waits::ServerWaits;
use super::service_calls::{PendingCalls, ReadyServer, SILENCE};
use crate::data::{
    CallPath, LocalClient, PendingCall, RequestKey, ServiceCore, ServiceEnd, ServiceEvents, ServiceMemory,
};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::frame::Frame;
use crate::rtps::{CallHeader, Framing, Rtps, ServiceEnds, ServiceRole, ServiceTypeNames};

/// The clients of the nodes of this process, by the reader of replies.
#[derive(Default)]
pub(super) struct ServiceClients {
    clients: SortedMap<EntityId, ClientEnd>,
    /// A call may have a server that is ready.
    has_unsent: bool,
    /// When each participant sent its last reply.
    last_replies: SortedMap<GuidPrefix, Timestamp>,
}

/// One client.
pub(in crate::driver) struct ClientEnd {
    service: String,
    types: ServiceTypeNames,
    end: ServiceEnd,
    calls: PendingCalls,
    events: Arc<ServiceEvents>,
    waits: ServerWaits,
    /// The server in use.
    server: Option<Guid>,
    /// The servers that have not acknowledged a request in time.
    silent: BTreeSet<Guid>,
    lost_replies: LostReplies,
    /// The user has dropped it. It stays until its last call has ended.
    is_released: bool,
}

impl ServiceClients {
    pub(super) fn get_mut(&mut self, reader: EntityId) -> Option<&mut ClientEnd> {
        self.clients.get_mut(&reader)
    }

    pub(super) fn is_reader(&self, reader: EntityId) -> bool {
        self.clients.contains_key(&reader)
    }

    /// Records when a reply was sent.
    pub(super) fn note_reply(&mut self, sample: &Sample) {
        if let Some(stamp) = sample.stamp {
            self.last_replies.insert(sample.writer.prefix, stamp);
        }
    }

    /// When a participant sent the last received reply, by its own clock.
    pub(super) fn last_reply(&self, participant: GuidPrefix) -> Option<Timestamp> {
        self.last_replies.get(&participant).copied()
    }

    /// Removes a lost participant.
    pub(super) fn forget(&mut self, participant: GuidPrefix) {
        self.last_replies.remove(&participant);
    }

    /// Handles a match of an endpoint.
    pub(super) fn note_matched(&mut self, local: EntityId) {
        let is_of = |end: &ClientEnd| end.end.ends.reader == local || end.end.ends.writer.id() == local;
        self.has_unsent |= self.clients.values().any(|end| is_of(end) && end.needs_server());
    }

    /// Handles an unmatched endpoint, which may be a server's.
    pub(super) fn unmatched(&mut self, local: EntityId, remote: Guid) {
        for end in self.clients.values_mut().filter(|end| end.end.ends.writer.id() == local) {
            end.server.take_if(|server| *server == remote);
            end.silent.remove(&remote);
            end.calls.forget_server(remote);
            self.has_unsent |= end.needs_server();
        }
    }
}

impl Ros2 {
    /// Adds a client, and returns its reader of replies. `None` if the process is not in the graph.
    pub(in crate::driver) fn add_client(
        &mut self,
        node: NodeKey,
        service: &str,
        types: &ServiceTypeNames,
        memory: ServiceMemory,
        effects: &mut Effects,
    ) -> io::Result<Option<EntityId>> {
        let id = host::random()?;
        let made = self.create_service_end((node, ServiceRole::Client), service, types, memory)?;
        let Some(end) = made else { return Ok(None) };
        let (reader, events) = (end.ends.reader, Arc::<ServiceEvents>::default());
        let client = ClientEnd {
            service: service.to_owned(),
            types: types.clone(),
            end,
            calls: PendingCalls::new(id, Arc::clone(&events)),
            events,
            waits: ServerWaits::default(),
            server: None,
            silent: BTreeSet::new(),
            lost_replies: LostReplies::default(),
            is_released: false,
        };
        self.services.clients.clients.insert(reader, client);
        effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        Ok(Some(reader))
    }

    /// The reader and the writer of a client.
    pub(in crate::driver) fn ends_of_client(&self, client: EntityId) -> Option<[EntityId; 2]> {
        let ends = &self.services.clients.clients.get(&client)?.end.ends;
        Some([ends.reader, ends.writer.id()])
    }

    /// Removes a client and returns it. Its calls get no response.
    pub(in crate::driver) fn remove_client(
        &mut self,
        client: EntityId,
        effects: &mut Effects,
    ) -> Option<ClientEnd> {
        let end = self.services.clients.clients.remove(&client)?;
        self.remove_service_end(&end.end.ends, effects);
        Some(end)
    }

    /// The events of a client.
    pub(in crate::driver) fn events_of_client(&self, client: EntityId) -> Option<Arc<ServiceEvents>> {
        Some(Arc::clone(&self.services.clients.clients.get(&client)?.events))
    }

    /// Releases a client that the user has dropped. Returns whether it can be removed: it has no call.
    pub(in crate::driver) fn release_client(&mut self, client: EntityId) -> bool {
        let end = self.services.clients.clients.get_mut(&client);
        end.is_some_and(|end| {
            end.is_released = true;
            end.calls.is_empty()
        })
    }

    /// The clients of a node that its user has dropped.
    pub(in crate::driver) fn released_clients_of(&self, node: NodeKey) -> Vec<EntityId> {
        let clients = self.services.clients.clients.iter();
        let released = clients.filter(|(_, end)| end.is_released);
        let is_of = |reader: &EntityId| self.readers.get(reader).is_some_and(|end| end.node == node);
        released.map(|(reader, _)| *reader).filter(is_of).collect()
    }

    /// Begins a call. A `local` service, of this process, gets the request at once. Returns the call's path; `None` if the
    /// client is gone.
    pub(in crate::driver) fn begin_ros2_call(
        &mut self,
        client: EntityId,
        (request, local): (Vec<u8>, Option<&ServiceCore>),
        until: Option<Instant>,
        pending: Arc<PendingCall>,
        effects: &mut Effects,
    ) -> Option<CallPath> {
        let rtps = self.rtps.clone()?;
        let end = self.services.clients.clients.get_mut(&client)?;
        let begin = |end: &mut ClientEnd, request| {
            let number = end.calls.add(request, until, Arc::clone(&pending));
            pending.begin(CallPath::Ros2(client, number));
            number
        };
        let number = if let Some(core) = local {
            let number = begin(end, None);
            core.push_local(request, end.as_local().call(number, Arc::clone(&pending)));
            number
        } else {
            let number = begin(end, Some(request));
            self.services.clients.has_unsent |= end.send_due(&rtps, effects);
            number
        };
        if let Some(until) = until {
            effects.schedule_if_earlier(Deadline::ServiceCalls, until);
        }
        Some(CallPath::Ros2(client, number))
    }

    /// Identifies a further request of a client, which no server gets.
    pub(in crate::driver) fn next_request_key(&mut self, client: EntityId) -> Option<RequestKey> {
        let end = self.services.clients.clients.get_mut(&client)?;
        let number = end.calls.next_number();
        Some(end.as_local().key(number))
    }

    /// Ends a call. Returns whether the client can be removed: it is released, and has no other call.
    pub(in crate::driver) fn end_ros2_call(&mut self, client: EntityId, number: i64) -> bool {
        let Some(end) = self.services.clients.clients.get_mut(&client) else { return false };
        end.calls.remove(number);
        end.is_released && end.calls.is_empty()
    }

    /// Begins to wait for a server, until `wait` is dropped. False if the client is gone.
    pub(in crate::driver) fn await_server(
        &mut self,
        client: EntityId,
        wait: &Arc<PendingCall>,
        effects: &mut Effects,
    ) -> bool {
        let Self { rtps: Some(rtps), services, .. } = self else { return false };
        let Some(end) = services.clients.clients.get_mut(&client) else { return false };
        end.waits.add(wait);
        services.clients.has_unsent |= end.send_due(rtps, effects);
        true
    }

    /// Completes the waits for a service that a node of this process provides now, and gives it the requests that wait
    /// for a server.
    pub(in crate::driver) fn serve_in_process(&mut self, core: &ServiceCore, types: &ServiceTypeNames) {
        let clients = self.services.clients.clients.values_mut();
        for end in clients.filter(|end| end.service == core.service) {
            end.waits.complete();
            if end.types == *types {
                let client = end.as_local();
                end.calls.give_unsent(|number, request, pending| {
                    core.push_local(request, client.call(number, pending));
                });
            }
        }
    }

    /// Whether a server is ready for a client.
    pub(in crate::driver) fn is_server_ready(&self, client: EntityId) -> bool {
        let end = self.services.clients.clients.get(&client);
        self.rtps.as_ref().zip(end).is_some_and(|(rtps, end)| !rtps.ready_servers(&end.end.ends).is_empty())
    }

    /// Sends the requests whose servers have become ready.
    pub(in crate::driver) fn send_due_requests(&mut self, effects: &mut Effects) {
        let Self { rtps: Some(rtps), services, .. } = self else { return };
        let clients = &mut services.clients;
        if std::mem::take(&mut clients.has_unsent) {
            let ends = clients.clients.values_mut();
            clients.has_unsent = ends.fold(false, |any, end| end.send_due(rtps, effects) | any);
        }
    }

    /// Ends the calls whose time is over, and checks which requests have arrived.
    pub(in crate::driver) fn check_calls(&mut self, now: Instant, effects: &mut Effects) {
        let clients = &mut self.services.clients;
        let mut next = None;
        for end in clients.clients.values_mut() {
            let missing = |server| end.end.ends.writer.unacknowledged_numbers(server);
            let (silent, due) = end.calls.check_arrival(now, missing);
            clients.has_unsent |= !silent.is_empty();
            end.silent = silent;
            next = end.calls.expire(now).into_iter().chain(due).chain(next).min();
        }
        if let Some(next) = next {
            effects.schedule_if_earlier(Deadline::ServiceCalls, next);
        }
    }

    /// Handles the end of shared memory with a process: requests that it carried may go by RTPS now.
    pub(in crate::driver) fn recheck_calls(&mut self, effects: &mut Effects) {
        let clients = self.services.clients.clients.values_mut();
        if clients.fold(false, |any, end| end.calls.forget_arrival() | any) {
            effects.schedule_if_earlier(Deadline::ServiceCalls, clock::monotonic() + SILENCE);
        }
    }
}

impl ClientEnd {
    fn as_local(&self) -> LocalClient {
        let ServiceEnd { rtps, ends, .. } = &self.end;
        LocalClient { guid: rtps.prefix().with(ends.writer.id()), events: Arc::clone(&self.events) }
    }

    /// Whether a call or a wait needs a server.
    fn needs_server(&self) -> bool {
        !self.calls.is_empty() || !self.waits.is_empty()
    }

    /// Sends requests to the servers that are ready. Returns whether any request or wait is left.
    fn send_due(&mut self, rtps: &Rtps, effects: &mut Effects) -> bool {
        if !self.needs_server() {
            return false;
        }
        let mut servers = rtps.ready_servers(&self.end.ends);
        if servers.is_empty() {
            return self.calls.has_unsent() || !self.waits.is_empty();
        }
        servers.sort_by_key(|server| (self.silent.contains(server), self.server != Some(*server)));
        self.server = servers.first().copied();
        self.waits.complete();
        for server in servers {
            self.send_due_to(server, rtps, effects);
        }
        self.calls.has_unsent()
    }

    fn send_due_to(&mut self, server: Guid, rtps: &Rtps, effects: &mut Effects) {
        let Some(vendor) = rtps.vendor_of(server.prefix) else { return };
        let (framing, ends) = (Framing::of(vendor), &self.end.ends);
        let send = |request: &[u8], header: CallHeader| {
            let (payload, related) = framed(framing, request, (rtps, ends), header);
            let sent = self.end.send(&Frame::new(Encoding::Xcdr1, payload), (server, related)).ok()?;
            // As the server knows it.
            let (end, number) = match framing {
                Framing::Header => (ends.writer.id(), header.number),
                Framing::InlineQos => (ends.reader, i64::try_from(sent).unwrap_or(i64::MAX)),
            };
            Some((sent, (rtps.prefix().with(end).to_bytes(), number)))
        };
        let (to, now) =
            (ReadyServer { server, deduplicates: vendor == VendorId::RUNNEL }, clock::monotonic());
        if self.calls.send_due(to, now, send) {
            effects.schedule_if_earlier(Deadline::ServiceCalls, now + SILENCE);
        }
    }

    /// Counts replies that were lost while a call is pending. Returns the service and their number if it is to be logged.
    pub(super) fn note_lost_replies(&mut self, count: u64) -> Option<(String, u64)> {
        let lost = if self.calls.is_empty() { None } else { self.lost_replies.add(count) };
        lost.map(|lost| (self.service.clone(), lost))
    }

    /// Takes a reply. Returns a warning if it cannot be right.
    pub(super) fn on_reply(
        &mut self,
        (rtps, vendor): (&Rtps, VendorId),
        sample: &Sample,
        datagram: &[u8],
    ) -> Option<String> {
        let ends = &self.end.ends;
        let own = [ends.reader, ends.writer.id()].map(|id| rtps.prefix().with(id));
        let payload = sample.payload.bytes(datagram);
        let unknown_replies =
            self.calls.on_reply(own, Framing::of(vendor), (sample.writer, sample.related), payload)?;
        let (service, writer) = (&self.service, sample.writer);
        unknown_replies.is_power_of_two().then(|| {
            format!(
                "service {service}: a reply of {writer} answers no pending call; such replies: {unknown_replies}"
            )
        })
    }
}

/// A request as a server expects it: its payload, and the identity in its inline QoS.
fn framed(
    framing: Framing,
    request: &[u8],
    (rtps, ends): (&Rtps, &ServiceEnds),
    header: CallHeader,
) -> (Vec<u8>, Option<SampleIdentity>) {
    let mut payload = request.to_vec();
    match framing {
        Framing::Header => {
            header.insert(&mut payload);
            (payload, None)
        }
        Framing::InlineQos => {
            let guid = rtps.prefix().with(ends.reader);
            (payload, Some(SampleIdentity { guid, number: SequenceNumber::UNKNOWN }))
        }
    }
}
