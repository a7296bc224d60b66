//! Links that ROS 1 engines have made: their sockets carry messages from now on, and their peers may be on this host.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel_core::local_peer::LocalPeerId;
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::{PublisherLink, ServiceClientLink, ServiceLinkId, ServiceServerLink, SubscriberLink};

use crate::data::bridge_node::bridge_of_node;
use crate::data::{CallAnswer, LinkInfo, Publication};
use crate::driver::Driver;
use crate::driver::effect::{Deadline, Effect, JoiningSubscriber};
use crate::driver::ipc_connections::OtherEnd;
use crate::driver::ros1::ServiceInfo;
use crate::driver::sockets::{DualNode, Socket};
use crate::driver::table::Key;
use crate::log_output::console;

/// Maximum number of times that RTPS is read before a link begins, since pairs may end without end.
const MAX_READS: usize = 64;

impl Driver {
    /// Begins a link to a publisher.
    pub(super) fn join_publisher(&mut self, engine: Key, mut link: PublisherLink) {
        let Some(key) = self.sockets.key_of(engine, link.conn) else { return };
        let Some(topic) = self.node_of(engine).and_then(|node| node.inputs.get(&link.topic).cloned()) else {
            return;
        };
        let from = Arc::new(LinkInfo {
            is_bridge: bridge_of_node(&link.publisher).is_some(),
            publisher: std::mem::take(&mut link.publisher),
            type_name: std::mem::take(&mut link.type_name),
            md5: std::mem::take(&mut link.md5),
            definition: std::mem::take(&mut link.definition),
            latching: link.latching,
            stats: Arc::clone(&link.stats),
            dual_node_id: link.dual_node_id,
            ..LinkInfo::default()
        });
        if let Some(number) = link.datagrams {
            return self.sockets.join_datagrams(key, number, topic, &from, &mut self.effects);
        }
        if !self.sockets.join_publisher(key, topic, &from, &link) {
            return;
        }
        console::debug!("topic {}: publisher [{}] joined", link.topic, from.publisher);
        self.share_link(key);
        self.sockets.messages(key, &link.rest, &mut self.effects);
        self.link_share_changed(key);
        self.add_local_link(key, OtherEnd::Publisher, link.same_host);
    }

    /// Begins a link to a subscriber, after RTPS was read if the subscriber is a dual node.
    pub(super) fn join_subscriber(&mut self, engine: Key, link: SubscriberLink) {
        let Some(key) = self.sockets.key_of(engine, link.conn) else { return };
        let publication = self.node_of(engine).and_then(|node| node.outputs.get(&link.topic).cloned());
        let Some(publication) = publication else { return };
        if link.datagrams.is_some() {
            return self.sockets.join_datagram_subscriber(key, &publication, link, &mut self.effects);
        }
        if link.dual_node_id.is_none() {
            return self.begin_subscriber(key, &publication, link);
        }
        let joining = JoiningSubscriber { key, publication, link, reads: MAX_READS };
        self.read_before_join(Box::new(joining));
    }

    /// Reads RTPS before a link to a dual node begins. The node has announced its readers and ended its former link
    /// before it made this one. RTPS has the messages for these readers: of the kept messages, the link has only the
    /// last. When RTPS ends a pair, the rest is read after the event loop has handled that, for a limited number of
    /// times.
    fn read_before_join(&mut self, mut joining: Box<JoiningSubscriber>) {
        joining.reads = if self.receive_rtps() { 0 } else { joining.reads - 1 };
        for other in self.sockets.links_to_subscriber(&joining.publication, &joining.link.subscriber) {
            self.readable(other);
        }
        self.effects.push_back(Effect::SubscriberJoined(joining));
    }

    /// Continues with a link after RTPS was read. It begins once discovery has delivered the readers of its node: an
    /// announcement may wait while discovery is read again or an earlier one is missing.
    pub(super) fn continue_joining(&mut self, joining: Box<JoiningSubscriber>) {
        if joining.reads > 0 {
            return self.read_before_join(joining);
        }
        // Without a connection there is nothing to begin.
        let Some(node) = self.subscriber_node(&joining) else { return };
        if !self.awaits_readers_of(node) {
            self.sockets.joining.note_complete(node);
            return self.begin_joined(*joining);
        }
        let waits = self.sockets.wait_to_join(node, joining, clock::monotonic());
        self.wait_or_begin(waits);
    }

    /// Schedules the end of a link's wait, or begins the link if it does not wait.
    fn wait_or_begin(&mut self, waits: Result<Instant, Box<JoiningSubscriber>>) {
        match waits {
            Ok(ends) => {
                self.effects.schedule_if_earlier(Deadline::JoiningSubscribers, ends);
            }
            Err(joining) => self.begin_joined(*joining),
        }
    }

