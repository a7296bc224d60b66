//! The process in the ROS 2 graph: its participant's sockets, which endpoints are whose, and where samples go.

mod any;
mod graph;
mod inbox;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};

use runnel_core::qos::{Policy, QoS};
use runnel_core::time::Instant;
use runnel_core::wire::Encoding;
use runnel_io::interfaces::Changes;
use runnel_io::{Datagrams, Interest, Token, clock};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};
use runnel_rtps::{Event, Sample, SamplePayload};

use super::nodes::NodeKey;
use super::socket::Socket;
use super::table::Key;
use super::{Driver, Turned};
use crate::announced::Topic;
use crate::data::{LinkInfo, Publication, RtpsWriter, SubscriptionCore, TopicInput};
use crate::logging::console;
use crate::rtps::{Brought, Ros2Settings, Rtps, endpoint_of, ros2_name};
use any::AnyEnd;
pub(super) use any::as_offered;
use graph::Graph;
use inbox::Inbox;

/// What the driver keeps for the ROS 2 graph.
pub(super) struct Ros2 {
    settings: Option<Ros2Settings>,
    rtps: Option<Arc<Rtps>>,
    writers: HashMap<EntityId, WriterEnd>,
    readers: HashMap<EntityId, ReaderEnd>,
    /// Subscriptions that have readers as publishers tell their types.
    any: Vec<AnyEnd>,
    graph: Graph,
    brought: Brought,
    /// Room for what comes, from the first datagram on.
    inbox: Option<Inbox>,
    /// When a datagram came in this turn.
    heard_at: Option<Instant>,
}

struct WriterEnd {
    node: NodeKey,
    topic: String,
    publication: Weak<Publication>,
}

struct ReaderEnd {
    node: NodeKey,
    topic: String,
    core: Weak<SubscriptionCore>,
    /// What the reader alone brings, apart from the links of ROS 1.
    input: Arc<TopicInput>,
    type_name: String,
    md5: String,
    type_hash: String,
    /// Publishers have told its type.
    any: bool,
    links: HashMap<Guid, Arc<LinkInfo>>,
}

impl Ros2 {
    pub(super) fn new(settings: Option<Ros2Settings>) -> Self {
        let (writers, readers) = (HashMap::new(), HashMap::new());
        let (graph, brought) = (Graph::default(), Brought::default());
        Self {
            settings,
            rtps: None,
            writers,
            readers,
            any: Vec::new(),
            graph,
            brought,
            inbox: None,
            heard_at: None,
        }
    }

    pub(super) fn rtps(&self) -> Option<&Arc<Rtps>> {
        self.rtps.as_ref()
    }
}

impl Driver {
    /// Joins the ROS 2 graph with the first node that is to be there.
    pub(super) fn join_ros2(&mut self) -> io::Result<()> {
        let Some(settings) = self.ros2.settings.as_ref().filter(|_| self.ros2.rtps.is_none()) else {
            return Ok(());
        };
        let rtps = Arc::new(Rtps::open(settings, self.reactor.waker().clone())?);
        for socket in rtps.receivers() {
            let key = self.sockets.insert_with(|_| Socket::Rtps(Arc::clone(&socket)));
            self.reactor.add(&*socket, Token(key.to_bits()), Interest::Read)?;
        }
        let changes = Changes::watch()?;
        let key = self.sockets.insert_with(|_| Socket::Nothing);
        self.reactor.add(&changes, Token(key.to_bits()), Interest::Read)?;
        if let Some(place) = self.sockets.get_mut(key) {
            *place = Socket::Interfaces(changes);
        }
        self.ros2.graph.join(&rtps);
        self.ros2.rtps = Some(rtps);
        Ok(())
    }

    /// Tells the peers that the process leaves the ROS 2 graph.
    pub(crate) fn leave_ros2(&mut self) {
        if let Some(rtps) = self.ros2.rtps.take() {
            rtps.leave();
        }
    }

