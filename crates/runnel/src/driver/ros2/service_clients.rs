//! Clients of services in the ROS 2 graph, and their calls.
//!
//! A request is sent once a server is ready: its reader of requests is matched, and its writer of replies has addressed
//! the client's reader. Otherwise the server could answer before it knows the reader, and its reply would be lost. A
//! request goes to one server alone. If that server ends, or another one becomes ready before it has acknowledged the
//! request, the request is sent to the other one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_core::wire::Encoding;
use runnel_io::host;
use runnel_ros1::node::ServiceFailure;
use runnel_rtps::Sample;
use runnel_rtps::wire::{EntityId, Guid, SampleIdentity, SequenceNumber};

use super::Ros2;
use crate::data::{CallPath, PendingCall};
use crate::driver::effect::{Deadline, Effect, Effects};
use crate::driver::nodes::NodeKey;
use crate::frame::Frame;
use crate::rtps::{
    CallHeader, Framing, Rtps, ServiceEnds, ServiceRole, ServiceTypeNames, failure_in, number,
};

/// The clients of the nodes of this process, by the reader of replies.
#[derive(Default)]
pub(super) struct ServiceClients {
    clients: SortedMap<EntityId, ClientEnd>,
    /// A call may have a server that is ready.
    has_unsent: bool,
}

/// One client.
pub(super) struct ClientEnd {
    node: NodeKey,
    service: String,
    ends: ServiceEnds,
    /// Its number in headers.
    id: u64,
    /// Calls without a response, by number.
    calls: BTreeMap<i64, Call>,
    last_call: i64,
    /// The server in use.
    server: Option<Guid>,
    /// Replies that answer no call.
    unknown_replies: u64,
}

struct Call {
    /// The payload of the request; `None` if a service of this process has it.
    request: Option<Vec<u8>>,
    pending: Arc<PendingCall>,
    until: Option<Instant>,
    sent: Option<Sent>,
}

/// The server to which a request was sent, and its number there.
#[derive(Clone, Copy)]
struct Sent {
    server: Guid,
    number: u64,
}

impl ServiceClients {
    pub(super) fn get_mut(&mut self, reader: EntityId) -> Option<&mut ClientEnd> {
        self.clients.get_mut(&reader)
    }

    pub(super) fn endpoints(&self) -> impl Iterator<Item = (NodeKey, EntityId, EntityId)> {
        self.clients.iter().map(|(reader, end)| (end.node, *reader, end.ends.writer.id()))
    }

    /// Handles a match of an endpoint.
    pub(super) fn note_matched(&mut self, local: EntityId) {
        let is_of = |end: &ClientEnd| end.ends.reader == local || end.ends.writer.id() == local;
        self.has_unsent |= self.clients.values().any(|end| is_of(end) && !end.calls.is_empty());
    }
}

impl Ros2 {
    /// Adds a client, and returns its reader of replies. `None` if the process is not in the graph.
    pub(in crate::driver) fn add_client(
        &mut self,
        node: NodeKey,
        service: &str,
        types: &ServiceTypeNames,
        effects: &mut Effects,
    ) -> io::Result<Option<EntityId>> {
        let Some(rtps) = self.rtps.clone() else { return Ok(None) };
        let (ends, id) = (rtps.create_service_ends(ServiceRole::Client, service, types)?, host::random()?);
        let reader = ends.reader;
        let client = ClientEnd {
            node,
            service: service.to_owned(),
            ends,
            id,
            calls: BTreeMap::new(),
            last_call: 0,
            server: None,
            unknown_replies: 0,
        };
        self.services.clients.clients.insert(reader, client);
        effects.extend([Effect::NodesChanged, Effect::ParticipantUsed]);
        Ok(Some(reader))
    }