    fn begin_joined(&mut self, JoiningSubscriber { key, publication, link, .. }: JoiningSubscriber) {
        self.begin_subscriber(key, &publication, link);
    }

    /// The dual node of a subscriber whose connection still exists.
    fn subscriber_node(&self, joining: &JoiningSubscriber) -> Option<DualNode> {
        match self.sockets.get(joining.key)? {
            Socket::Control(control) => Some((joining.link.dual_node_id?, control.peer.ip().to_canonical())),
            _ => None,
        }
    }

    fn awaits_readers_of(&self, node: DualNode) -> bool {
        self.ros2.rtps.as_ref().is_some_and(|rtps| rtps.awaits_readers_of(node))
    }

    /// Continues with the links that wait for discovery, if discovery may have changed. It is searched once for all.
    /// Returns whether a link has begun.
    pub(super) fn resume_joining(&mut self) -> bool {
        let mut waiting = self.sockets.joining.take_due();
        if waiting.is_empty() {
            return false;
        }
        self.effects.cancel(Deadline::JoiningSubscribers);
        waiting.retain(|waiting| self.subscriber_node(&waiting.link).is_some());
        let nodes: BTreeSet<DualNode> = waiting.iter().map(|waiting| waiting.node).collect();
        let rtps = self.ros2.rtps.as_ref();
        let awaited = rtps.map(|rtps| rtps.nodes_with_awaited_readers(&nodes)).unwrap_or_default();
        nodes.difference(&awaited).for_each(|node| self.sockets.joining.note_complete(*node));
        let (now, mut has_begun) = (clock::monotonic(), false);
        for waiting in waiting {
            let waits = if awaited.contains(&waiting.node) {
                self.sockets.joining.wait_on(waiting, now)
            } else {
                Err(waiting.link)
            };
            has_begun |= waits.is_err();
            self.wait_or_begin(waits);
        }
        self.settle();
        has_begun
    }

    /// Begins a link to a subscriber, after everything was read that may change its messages.
    fn begin_subscriber(&mut self, key: Key, publication: &Arc<Publication>, link: SubscriberLink) {
        let local_peer = link.same_host;
        console::debug!("topic {}: subscriber [{}] joined", link.topic, link.subscriber);
        if self.sockets.join_subscriber(key, publication, link) {
            self.add_local_link(key, OtherEnd::Receiver, local_peer);
        }
    }

    /// Begins a link from a client of a service of this process.
    pub(super) fn join_service_client(&mut self, engine: Key, link: ServiceClientLink) {
        let Some(key) = self.sockets.key_of(engine, link.conn) else { return };
        let service = self.node_of(engine).and_then(|node| node.services.get(&link.service).cloned());
        let Some(service) = service else { return self.link_ended(key, None) };
        let local_peer = link.same_host;
        if self.sockets.join_client(key, service, link, &mut self.effects) {
            self.add_local_link(key, OtherEnd::Receiver, local_peer);
        }
    }

    /// Begins a link to a service and sends the request.
    pub(super) fn join_service(&mut self, engine: Key, linked: ServiceServerLink) {
        let Some(key) = self.sockets.key_of(engine, linked.conn) else { return };
        let call = self.node_of(engine).and_then(|node| node.calls.get_mut(&linked.link));
        let Some(call) = call else { return };
        call.socket = Some(key);
        call.info = Some(ServiceInfo {
            node: linked.provider.clone(),
            type_name: linked.type_name.clone(),
            md5: linked.md5.clone(),
        });
        let (request, response_len) = (call.request.take(), call.response_len);
        if !self.sockets.join_service(key, response_len, &linked) {
            return;
        }
        match request {
            Some(request) => self.sockets.send_request(key, &request, &mut self.effects),
            None => self.call_ended(engine, linked.link, Ok(Ok(Vec::new()))),
        }
        self.sockets.responses(key, &linked.rest, &mut self.effects);
        self.add_local_link(key, OtherEnd::Service, linked.same_host);
    }

    /// Adds a link whose peer may be on this host.
    fn add_local_link(&mut self, key: Key, other_end: OtherEnd, peer: Option<LocalPeerId>) {
        if let Some(peer) = peer {
            self.ipc_connections.add_local_link(key, other_end, peer, &mut self.effects);
        }
    }

    /// Ends a call with a result. A result without a pending call is ignored.
    pub(super) fn call_ended(&mut self, engine: Key, link: ServiceLinkId, answer: CallAnswer) {
        let call = self.node_of(engine).and_then(|node| node.calls.get_mut(&link));
        if call.is_some_and(|call| call.end(answer)) {
            self.with_engine(engine, |engine, _| {
                engine.as_node().into_iter().for_each(|node| node.set_service_deadline(link, None));
            });
        }
    }
}
