//! The nodes of the process: what the driver keeps for each, whichever graphs it is in.

mod locals;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::{NodeEvent, Role, ServiceLinkId};

use super::ros1::{Call, ServiceInfo};
use super::table::{Key, Table};
use super::throttle::Throttle;
use crate::data::{Publication, ServiceCore, SubscriptionCore, TopicInput, WatchCore};
use crate::linger::Unarrived;
use crate::log_output::console;
use crate::node_log::NodeLog;

/// The key of a node, which is not that of its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeKey(pub(super) Key);

/// What the driver keeps for a node.
pub(crate) struct NodeSlot {
    /// Its full name.
    pub(super) name: String,
    /// The engine by which it is in the ROS 1 graph, and where others find it there.
    pub(super) ros1: Option<Key>,
    pub(super) uri: Option<String>,
    /// It is in the ROS 2 graph.
    pub(super) ros2: bool,
    /// By what it is known in each graph to be the same, if it is in both.
    pub(super) origin: Option<u64>,
    pub(crate) inputs: SortedMap<String, Arc<TopicInput>>,
    pub(crate) outputs: SortedMap<String, Arc<Publication>>,
    pub(crate) services: SortedMap<String, Arc<ServiceCore>>,
    pub(crate) watches: Vec<Arc<WatchCore>>,
    /// Links to services, by what the engine calls them.
    pub(super) calls: SortedMap<ServiceLinkId, Call>,
    /// Publishers of this process that each topic takes messages from.
    pub(super) locals: SortedMap<String, SortedSet<String>>,
    /// Registrations that the master has answered, refused ones with the reason.
    pub(crate) answered: SortedMap<(Role, String), Option<String>>,
    /// Why the master could not be reached, until it can.
    pub(crate) unreachable: Option<String>,
    /// The master need not be there yet, and has not answered so far: nobody waits for it.
    pub(crate) awaits_master: bool,
    /// Why the node has been told to stop.
    pub(crate) stopped: Option<String>,
    /// Everything is unregistered.
    closed: bool,
    /// Where what is to be said of it goes.
    pub(crate) log: Option<Arc<NodeLog>>,
    /// What is logged about its peers.
    throttle: Throttle,
    /// It hears of `/use_sim_time`.
    pub(crate) follows_sim_time: bool,
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Nodes(Table<NodeSlot>);

impl Nodes {
    pub(super) fn add(&mut self, name: String, ros2: bool, origin: Option<u64>) -> NodeKey {
        NodeKey(self.0.insert_with(|_| NodeSlot::new(name, ros2, origin)))
    }

    pub(super) fn remove(&mut self, key: NodeKey) -> Option<NodeSlot> {
        self.0.remove(key.0)
    }

    pub(crate) fn get(&self, key: NodeKey) -> Option<&NodeSlot> {
        self.0.get(key.0)
    }

    pub(crate) fn get_mut(&mut self, key: NodeKey) -> Option<&mut NodeSlot> {
        self.0.get_mut(key.0)
    }

    pub(super) fn keys(&self) -> Vec<NodeKey> {
        self.0.keys().into_iter().map(NodeKey).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &NodeSlot> {
        self.0.iter()
    }

    /// The node of this full name, if it is of this process.
    fn named(&self, name: &str) -> Option<&NodeSlot> {
        self.iter().find(|node| node.name == name)
    }

    /// True if a node of this full name runs in this process, which no master has stopped.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.iter().any(|node| node.name == name && node.stopped.is_none())
    }

    /// By what a node is known in both graphs to be the same, if it is in both.
    pub(super) fn origin(&self, key: NodeKey) -> Option<u64> {
        self.get(key)?.origin
    }

    /// Where others find the nodes in the ROS 1 graph.
    pub(super) fn uris(&self) -> Vec<String> {
        self.iter().filter_map(|node| node.uri.clone()).collect()
    }

    /// What the provider at the other end of a link of a node said of itself.
    pub(crate) fn service_info(&self, key: NodeKey, link: ServiceLinkId) -> Option<ServiceInfo> {
        self.get(key)?.calls.get(&link)?.info.clone()
    }

    fn outputs(&self) -> impl Iterator<Item = (&String, &Arc<Publication>)> {
        self.iter().flat_map(|node| &node.outputs)
    }

    /// The service of this name, if a node of this process provides it.
    pub(crate) fn service(&self, service: &str) -> Option<Arc<ServiceCore>> {
        let mut running = self.iter().filter(|node| node.stopped.is_none());
        running.find_map(|node| node.services.get(service)).map(Arc::clone)
    }

    /// True if no link of ROS 1 holds back what was published.
    pub(crate) fn are_sent_in_ros1(&self) -> bool {
        self.iter().all(NodeSlot::is_sent_in_ros1)
    }