    /// Removes a client. Its calls get no response.
    pub(in crate::driver) fn remove_client(&mut self, client: EntityId, effects: &mut Effects) {
        let Some(end) = self.services.clients.clients.remove(&client) else { return };
        if let Some(rtps) = &self.rtps {
            rtps.remove_service_ends(&end.ends);
        }
        effects.push_back(Effect::NodesChanged);
    }

    /// Begins a call. Without a request, a service of this process has it. Returns the number of the call; `None` if
    /// the client is gone.
    pub(in crate::driver) fn begin_ros2_call(
        &mut self,
        client: EntityId,
        request: Option<Vec<u8>>,
        until: Option<Instant>,
        pending: Arc<PendingCall>,
        effects: &mut Effects,
    ) -> Option<i64> {
        let rtps = self.rtps.clone()?;
        let end = self.services.clients.clients.get_mut(&client)?;
        end.last_call += 1;
        let number = end.last_call;
        pending.begin(CallPath::Ros2(client, number));
        end.calls.insert(number, Call { request, pending, until, sent: None });
        self.services.clients.has_unsent |= end.send_due(&rtps);
        if let Some(until) = until {
            effects.schedule_if_earlier(Deadline::ServiceCalls, until);
        }
        Some(number)
    }

    /// Ends a call.
    pub(in crate::driver) fn end_ros2_call(&mut self, client: EntityId, number: i64) {
        if let Some(end) = self.services.clients.clients.get_mut(&client) {
            end.calls.remove(&number);
        }
    }

    /// Whether a server is ready for a client.
    pub(in crate::driver) fn is_server_ready(&self, client: EntityId) -> bool {
        let end = self.services.clients.clients.get(&client);
        let ready =
            self.rtps.as_ref().zip(end).and_then(|(rtps, end)| rtps.ready_server(&end.ends, end.server));
        ready.is_some()
    }

    /// Whether a client has matched a server, which may not be ready yet.
    pub(in crate::driver) fn has_server(&self, client: EntityId) -> bool {
        let end = self.services.clients.clients.get(&client);
        let matched = self.rtps.as_ref().zip(end).map(|(rtps, end)| rtps.matched(end.ends.writer.id()));
        matched.is_some_and(|matched| !matched.is_empty())
    }

    /// Sends the requests whose servers have become ready.
    pub(in crate::driver) fn send_due_requests(&mut self) {
        let Self { rtps: Some(rtps), services, .. } = self else { return };
        let clients = &mut services.clients;
        if std::mem::take(&mut clients.has_unsent) {
            let ends = clients.clients.values_mut();
            clients.has_unsent = ends.fold(false, |any, end| end.send_due(rtps) | any);
        }
    }

    /// Handles an unmatched endpoint, which may be a server's.
    pub(in crate::driver) fn service_unmatched(&mut self, local: EntityId, remote: Guid) {
        let clients = &mut self.services.clients;
        for end in clients.clients.values_mut().filter(|end| end.ends.writer.id() == local) {
            end.server.take_if(|server| *server == remote);
            for call in end.calls.values_mut() {
                call.sent.take_if(|sent| sent.server == remote);
            }
            clients.has_unsent |= !end.calls.is_empty();
        }
    }

    /// Ends the calls whose time is over.
    pub(in crate::driver) fn expire_calls(&mut self, now: Instant, effects: &mut Effects) {
        let mut next = None;
        for end in self.services.clients.clients.values_mut() {
            end.expire_calls(now);
            let deadlines = end.calls.values().filter_map(|call| call.until);
            next = deadlines.chain(next).min();
        }
        if let Some(next) = next {
            effects.schedule_if_earlier(Deadline::ServiceCalls, next);
        }
    }
}

