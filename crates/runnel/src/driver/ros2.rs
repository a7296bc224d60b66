//! The process in the ROS 2 graph: its participant's sockets, which endpoints are whose, and where samples go.

mod any;
mod complaints;
mod endpoints;
mod graph;
mod inbox;
mod links;
mod matching;
mod neighbours;
mod qos;
mod receiving;
mod sight;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::interfaces::Changes;
use runnel_io::{Interest, Token, clock};
use runnel_rtps::Event;
use runnel_rtps::wire::{EntityId, Guid};

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
pub(crate) struct Ros2 {
    settings: Option<Ros2Settings>,
    /// Links may leave the network within this host.
    has_sessions: bool,
    pub(super) rtps: Option<Arc<Rtps>>,
    writers: HashMap<EntityId, WriterEnd>,
    pub(super) readers: HashMap<EntityId, ReaderEnd>,
    /// Subscriptions that have readers as publishers tell their types.
    any: Vec<AnyEnd>,
    graph: Graph,
    complaints: Complaints,
    /// Participants whose processes may be of this host.
    neighbours: Neighbours,
    /// Whose links somebody of this process asks for.
    asked: Option<links::Asked>,
    /// The ends of pairs, which the loop is to do, and what happened behind the first of them. RTPS is read no further until then.
    pub(super) ends: VecDeque<Event>,
    brought: Brought,
    /// Datagrams that have been received, and room for them.
    inbox: Inbox,
    /// When a datagram came in this turn.
    heard_at: Option<Instant>,
    throttle: Throttle,
    /// The process has left the graph, and stays out of it.
    left: bool,
}

struct WriterEnd {
    node: NodeKey,
    topic: String,
    offer: Weak<Offer>,
}

pub(super) struct ReaderEnd {
    node: NodeKey,
    topic: String,
    pub(super) core: Weak<SubscriptionCore>,
    /// What the reader alone brings, apart from the links of ROS 1.
    input: Arc<TopicInput>,
    type_name: String,
    md5: String,
    type_hash: String,
    /// Publishers have told its type.
    any: bool,
    pub(super) links: HashMap<Guid, Arc<LinkInfo>>,
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

    pub(super) fn new(settings: Option<Ros2Settings>, has_sessions: bool) -> Self {
        let (writers, readers) = (HashMap::new(), HashMap::new());
        let (graph, brought) = (Graph::default(), Brought::default());
        Self {
            settings,
            has_sessions,
            rtps: None,
            writers,
            readers,
            any: Vec::new(),
            graph,
            complaints: Complaints::default(),
            neighbours: Neighbours::default(),
            asked: None,
            ends: VecDeque::new(),
            brought,
            inbox: Inbox::default(),
            heard_at: None,
            throttle: Throttle::default(),
            left: false,
        }
    }

    /// The enclave that is told to others.
    fn enclave(&self) -> Option<String> {
        self.settings.as_ref().map(|settings| settings.enclave.clone())
    }

    /// When the participant has something to do: other threads work on it, too, so that it keeps its deadline itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.rtps.as_ref()?.deadline()
    }

    /// Says what somebody in the graph did, as long as nobody does it all the time.
    fn warn_of_participant(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }
}

impl Ros2 {
    /// The writers of this process to a topic.
    #[cfg(test)]
    pub(super) fn writers_to(&self, topic: &str) -> Vec<(EntityId, Option<Arc<Offer>>)> {
        let to_topic = self.writers.iter().filter(|(_, end)| end.topic == topic);
        to_topic.map(|(id, end)| (*id, end.offer.upgrade())).collect()
    }

    /// The origin of a publisher in both graphs that a reader is matched with, and the reader's subscription.
    pub(super) fn shared_by(&self, reader: EntityId, writer: Guid) -> Option<(u64, Arc<SubscriptionCore>)> {
        let end = self.readers.get(&reader)?;
        Some((end.links.get(&writer)?.origin?, end.core.upgrade()?))
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
            self.ros2.fill_rooms(&mut self.effects);
        }
        self.take_ros2_events();
    }

    fn ros2_event(&mut self, event: Event) {
        let Self { ros2, effects, .. } = self;
        match event {
            Event::Matched { local, remote } => {
                ros2.matched(local, remote);
                ros2.pair_met(local, remote, effects);
                self.reader_matched(local, remote);
            }
            Event::Unmatched { local, remote } => {
                self.pair_parted(local, remote);
                self.reader_unmatched(local, remote);
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
                let pairs = ros2.neighbour_lost(participant, effects);
                pairs.into_iter().for_each(|pair| self.end_pair(pair));
            }
            Event::Told { participant, bytes } => ros2.word_came(participant, &bytes, effects),
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
            self.ros2.met_by(*id).into_iter().for_each(|remote| self.pair_parted(*id, remote));
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
