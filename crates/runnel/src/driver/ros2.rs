//! ROS 2 graph: the participant of the process, the owners of its endpoints, and the destinations of samples.

mod bridge;
mod diagnostics;
mod endpoints;
mod graph;
mod inbox;
mod links;
mod local_peers;
mod lost_replies;
mod matching;
mod participant_details;
mod qos;
mod receiving;
mod refused;
mod server_waits;
mod service_calls;
mod service_clients;
mod services;
mod snapshot;
mod unmatched_writers;
mod untyped;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_rtps::Event;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::effect::{Effect, Effects};
use super::nodes::NodeKey;
use super::table::Key;
use crate::data::{LinkInfo, SubscriptionCore, TopicInput, WriterGroup};
use crate::log_output::console;
use crate::log_output::throttle::Throttle;
use crate::rtps::{ReceivedBatch, Rtps};
use crate::settings::environment::Ros2Settings;
use diagnostics::Diagnostics;
use graph::Graph;
#[cfg(test)]
pub(super) use inbox::ANNOUNCEMENTS;
use inbox::Inbox;
use local_peers::LocalPeers;
use refused::Refused;
pub(in crate::driver) use service_clients::ClientEnd;
use services::Services;
use unmatched_writers::UnmatchedWriters;
use untyped::UntypedSubscription;
pub(super) use untyped::limited_to_offer;

/// Waits from this length on are rounded up to milliseconds. Delays between fragments are shorter.
const ROUND_FROM: Duration = Duration::from_millis(3);

const NANOS_PER_MILLI: u64 = 1_000_000;

/// State of the process in the ROS 2 graph.
pub(crate) struct Ros2 {
    settings: Option<Ros2Settings>,
    /// Whether pairs may use shared memory.
    is_ipc_enabled: bool,
    pub(super) rtps: Option<Arc<Rtps>>,
    writers: SortedMap<EntityId, WriterEnd>,
    pub(super) readers: SortedMap<EntityId, ReaderEnd>,
    /// Untyped subscriptions. They get a reader for each type that publishers announce.
    untyped: Vec<UntypedSubscription>,
    services: Services,
    graph: Graph,
    diagnostics: Diagnostics,
    /// Participants that may be on this host.
    local_peers: LocalPeers,
    /// The endpoint whose link counters are requested.
    requested_links: Option<links::RequestedLinks>,
    /// The first event that may end pairs, and all events behind it, until the event loop handles them. No datagram is
    /// taken before.
    pub(super) pending_events: VecDeque<Event>,
    /// Samples of pairs that a ROS 1 link serves, until the event loop has read that link.
    refused: Refused,
    /// Reused buffer for the output of RTPS.
    pub(super) received_batch: ReceivedBatch,
    /// Received datagrams, and their buffer.
    pub(super) inbox: Inbox,
    /// Reception time of a datagram in this iteration.
    pub(super) received_at: Option<Instant>,
    throttle: Throttle,
    /// The process has left the graph for good.
    left: bool,
}

struct WriterEnd {
    node: NodeKey,
    topic: String,
    group: Weak<WriterGroup>,
}

pub(super) struct ReaderEnd {
    node: NodeKey,
    topic: String,
    pub(super) core: Weak<SubscriptionCore>,
    /// Input of the reader only, without ROS 1 links.
    input: Arc<TopicInput>,
    type_name: String,
    md5: String,
    type_hash: String,
    /// Created for an untyped subscription, with a type that publishers announced.
    is_untyped: bool,
    pub(super) links: BTreeMap<Guid, Arc<LinkInfo>>,
    /// Writers of dual nodes that it has lost.
    pub(super) unmatched_writers: UnmatchedWriters,
    /// Publishers that are not alive.
    not_alive: BTreeSet<Guid>,
    /// Remaining capacity in messages, if publishers wait for it.
    capacity: Option<usize>,
    /// Writers that also send by shared memory, and the pairs whose receivers order their samples.
    receivers: Vec<(Guid, Key)>,
}

impl Ros2 {
    /// Length of the wait for a deadline in `left`. Waits for the participant's own, distant deadlines are rounded up
    /// to whole milliseconds, which saves a system call.
    pub(super) fn round_up_wait(&self, at: Instant, left: Duration) -> Duration {
        let is_ours = self.rtps.as_ref().is_some_and(|rtps| rtps.deadline() == Some(at));
        let rest = Duration::from_nanos(u64::from(left.subsec_nanos()) % NANOS_PER_MILLI);
        if !is_ours || left < ROUND_FROM || rest.is_zero() {
            return left;
        }
        left + (Duration::from_millis(1) - rest)
    }