impl ClientEnd {
    /// Sends requests to the server that is ready. Returns whether any request waits.
    fn send_due(&mut self, rtps: &Rtps) -> bool {
        if self.calls.is_empty() {
            return false;
        }
        let is_unsent = |call: &Call| call.sent.is_none() && call.request.is_some();
        let Some(server) = rtps.ready_server(&self.ends, self.server) else {
            return self.calls.values().any(is_unsent);
        };
        self.server = Some(server);
        let Some(vendor) = rtps.vendor_of(server.prefix) else { return true };
        let framing = Framing::of(vendor);
        let Self { calls, ends, id, .. } = self;
        for (number, call) in calls.iter_mut() {
            let Some(request) = &call.request else { continue };
            let is_due = call.sent.is_none_or(|sent| {
                // The former server is silent, and may have ended.
                sent.server != server && ends.writer.unacknowledged_by(sent.server) > 0
            });
            if !is_due {
                continue;
            }
            let (payload, related) =
                framed(framing, request, (rtps, ends), CallHeader { client: *id, number: *number });
            let frame = Frame::new(Encoding::Xcdr1, payload);
            if let Ok(number) = rtps.write_to(&ends.writer, frame, (server, related)) {
                call.sent = Some(Sent { server, number });
            }
        }
        calls.values().any(is_unsent)
    }

    /// Takes a reply. Returns a warning if it cannot be right.
    pub(super) fn on_reply(&mut self, rtps: &Rtps, sample: &Sample, datagram: &[u8]) -> Option<String> {
        let payload = sample.payload.bytes(datagram);
        let vendor = rtps.vendor_of(sample.writer.prefix)?;
        let (call, response) = match (Framing::of(vendor), sample.related) {
            (Framing::InlineQos, Some(related)) => {
                let own = [rtps.prefix().with(self.ends.reader), rtps.prefix().with(self.ends.writer.id())];
                // Every client of a service hears the replies to all.
                if !own.contains(&related.guid) {
                    return None;
                }
                (self.call_sent_as(number(related.number)), Ok(payload.to_vec()))
            }
            (Framing::Header, _) => {
                let Some((header, response)) = CallHeader::split(payload) else {
                    return self.unknown_reply(sample.writer);
                };
                if header.client != self.id {
                    return None;
                }
                let failed = header.number < 0;
                let response = if failed { Err(failure_in(&response)) } else { Ok(response) };
                (header.number.checked_abs(), response)
            }
            (Framing::InlineQos, None) => (None, Ok(Vec::new())),
        };
        // Only the server that has the request can answer it.
        let is_from_server = |sent: Sent| sent.server.prefix == sample.writer.prefix;
        let is_expected =
            |number: &i64| self.calls.get(number).is_some_and(|call| call.sent.is_some_and(is_from_server));
        match call.filter(is_expected).and_then(|call| self.calls.remove(&call)) {
            Some(call) => call.pending.complete(Ok(response)),
            None => return self.unknown_reply(sample.writer),
        }
        None
    }

    fn call_sent_as(&self, number: u64) -> Option<i64> {
        let is_it = |call: &Call| call.sent.is_some_and(|sent| sent.number == number);
        self.calls.iter().find(|(_, call)| is_it(call)).map(|(number, _)| *number)
    }

    /// Counts a reply that answers no call: one that was given up, or one that was forged.
    fn unknown_reply(&mut self, writer: Guid) -> Option<String> {
        self.unknown_replies += 1;
        let (service, count) = (&self.service, self.unknown_replies);
        count.is_power_of_two().then(|| {
            format!("service {service}: a reply of {writer} answers no pending call; such replies: {count}")
        })
    }

    fn expire_calls(&mut self, now: Instant) {
        let is_over = |call: &mut Call| call.until.is_some_and(|until| until <= now);
        let over: Vec<Call> =
            self.calls.extract_if(.., |_, call| is_over(call)).map(|(_, call)| call).collect();
        for call in over {
            let waiting_for = if call.sent.is_some() || call.request.is_none() {
                "its response"
            } else {
                "a node that provides it in ROS 2"
            };
            call.pending.complete(Err(ServiceFailure::TimedOut { waiting_for }));
        }
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
