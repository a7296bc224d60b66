//! The process in the ROS 2 graph: its participant's sockets, which endpoints are whose, and where samples go.

mod any;
mod complaints;
mod endpoints;
mod graph;
mod inbox;
mod links;
mod matching;
mod neighbours;
mod parted;
mod qos;
mod receiving;
mod refused;
mod sight;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};
use runnel_rtps::{Event, Sample};

use super::effect::{Effect, Effects};
use super::nodes::NodeKey;
use super::table::Key;
use super::throttle::Throttle;
use crate::data::{LinkInfo, Offer, SubscriptionCore, TopicInput};
use crate::environment::Ros2Settings;
use crate::log_output::console;
use crate::rtps::{Brought, Rtps};
use any::AnyEnd;
pub(super) use any::as_offered;
use complaints::Complaints;
use graph::Graph;
#[cfg(test)]
pub(super) use inbox::ANNOUNCEMENTS;
use inbox::Inbox;
use neighbours::Neighbours;
use parted::PartedWriters;

/// What is further off than that need not be done to the microsecond: no fragment waits so long for its turn.
const AT_LEISURE: Duration = Duration::from_millis(3);

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What the driver keeps for the ROS 2 graph.
pub(crate) struct Ros2 {
    settings: Option<Ros2Settings>,
    /// Links may leave the network within this host.
    has_sessions: bool,
    pub(super) rtps: Option<Arc<Rtps>>,
    writers: SortedMap<EntityId, WriterEnd>,
    pub(super) readers: SortedMap<EntityId, ReaderEnd>,
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
    /// Samples of pairs that a link of ROS 1 serves, until the loop has looked at it.
    refused: Vec<Sample>,
    /// Room for what RTPS brings at once.
    pub(super) brought: Brought,
    /// Datagrams that have been received, and room for them.
    pub(super) inbox: Inbox,
    /// When a datagram came in this turn.
    pub(super) heard_at: Option<Instant>,
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
    pub(super) links: SortedMap<Guid, Arc<LinkInfo>>,
    /// Writers of nodes in both graphs that it has lost.
    pub(super) parted: PartedWriters,
    /// Publishers that do not say any more that they live.
    lapsed: SortedSet<Guid>,
    /// How many messages more there is room for, if publishers are to wait for it.
    room: Option<usize>,
    /// Writers whose samples come by memory as well, and the pairs whose receivers put them in order.
    receivers: Vec<(Guid, Key)>,
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
        let (writers, readers) = (SortedMap::new(), SortedMap::new());
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
            refused: Vec::new(),
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

    /// What the process joins the graph with, unless it has joined or left it.
    pub(super) fn wants_to_join(&self) -> Option<&Ros2Settings> {
        self.settings.as_ref().filter(|_| self.rtps.is_none() && !self.left)
    }

    /// The process joins the graph.
    pub(super) fn join(&mut self, rtps: Arc<Rtps>, effects: &mut Effects) {
        self.graph.join(&rtps);
        self.rtps = Some(rtps);
        // Whoever asks what there is waits for this of everyone, and a process may have no node for long.
        effects.push_back(Effect::NodesChanged);
    }

    /// The process leaves the graph, and tells its peers; false if it was not there.
    pub(super) fn leave(&mut self, effects: &mut Effects) -> bool {
        self.left = true;
        self.say_all(effects);
        let Some(rtps) = self.rtps.take() else { return false };
        rtps.leave();
        true
    }

    /// True if nobody in the ROS 2 graph has yet to get a message.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.writers.values().filter_map(|end| end.offer.upgrade()).all(|offer| offer.is_acknowledged())
    }

    /// A participant is gone; what stands for its pairs.
    pub(super) fn participant_lost(&mut self, participant: GuidPrefix, effects: &mut Effects) -> Vec<Key> {
        self.say_of_participant(participant, effects);
        self.graph.forget(participant);
        self.neighbour_lost(participant, effects)
    }

    /// The interfaces of the host may be others.
    pub(super) fn look_at_interfaces(&self, effects: &mut Effects) {
        let Some(rtps) = &self.rtps else { return };
        if let Err(error) = rtps.look_at_interfaces() {
            console::warning!("the network interfaces cannot be looked at: {error}");
        }
        effects.push_back(Effect::ParticipantWorked);
    }

    /// The origin of a publisher in both graphs that a reader is matched with, and the reader's subscription.
    pub(super) fn shared_by(&self, reader: EntityId, writer: Guid) -> Option<(u64, Arc<SubscriptionCore>)> {
        let end = self.readers.get(&reader)?;
        Some((end.links.get(&writer)?.origin?, end.core.upgrade()?))
    }
}
