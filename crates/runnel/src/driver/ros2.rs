//! The process in the ROS 2 graph: its participant's sockets, which endpoints are whose, and where samples go.

mod any;
mod complaints;
mod dual;
mod endpoints;
mod graph;
mod inbox;
mod links;
mod neighbours;
mod qos;
mod receiving;
mod sight;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::interfaces::Changes;
use runnel_io::{Interest, Token, clock};
use runnel_ros1::told::told;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};
use runnel_rtps::{Correction, Event};

use super::effect::Effect;
use super::nodes::NodeKey;
use super::sockets::Socket;
use super::table::Key;
use super::throttle::Throttle;
use super::{Driver, Turned};
use crate::data::{LinkInfo, Offer, SubscriptionCore, TopicInput};
use crate::environment::Ros2Settings;
use crate::log_output::console;
use crate::rtps::{Brought, Rtps};
use any::AnyEnd;
pub(super) use any::as_offered;
use complaints::Complaints;
use graph::Graph;
use inbox::Inbox;
use neighbours::Neighbours;

/// What is further off than that need not be done to the microsecond: no fragment waits so long for its turn.
const AT_LEISURE: Duration = Duration::from_millis(3);

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What the driver keeps for the ROS 2 graph.
pub(super) struct Ros2 {
    settings: Option<Ros2Settings>,
    rtps: Option<Arc<Rtps>>,
    writers: HashMap<EntityId, WriterEnd>,
    readers: HashMap<EntityId, ReaderEnd>,
    /// Subscriptions that have readers as publishers tell their types.
    any: Vec<AnyEnd>,
    graph: Graph,
    complaints: Complaints,
    /// Participants whose processes may be of this host.
    neighbours: Neighbours,
    /// Whose links somebody of this process asks for.
    asked: Option<links::Asked>,
    /// Samples are being handed out: what comes after them waits.
    handing_out: bool,
    /// Readers that have given what there was room for.
    rooms_to_fill: Vec<EntityId>,
    brought: Brought,
    /// Room for what comes, from the first datagram on.
    inbox: Option<Inbox>,
    /// When a datagram came in this turn.
    heard_at: Option<Instant>,
    throttle: Throttle,
    /// The process has left the graph, and stays out of it.
    left: bool,
    /// What is published by nodes of both graphs to subscribers that go over from ROS 1.
    going_over: dual::GoingOver,
}

struct WriterEnd {
    node: NodeKey,
    topic: String,
    offer: Weak<Offer>,
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
    /// Publishers that do not say any more that they live.
    lapsed: HashSet<Guid>,
    /// How many messages more there is room for, if publishers are to wait for it.
    room: Option<usize>,
    /// Writers whose samples come by memory as well, and what decides their order among the driver's sockets.
    deliveries: Vec<(Guid, Key)>,
}