    /// What a node publishes a topic with is offered to others.
    pub(super) fn add_writer(
        &mut self,
        node: NodeKey,
        topic: &Topic,
        qos: QoS,
        publication: &Arc<Publication>,
    ) {
        let (Some(rtps), Some(ros2)) = (self.ros2.rtps.clone(), &topic.ros2) else { return };
        if publication.has_writer() || !ros2.is_known() {
            return;
        }
        let id = rtps.create_writer(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, qos));
        let (topic, of) = (topic.name.clone(), Arc::downgrade(publication));
        publication.set_writer(Some(RtpsWriter::new(Arc::clone(&rtps), id, qos.is_latching())));
        self.ros2.writers.insert(id, WriterEnd { node, topic, publication: of });
        self.tell_of_nodes();
        self.take_ros2_events();
    }

    pub(super) fn remove_writer(&mut self, publication: &Arc<Publication>) {
        let Some(id) = publication.set_writer(None) else { return };
        self.ros2.writers.remove(&id);
        if let Some(rtps) = &self.ros2.rtps {
            rtps.remove_endpoint(id);
        }
        self.tell_of_nodes();
    }

    /// What a subscription asks for is asked of others. What it then gets its messages by.
    pub(super) fn add_reader(
        &mut self,
        node: NodeKey,
        topic: &Topic,
        qos: QoS,
        core: &Arc<SubscriptionCore>,
    ) -> Option<Arc<TopicInput>> {
        let (rtps, ros2) = (self.ros2.rtps.clone()?, topic.ros2.as_ref()?);
        if ros2.is_any() {
            return Some(self.add_any(node, &topic.name, qos, core));
        }
        if !ros2.is_known() {
            return None;
        }
        let input = Arc::new(TopicInput::default());
        input.add(Arc::clone(core));
        let id = rtps.create_reader(endpoint_of(&topic.name, &ros2.dds_type, &ros2.rihs01, qos));
        let end = ReaderEnd {
            node,
            topic: topic.name.clone(),
            core: Arc::downgrade(core),
            input: Arc::clone(&input),
            type_name: ros2_name(&ros2.dds_type),
            md5: topic.told_type().1.to_owned(),
            type_hash: ros2.rihs01.clone(),
            any: false,
            links: HashMap::new(),
        };
        self.ros2.readers.insert(id, end);
        self.tell_of_nodes();
        self.take_ros2_events();
        Some(input)
    }

    pub(super) fn remove_reader(&mut self, core: &Arc<SubscriptionCore>) {
        self.ros2.any.retain(|end| !end.is_of(core));
        let is_of = |end: &ReaderEnd| std::ptr::eq(end.core.as_ptr(), Arc::as_ptr(core));
        let readers = self.ros2.readers.iter().filter(|(_, end)| is_of(end));
        let ids: Vec<EntityId> = readers.map(|(id, _)| *id).collect();
        self.end_readers(&ids);
    }

    fn end_readers(&mut self, ids: &[EntityId]) {
        for id in ids {
            self.ros2.readers.remove(id);
            if let Some(rtps) = &self.ros2.rtps {
                rtps.remove_endpoint(*id);
            }
        }
        if !ids.is_empty() {
            self.tell_of_nodes();
        }
    }

    /// Datagrams have come: takes as many as one system call gives, and the rest in the next turn.
    pub(super) fn rtps_readable(&mut self, socket: &Datagrams) {
        let Some(rtps) = self.ros2.rtps.clone() else { return };
        let mut inbox = self.ros2.inbox.take().unwrap_or_default();
        let mut brought = std::mem::take(&mut self.ros2.brought);
        for (datagram, from) in inbox.receive(socket) {
            self.ros2.heard_at = Some(rtps.handle_datagram(from, datagram, &mut brought));
            brought.events.drain(..).for_each(|event| self.ros2_event(event));
            brought.samples.drain(..).for_each(|sample| self.sample_came(sample, datagram));
        }
        self.ros2.brought = brought;
        self.ros2.inbox = Some(inbox);
    }

    fn sample_came(&mut self, sample: Sample, datagram: &[u8]) {
        if self.ros2.graph.is_reader(sample.reader) {
            let from = sample.writer.prefix;
            self.ros2.graph.hear(from, sample.payload.bytes(datagram));
            return self.name_publishers(from);
        }
        let Some(end) = self.ros2.readers.get_mut(&sample.reader) else { return };
        let Some(from) = end.links.get(&sample.writer) else { return };
        match sample.payload {
            SamplePayload::Own(bytes) => end.input.push(bytes, from),
            SamplePayload::Here(place) => {
                let bytes = datagram.get(place).unwrap_or_default();
                end.input.push_filled(bytes.len(), from, |into| {
                    into.clear();
                    into.extend_from_slice(bytes);
                });
            }
        }
    }

    /// What has happened in the ROS 2 graph while others worked on the participant.
    pub(super) fn take_ros2_events(&mut self) {
        let Some(rtps) = &self.ros2.rtps else { return };
        rtps.take_events().into_iter().for_each(|event| self.ros2_event(event));
    }

    /// Does what is due.
    pub(super) fn serve_ros2(&mut self, turned: &mut Turned) {
        let Some(rtps) = &self.ros2.rtps else { return };
        // What came in this turn told the time.
        let now = self.ros2.heard_at.take().unwrap_or_else(clock::monotonic);
        if rtps.deadline().is_some_and(|at| at <= now) {
            rtps.handle_timeout();
            turned.served = true;
        }
        self.take_ros2_events();
    }

    fn ros2_event(&mut self, event: Event) {
        match event {
            Event::Matched { local, remote } => self.ros2_matched(local, remote),
            Event::Unmatched { local, remote } => self.ros2_unmatched(local, remote),
            Event::Incompatible { local, remote, policies } => {
                self.ros2_incompatible(local, remote, &policies)
            }
            Event::SampleLost { reader, writer, count } => {
                let end = self.ros2.readers.get(&reader);
                if let Some((end, from)) = end.and_then(|end| Some((end, end.links.get(&writer)?))) {
                    end.input.lose(count, from);
                }
            }
            Event::Trouble(line) => console::warning!("{line}"),
            Event::ParticipantLost(participant) => self.ros2.graph.forget(participant),
            Event::EndpointFound(endpoint) => self.publisher_found(endpoint),
            Event::EndpointLost(endpoint) => self.publisher_lost(endpoint),
            Event::ParticipantFound(_)
            | Event::DeadlineMissed { .. }
            | Event::LivelinessChanged { .. }
            | Event::LivelinessLost { .. }
            | Event::Told { .. } => {}
        }
    }

    fn ros2_matched(&mut self, local: EntityId, remote: Guid) {
        if let Some(publication) = self.ros2.writers.get(&local).and_then(|end| end.publication.upgrade()) {
            publication.count_matched(1);
        }
        if self.ros2.is_heard_otherwise(local, remote) {
            return;
        }
        let Some(end) = self.ros2.readers.get_mut(&local) else { return };
        let node = self.ros2.graph.node_of(remote).map(str::to_owned);
        let from = Arc::new(LinkInfo {
            publisher: node.unwrap_or_else(|| remote.to_string()),
            type_name: end.type_name.clone(),
            md5: end.md5.clone(),
            type_hash: end.type_hash.clone(),
            encoding: Encoding::Xcdr1,
            ..LinkInfo::default()
        });
        end.input.join(&from);
        end.links.insert(remote, from);
    }

    /// A participant has told of its nodes: publishers of its that were met before are known by them from now on.
    fn name_publishers(&mut self, participant: GuidPrefix) {
        let Ros2 { readers, graph, .. } = &mut self.ros2;
        for end in readers.values_mut() {
            for (writer, from) in end.links.iter_mut().filter(|(writer, _)| writer.prefix == participant) {
                let Some(node) = graph.node_of(*writer).filter(|node| *node != from.publisher) else {
                    continue;
                };
                let named = Arc::new(from.named(node));
                end.input.leave(from);
                end.input.join(&named);
                *from = named;
            }
        }
    }

    fn ros2_unmatched(&mut self, local: EntityId, remote: Guid) {
        if let Some(publication) = self.ros2.writers.get(&local).and_then(|end| end.publication.upgrade()) {
            publication.count_matched(-1);
        }
        let Some(end) = self.ros2.readers.get_mut(&local) else { return };
        if let Some(from) = end.links.remove(&remote) {
            end.input.leave(&from);
        }
    }

    fn ros2_incompatible(&mut self, local: EntityId, remote: Guid, policies: &[Policy]) {
        let missing: Vec<String> = policies.iter().map(ToString::to_string).collect();
        let missing = missing.join(" and ");
        let (node, line) = if let Some(end) = self.ros2.writers.get(&local) {
            let topic = &end.topic;
            (
                end.node,
                format!("topic {topic}: subscription {remote} asks for what is not offered: {missing}"),
            )
        } else if let Some(end) = self.ros2.readers.get(&local).filter(|end| !end.any) {
            let topic = &end.topic;
            (
                end.node,
                format!("topic {topic}: publisher {remote} does not offer what is asked for: {missing}"),
            )
        } else {
            return;
        };
        if let Some(node) = self.node_slot(node) {
            node.warn_of_peer(format_args!("{line}"));
        }
    }

    /// The interfaces of the host may be others.
    pub(super) fn interfaces_readable(&mut self, key: Key) {
        let Some(Socket::Interfaces(changes)) = self.sockets.get(key) else { return };
        let changed = changes.any();
        let Some(rtps) = self.ros2.rtps.as_ref().filter(|_| changed.unwrap_or(true)) else { return };
        if let Err(error) = rtps.look_at_interfaces() {
            console::warning!("the network interfaces cannot be looked at: {error}");
        }
    }
}