    /// What has not arrived of what was published, by topic.
    pub(crate) fn unarrived(&self, of: fn(&Publication) -> Vec<Unarrived>) -> Vec<(String, Vec<Unarrived>)> {
        self.outputs().map(|(topic, output)| (topic.clone(), of(output))).collect()
    }

    /// Until when what was published with this is waited for. If nobody waits for it yet, a wait begins for all that was
    /// published in the process.
    pub(crate) fn waits_until(&self, publication: &Publication, linger: Duration) -> Instant {
        let now = clock::monotonic();
        let begin = || {
            self.outputs().for_each(|(_, output)| output.begin_wait(now, linger));
            publication.begin_wait(now, linger);
            publication.is_waited_for().unwrap_or(now)
        };
        publication.is_waited_for().unwrap_or_else(begin)
    }

    /// True if all have left their graphs.
    pub(crate) fn are_closed(&self) -> bool {
        self.iter().all(NodeSlot::is_closed)
    }
}

impl NodeSlot {
    fn new(name: String, ros2: bool, origin: Option<u64>) -> Self {
        Self {
            name,
            ros1: None,
            uri: None,
            ros2,
            origin,
            inputs: SortedMap::new(),
            outputs: SortedMap::new(),
            services: SortedMap::new(),
            watches: Vec::new(),
            calls: SortedMap::new(),
            locals: SortedMap::new(),
            answered: SortedMap::new(),
            unreachable: None,
            awaits_master: false,
            stopped: None,
            closed: false,
            log: None,
            throttle: Throttle::default(),
            follows_sim_time: false,
        }
    }

    /// True if nobody in the ROS 2 graph has yet to get what it published itself, such as the lines that it logged.
    pub(crate) fn is_acknowledged_in_ros2(&self) -> bool {
        self.outputs.values().all(|output| output.is_acknowledged())
    }

    /// True if no link of ROS 1 holds back what it published.
    pub(crate) fn is_sent_in_ros1(&self) -> bool {
        self.outputs.values().all(|output| output.is_sent_by_links())
    }

    /// True if nobody is to be told any more that it ends.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed || self.ros1.is_none() || self.awaits_master
    }

    /// The name of a topic that it subscribes to.
    pub(super) fn topic_of(&self, input: &Arc<TopicInput>) -> Option<&str> {
        let mut topics = self.inputs.iter();
        topics.find(|(_, other)| Arc::ptr_eq(other, input)).map(|(topic, _)| topic.as_str())
    }

    /// Says something of the node.
    pub(super) fn say(&self, level: log::Level, line: fmt::Arguments<'_>) {
        match &self.log {
            Some(log) => log.say(level, line),
            None => console::say(level, line),
        }
    }

    /// Says what peers did, as long as they do not do it all the time.
    pub(super) fn warn_of_peer(&mut self, line: fmt::Arguments<'_>) {
        let Self { throttle, log, .. } = self;
        throttle.warn(clock::monotonic(), line, |line| match log {
            Some(log) => log.say(log::Level::Warn, line),
            None => console::say(log::Level::Warn, line),
        });
    }

    /// A registration begins: an earlier answer is no longer one.
    pub(crate) fn begin(&mut self, role: Role, topic: &str) {
        self.answered.remove(&(role, topic.to_owned()));
    }

    /// Removes a subscription; true if it was the last one to the topic.
    pub(crate) fn remove_input(&mut self, topic: &str, subscription: &Arc<SubscriptionCore>) -> bool {
        let last = self.inputs.get(topic).is_some_and(|input| input.remove(subscription));
        if last {
            self.inputs.remove(topic);
            self.locals.remove(topic);
            self.begin(Role::Subscriber, topic);
        }
        last
    }

    /// Notes what others wait for, and logs what users should know.
    pub(super) fn note(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Registered { role, name } => {
                self.unreachable = None;
                self.awaits_master = false;
                self.answered.insert((role, name), None);
            }
            NodeEvent::RegistrationRefused { role, name, why } => {
                self.awaits_master = false;
                self.say(log::Level::Error, format_args!("the master refuses {name}: {why}"));
                self.answered.insert((role, name), Some(why.to_string()));
            }
            NodeEvent::MasterUnreachable { .. } if self.awaits_master => {}
            NodeEvent::MasterUnreachable { why } => {
                let meanwhile = if self.ros2 { ", while ROS 2 goes on" } else { "" };
                let text =
                    format_args!("the master does not answer and is tried until it does{meanwhile}: {why}");
                self.say(log::Level::Warn, text);
                self.unreachable = Some(why.to_string());
            }
            NodeEvent::MasterReconnected => {
                self.say(log::Level::Warn, format_args!("the master is back"));
                self.unreachable = None;
            }
            NodeEvent::Closed => self.closed = true,
            _ => {}
        }
    }
}