impl Ros2 {
    /// How long to wait for what is due at that time, when so much is left. What the participant does by itself, and not
    /// soon, has time: a wait of whole milliseconds takes one system call less.
    pub(super) fn leisurely(&self, at: Instant, left: Duration) -> Duration {
        let is_ours = self.rtps.as_ref().is_some_and(|rtps| rtps.deadline() == Some(at));
        let rest = Duration::from_nanos(u64::from(left.subsec_nanos()) % NANOS_PER_MILLI);
        if !is_ours || left < AT_LEISURE || rest.is_zero() {
            return left;
        }
        left + (Duration::from_millis(1) - rest)
    }

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
            complaints: Complaints::default(),
            neighbours: Neighbours::default(),
            asked: None,
            handing_out: false,
            rooms_to_fill: Vec::new(),
            brought,
            inbox: None,
            heard_at: None,
            throttle: Throttle::default(),
            left: false,
            going_over: dual::GoingOver::default(),
        }
    }

    pub(super) fn rtps(&self) -> Option<&Arc<Rtps>> {
        self.rtps.as_ref()
    }

    /// True while samples are being handed out.
    pub(super) fn is_handing_out(&self) -> bool {
        self.handing_out
    }

    /// Says that an endpoint of another process has joined one of ours or left it. Its node is named if that is known by then.
    fn tell_of_link(&self, local: EntityId, remote: Guid, what: &str) {
        let ours = self.writers.get(&local).map(|end| (&end.topic, "subscriber"));
        let ours = ours.or_else(|| self.readers.get(&local).map(|end| (&end.topic, "publisher")));
        let Some((topic, role)) = ours else { return };
        let node = self.graph.node_of(remote).map_or_else(|| remote.to_string(), told);
        console::debug!("topic {topic}: {role} [{node}] of ROS 2 {what}");
    }

    /// The enclave that is told to others.
    fn enclave(&self) -> Option<String> {
        self.settings.as_ref().map(|settings| settings.enclave.clone())
    }

    /// When something is to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let rtps = self.rtps.as_ref()?;
        let ours = [self.neighbours.deadline(), self.going_over.deadline(), self.complaints.deadline()];
        ours.into_iter().chain([rtps.deadline()]).flatten().min()
    }

    /// Says what somebody in the graph did, as long as nobody does it all the time.
    fn warn_of_participant(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }

    /// Says that a peer began anew, or that somebody forges its datagrams.
    fn warn_of_correction(&mut self, local: EntityId, remote: Guid, state: Correction) {
        let topic = self.rtps.as_ref().and_then(|rtps| rtps.topic_of(local));
        let topic = topic.unwrap_or_else(|| "discovery".into());
        self.warn_of_participant(format_args!(
            "{topic}: the {state} {remote} was corrected: it restarted, or a datagram in its name was forged"
        ));
    }

    fn matched(&mut self, local: EntityId, remote: Guid) {
        let origin = self.rtps.as_ref().and_then(|rtps| rtps.origin_of(remote));
        self.tell_of_link(local, remote, "joined");
        if let Some(offer) = self.writers.get(&local).and_then(|end| end.offer.upgrade()) {
            offer.met(remote, origin);
        }
        if self.is_heard_otherwise(local, remote) {
            return;
        }
        let Self { rtps: Some(rtps), readers, graph, .. } = self else { return };
        let Some(end) = readers.get_mut(&local) else { return };
        let Some(told) = rtps.publisher(remote) else { return };
        let node = graph.node_of(remote).map(str::to_owned);
        let from = Arc::new(LinkInfo {
            publisher: node.unwrap_or_else(|| remote.to_string()),
            type_name: end.type_name.clone(),
            md5: end.md5.clone(),
            type_hash: if told.type_hash.is_empty() { end.type_hash.clone() } else { told.type_hash },
            encoding: told.encoding,
            origin,
            lifespan: told.qos.lifespan,
            ..LinkInfo::default()
        });
        end.input.join(&from);
        end.links.insert(remote, from);
        end.tell_life(1, 0);
    }

    fn unmatched(&mut self, local: EntityId, remote: Guid) {
        self.tell_of_link(local, remote, "left");
        if let Some(offer) = self.writers.get(&local).and_then(|end| end.offer.upgrade()) {
            offer.left(remote);
        }
        let Some(end) = self.readers.get_mut(&local) else { return };
        if let Some(from) = end.links.remove(&remote) {
            end.input.leave(&from);
            let lapsed = i64::from(end.lapsed.remove(&remote));
            end.tell_life(lapsed - 1, -lapsed);
        }
    }
}

impl Driver {
    /// Joins the ROS 2 graph with the first node that is to be there.
    pub(crate) fn join_ros2(&mut self) -> io::Result<()> {
        let joins = self.ros2.rtps.is_none() && !self.ros2.left;
        let Some(settings) = self.ros2.settings.as_ref().filter(|_| joins) else {
            return Ok(());
        };
        let rtps = Arc::new(Rtps::open(settings, self.sockets.reactor.waker().clone())?);
        if !rtps.has_interface() {
            console::warning!(
                "no network interface is up: other processes are not met in ROS 2 until one is"
            );
        }
        for socket in rtps.receivers() {
            let key = self.sockets.insert(Socket::Rtps(Arc::clone(&socket)));
            self.sockets.reactor.add(&*socket, Token(key.to_bits()), Interest::Read)?;
        }
        let changes = Changes::watch()?;
        let key = self.sockets.insert(Socket::Nothing);
        self.sockets.reactor.add(&changes, Token(key.to_bits()), Interest::Read)?;
        if let Some(place) = self.sockets.get_mut(key) {
            *place = Socket::Interfaces(changes);
        }
        self.ros2.graph.join(&rtps);
        self.ros2.rtps = Some(rtps);
        // Whoever asks what there is waits for this of everyone, and a process may have no node for long.
        self.effects.push_back(Effect::NodesChanged);
        Ok(())
    }