    pub(super) fn new(settings: Option<Ros2Settings>, is_ipc_enabled: bool) -> Self {
        let (writers, readers) = (SortedMap::new(), SortedMap::new());
        let (graph, received_batch) = (Graph::default(), ReceivedBatch::default());
        Self {
            settings,
            is_ipc_enabled,
            rtps: None,
            writers,
            readers,
            untyped: Vec::new(),
            services: Services::default(),
            graph,
            diagnostics: Diagnostics::default(),
            local_peers: LocalPeers::default(),
            requested_links: None,
            pending_events: VecDeque::new(),
            refused: Refused::default(),
            received_batch,
            inbox: Inbox::default(),
            received_at: None,
            throttle: Throttle::default(),
            left: false,
        }
    }

    /// The announced enclave.
    fn enclave(&self) -> Option<String> {
        self.settings.as_ref().map(|settings| settings.enclave.clone())
    }

    /// Next deadline of the participant. Other threads use the participant too, so it keeps its deadline itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.rtps.as_ref()?.deadline()
    }

    /// Logs a fault of a participant, within a limit per time.
    fn warn_of_participant(&mut self, line: fmt::Arguments<'_>) {
        self.throttle.warn(clock::monotonic(), line, |line| console::warning!("{line}"));
    }
}

impl Ros2 {
    /// Writers of this process on a topic.
    #[cfg(test)]
    pub(super) fn writers_to(&self, topic: &str) -> Vec<(EntityId, Option<Arc<WriterGroup>>)> {
        let to_topic = self.writers.iter().filter(|(_, end)| end.topic == topic);
        to_topic.map(|(id, end)| (*id, end.group.upgrade())).collect()
    }

    /// Settings to join the graph with, unless the process has joined or left it.
    pub(super) fn wants_to_join(&self) -> Option<&Ros2Settings> {
        self.settings.as_ref().filter(|_| self.rtps.is_none() && !self.left)
    }

    /// Joins the graph.
    pub(super) fn join(&mut self, rtps: Arc<Rtps>, effects: &mut Effects) {
        self.graph.join(&rtps);
        self.rtps = Some(rtps);
        // A peer that queries the graph waits for the nodes of every participant, even of one without nodes.
        effects.push_back(Effect::NodesChanged);
    }

    /// Leaves the graph and announces that; false if the process had not joined it.
    pub(super) fn leave(&mut self, effects: &mut Effects) -> bool {
        self.left = true;
        self.log_all_diagnostics(effects);
        let Some(rtps) = self.rtps.take() else { return false };
        rtps.leave();
        true
    }

    /// Whether all ROS 2 subscribers have acknowledged all messages, and all clients their replies.
    pub(crate) fn is_acknowledged(&self) -> bool {
        let mut groups = self.writers.values().filter_map(|end| end.group.upgrade());
        groups.all(|group| group.is_acknowledged()) && self.are_replies_acknowledged()
    }

    /// Removes a lost participant. Returns the keys of its pairs.
    pub(super) fn participant_lost(&mut self, participant: GuidPrefix, effects: &mut Effects) -> Vec<Key> {
        self.log_participant_diagnostics(participant, effects);
        self.graph.forget(participant);
        self.services.clients.forget(participant);
        self.remove_local_peer(participant, effects)
    }

    /// Checks for changed network interfaces.
    pub(super) fn check_interfaces(&self, effects: &mut Effects) {
        let Some(rtps) = &self.rtps else { return };
        if let Err(error) = rtps.update_addresses() {
            console::warning!("cannot read the network interfaces: {error}");
        }
        effects.push_back(Effect::ParticipantUsed);
    }

    /// Dual node id of a publisher that a reader has matched, and the reader's subscription.
    pub(super) fn dual_publisher_of(
        &self,
        reader: EntityId,
        writer: Guid,
    ) -> Option<(u64, Arc<SubscriptionCore>)> {
        let end = self.readers.get(&reader)?;
        Some((end.links.get(&writer)?.dual_node_id?, end.core.upgrade()?))
    }
}