    /// Tells the peers that the process leaves the ROS 2 graph, and hears them no longer.
    pub(crate) fn leave_ros2(&mut self) {
        self.ros2.left = true;
        self.ros2.say_all(&mut self.effects);
        let Some(rtps) = self.ros2.rtps.take() else { return };
        rtps.leave();
        for key in self.sockets.keys() {
            match self.sockets.get(key) {
                // What still comes there would wake the program again and again: handles keep it open.
                Some(Socket::Rtps(socket)) => drop(self.sockets.reactor.remove(&**socket)),
                Some(Socket::Interfaces(_)) => {}
                _ => continue,
            }
            self.remove_socket(key);
        }
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(crate) fn is_acknowledged_in_ros2(&self) -> bool {
        let offers = self.ros2.writers.values().filter_map(|end| end.offer.upgrade());
        offers.into_iter().all(|offer| offer.is_acknowledged())
    }

    /// What has happened in the ROS 2 graph while others worked on the participant.
    pub(super) fn take_ros2_events(&mut self) {
        let brought = self.ros2.rtps.as_ref().and_then(|rtps| rtps.take_events());
        brought.into_iter().for_each(|brought| self.give_brought(brought, &[]));
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
        if rtps.wants_more() {
            self.fill_rooms();
        }
        self.take_ros2_events();
        if self.ros2.neighbours.deadline().is_some_and(|at| at <= now) {
            self.tell_neighbours(now);
        }
        self.ros2.going_over.serve(now);
        self.ros2.say_what_is_due(now, &mut self.effects);
    }

    fn ros2_event(&mut self, event: Event) {
        let Self { ros2, effects, .. } = self;
        match event {
            Event::Matched { local, remote } => {
                ros2.matched(local, remote);
                self.pair_met(local, remote);
            }
            Event::CanGoOver { writer, reader } => self.can_go_over(writer, reader),
            Event::Unmatched { local, remote } => {
                self.pair_parted(local, remote);
                self.ros2.unmatched(local, remote);
            }
            Event::Incompatible { local, remote, policies } => {
                ros2.incompatible(local, remote, &policies, effects);
            }
            Event::SampleLost { reader, writer, count } => {
                // Where memory brings some as well, its receiver knows what is lost.
                let end = ros2.readers.get(&reader);
                if end.is_some_and(|end| end.delivery_of(writer).is_none()) {
                    self.samples_lost(reader, writer, count);
                }
            }
            Event::ParticipantsRefused { address, count } => ros2.warn_of_participant(format_args!(
                "{count} participants are refused, the last one at {address}: there is no capacity for more there"
            )),
            Event::Trouble(line) => ros2.warn_of_participant(format_args!("{line}")),
            Event::Corrected { local, remote, state } => ros2.warn_of_correction(local, remote, state),
            Event::ParticipantLost(participant) => {
                ros2.say_of_participant(participant, effects);
                ros2.graph.forget(participant);
                self.neighbour_lost(participant);
            }
            Event::Told { participant, bytes } => self.word_came(participant, &bytes),
            Event::EndpointFound(endpoint) => {
                ros2.ear_found(endpoint, effects);
                ros2.publisher_found(endpoint, effects);
                ros2.warn_of_type(endpoint, effects);
            }
            Event::EndpointLost(endpoint) => {
                let ended = ros2.publisher_lost(endpoint);
                self.end_endpoints(&ended);
            }
            Event::LivelinessChanged { reader, writer, alive } => {
                ros2.liveliness_changed(reader, writer, alive);
            }
            // What this process has promised or asks for is watched for with what it does within itself.
            Event::DeadlineMissed { .. } | Event::LivelinessLost { .. } => {}
            Event::ParticipantFound(_) => {}
        }
    }

    /// Endpoints end: what sessions have of their pairs comes first.
    pub(super) fn end_endpoints(&mut self, ids: &[EntityId]) {
        for id in ids {
            self.pairs_of_endpoint_parted(*id);
            self.ros2.remove_endpoint(*id, &mut self.effects);
        }
    }

    /// What offers of a node's were announced by ends.
    pub(super) fn remove_writers(&mut self, offers: &[Arc<Offer>]) {
        let ids: Vec<EntityId> = offers.iter().filter_map(|offer| offer.writer_id()).collect();
        self.end_endpoints(&ids);
    }

    /// The readers of a subscription end.
    pub(super) fn remove_reader(&mut self, core: &Arc<SubscriptionCore>) {
        let ids = self.ros2.end_subscription(core);
        self.end_endpoints(&ids);
    }

    /// A participant has told of its nodes: publishers of its that were met before are known by them from now on.
    fn name_publishers(&mut self, participant: GuidPrefix) {
        let Ros2 { readers, graph, .. } = &mut self.ros2;
        let mut renamed = Vec::new();
        for (reader, end) in readers.iter_mut() {
            for (writer, from) in end.links.iter_mut().filter(|(writer, _)| writer.prefix == participant) {
                let Some(node) = graph.node_of(*writer).filter(|node| *node != from.publisher) else {
                    continue;
                };
                let named = Arc::new(from.named(node));
                end.input.rename(from, &named);
                let [old, new] = [&from.publisher, &named.publisher].map(|name| told(name));
                console::debug!("topic {}: publisher [{old}] is [{new}]", end.topic);
                *from = named;
                renamed.push((*reader, *writer));
            }
        }
        renamed.into_iter().for_each(|(reader, writer)| self.pair_renamed(reader, writer));
    }

    /// The interfaces of the host may be others.
    pub(super) fn interfaces_readable(&mut self, key: Key) {
        let Some(Socket::Interfaces(changes)) = self.sockets.get(key) else { return };
        let changed = changes.any();
        let Some(rtps) = self.ros2.rtps.as_ref().filter(|_| changed.unwrap_or(true)) else { return };
        if let Err(error) = rtps.look_at_interfaces() {
            console::warning!("the network interfaces cannot be looked at: {error}");
        }
        self.take_ros2_events();
    }
}
