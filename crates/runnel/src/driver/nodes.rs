//! Nodes of the process, with the state that the driver keeps for each.

mod locals;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "type_description")]
use runnel_core::message::Service;
use runnel_core::sorted::{SortedMap, SortedSet};
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::{MasterFault, NodeEvent, Role, ServiceLinkId};
use runnel_ros1::rpc::Uri;

use super::ros1::{Call, ServiceInfo};
use super::table::{Key, Table};
use crate::data::{Events, ParameterRead, Publication, ServiceCore, SubscriptionCore, TopicInput, WatchCore};
use crate::log_output::console;
use crate::log_output::throttle::Throttle;
use crate::node_log::NodeLog;
use crate::settings::linger::Unarrived;
#[cfg(feature = "type_description")]
use crate::types::announced::Topic;
#[cfg(feature = "type_description")]
use crate::types::node_types::{NodeTypes, TypeUse};

/// Key of a node. Its engine has another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeKey(pub(super) Key);

/// State of a node.
pub(crate) struct NodeSlot {
    /// Its full name.
    pub(super) name: String,
    /// Its engine and its URI in the ROS 1 graph.
    pub(super) ros1: Option<Key>,
    pub(super) uri: Option<String>,
    /// Whether it is in the ROS 2 graph.
    pub(super) ros2: bool,
    /// Dual node id, if it is in both graphs.
    pub(super) dual_node_id: Option<u64>,
    pub(crate) inputs: SortedMap<String, Arc<TopicInput>>,
    pub(crate) outputs: SortedMap<String, Arc<Publication>>,
    pub(crate) services: SortedMap<String, Arc<ServiceCore>>,
    pub(crate) watches: Vec<Arc<WatchCore>>,
    /// Values of its own parameters that it has read at the master.
    pub(crate) parameter_reads: Option<Arc<Events<ParameterRead>>>,
    /// Links to services, by the engine's id.
    pub(super) calls: SortedMap<ServiceLinkId, Call>,
    /// URIs of this process's nodes from which each topic takes messages.
    pub(super) locals: SortedMap<String, SortedSet<String>>,
    /// Answers of the master to registrations: the reason if it refused one.
    pub(crate) answered: SortedMap<(Role, String), Option<String>>,
    /// Why the master cannot be reached.
    pub(crate) unreachable: Option<String>,
    /// The node does not wait for a master, and none has answered yet.
    pub(crate) awaits_master: bool,
    /// Why the node was asked to stop.
    pub(crate) stopped: Option<String>,
    /// All its registrations have been removed.
    closed: bool,
    /// Its log.
    pub(crate) log: Option<Arc<NodeLog>>,
    /// The types that it uses in ROS 2.
    #[cfg(feature = "type_description")]
    pub(crate) types: Arc<NodeTypes>,
    /// The uses of its publications and subscriptions.
    #[cfg(feature = "type_description")]
    topic_types: SortedMap<(Role, String), TypeUse>,
    /// The uses of services that end with it.
    #[cfg(feature = "type_description")]
    service_types: Vec<TypeUse>,
    /// Limits log lines about its peers.
    throttle: Throttle,
    /// It follows `/use_sim_time`.
    pub(crate) follows_sim_time: bool,
    /// It is to take the place of another node of its name.
    pub(crate) stands_by: bool,
}

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Nodes(Table<NodeSlot>);

impl Nodes {
    pub(super) fn add(&mut self, name: String, ros2: bool, dual_node_id: Option<u64>) -> NodeKey {
        NodeKey(self.0.insert_with(|_| NodeSlot::new(name, ros2, dual_node_id)))
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

    /// The node of this process with this full name.
    fn named(&self, name: &str) -> Option<&NodeSlot> {
        self.iter().find(|node| node.name == name)
    }

    /// Whether a node of this full name runs in this process. One that a master has stopped does not count.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.iter().any(|node| node.name == name && node.stopped.is_none())
    }

    /// Dual node id of a node, if it is in both graphs.
    pub(super) fn dual_node_id(&self, key: NodeKey) -> Option<u64> {
        self.get(key)?.dual_node_id
    }

    /// URIs of the nodes in the ROS 1 graph.
    pub(super) fn uris(&self) -> Vec<String> {
        self.iter().filter_map(|node| node.uri.clone()).collect()
    }

    /// Header of the service at the other end of a node's link.
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

    /// Whether all ROS 1 links have sent what was published.
    pub(crate) fn are_sent_in_ros1(&self) -> bool {
        self.iter().all(NodeSlot::is_sent_in_ros1)
    }

    /// Published messages that have not arrived, by topic.
    pub(crate) fn unarrived(&self, of: fn(&Publication) -> Vec<Unarrived>) -> Vec<(String, Vec<Unarrived>)> {
        self.outputs().map(|(topic, output)| (topic.clone(), of(output))).collect()
    }

    /// When to stop waiting for the messages of this publication. Unless a wait is under way, begins one for all
    /// publications of the process.
    pub(crate) fn waits_until(&self, publication: &Publication, linger: Duration) -> Instant {
        let now = clock::monotonic();
        let begin = || {
            self.outputs().for_each(|(_, output)| output.begin_wait(now, linger));
            publication.begin_wait(now, linger);
            publication.wait_deadline().unwrap_or(now)
        };
        publication.wait_deadline().unwrap_or_else(begin)
    }

    /// Whether all nodes have left their graphs.
    pub(crate) fn are_closed(&self) -> bool {
        self.iter().all(NodeSlot::is_closed)
    }
}

impl NodeSlot {
    fn new(name: String, ros2: bool, dual_node_id: Option<u64>) -> Self {
        Self {
            name,
            ros1: None,
            uri: None,
            ros2,
            dual_node_id,
            inputs: SortedMap::new(),
            outputs: SortedMap::new(),
            services: SortedMap::new(),
            watches: Vec::new(),
            parameter_reads: None,
            calls: SortedMap::new(),
            locals: SortedMap::new(),
            answered: SortedMap::new(),
            unreachable: None,
            awaits_master: false,
            stopped: None,
            closed: false,
            log: None,
            #[cfg(feature = "type_description")]
            types: NodeTypes::new(),
            #[cfg(feature = "type_description")]
            topic_types: SortedMap::new(),
            #[cfg(feature = "type_description")]
            service_types: Vec::new(),
            throttle: Throttle::default(),
            follows_sim_time: false,
            stands_by: false,
        }
    }

    /// Whether all ROS 2 subscribers have acknowledged what the node itself published, such as its log lines.
    pub(crate) fn is_acknowledged_in_ros2(&self) -> bool {
        self.outputs.values().all(|output| output.is_acknowledged())
    }

    /// Whether all ROS 1 links have sent what the node published.
    pub(crate) fn is_sent_in_ros1(&self) -> bool {
        self.outputs.values().all(|output| output.is_sent_by_links())
    }

    /// Whether the end of the node has been announced everywhere.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed || self.ros1.is_none() || self.awaits_master
    }

    /// Name of the topic of an input.
    pub(super) fn topic_of(&self, input: &Arc<TopicInput>) -> Option<&str> {
        let mut topics = self.inputs.iter();
        topics.find(|(_, other)| Arc::ptr_eq(other, input)).map(|(topic, _)| topic.as_str())
    }

    /// Logs a line in the node's name.
    pub(super) fn say(&self, level: log::Level, line: fmt::Arguments<'_>) {
        match &self.log {
            Some(log) => log.log_library(level, line),
            None => console::log_line(level, line),
        }
    }

    /// Logs a fault of a peer, within a limit per time.
    pub(super) fn warn_of_peer(&mut self, line: fmt::Arguments<'_>) {
        let Self { throttle, log, .. } = self;
        throttle.warn(clock::monotonic(), line, |line| match log {
            Some(log) => log.log_library(log::Level::Warn, line),
            None => console::log_line(log::Level::Warn, line),
        });
    }

    /// Describes the type of a publication or a subscription that is in ROS 2.
    #[cfg(feature = "type_description")]
    pub(super) fn describe_topic(&mut self, role: Role, topic: &Topic) {
        if let Some(type_use) = topic.ros2.as_ref().and_then(|ros2| self.types.use_message(ros2)) {
            self.topic_types.insert((role, topic.name.clone()), type_use);
        }
    }

    /// Describes the type of a service that ends with the node.
    #[cfg(feature = "type_description")]
    pub(crate) fn describe_internal_service<S: Service>(&mut self) {
        self.service_types.push(self.types.use_service::<S>());
    }

    /// Ends the description of the type of a publication or a subscription.
    #[cfg(feature = "type_description")]
    pub(super) fn forget_topic(&mut self, role: Role, topic: &str) {
        self.topic_types.remove(&(role, topic.to_owned()));
    }

    /// Begins a registration: an earlier answer no longer counts.
    pub(crate) fn begin(&mut self, role: Role, topic: &str) {
        self.answered.remove(&(role, topic.to_owned()));
    }

    /// Removes a subscription; true if it was the last one of the topic.
    pub(crate) fn remove_input(&mut self, topic: &str, subscription: &Arc<SubscriptionCore>) -> bool {
        let last = self.inputs.get(topic).is_some_and(|input| input.remove(subscription));
        if last {
            self.inputs.remove(topic);
            self.locals.remove(topic);
            #[cfg(feature = "type_description")]
            self.forget_topic(Role::Subscriber, topic);
            self.begin(Role::Subscriber, topic);
        }
        last
    }

    /// Records an event for waiting threads, and logs it if users need it.
    pub(super) fn note(&mut self, event: NodeEvent) {
        match event {
            NodeEvent::Registered { role, name } => {
                self.unreachable = None;
                self.awaits_master = false;
                self.answered.insert((role, name), None);
            }
            NodeEvent::RegistrationRefused { role, name, why } => {
                self.awaits_master = false;
                let request = match role {
                    Role::Publisher | Role::Subscriber => "topic",
                    Role::Service => "service",
                    Role::Parameter | Role::ParamSubscriber => "parameter",
                };
                self.say(log::Level::Error, format_args!("the master refuses {request} {name}: {why}"));
                self.answered.insert((role, name), Some(why.to_string()));
            }
            NodeEvent::MasterUnreachable { .. } if self.awaits_master => {}
            NodeEvent::MasterUnreachable { master, why } => self.master_unreachable(&master, &why),
            NodeEvent::MasterReconnected => {
                self.say(log::Level::Warn, format_args!("the master is back"));
                self.unreachable = None;
            }
            NodeEvent::Closed => self.closed = true,
            _ => {}
        }
    }

    /// Records that the master cannot be reached, and warns unless that is known.
    pub(crate) fn master_unreachable(&mut self, master: &Uri, why: &MasterFault) {
        if self.unreachable.is_none() {
            let meanwhile = if self.ros2 { " while ROS 2 works" } else { "" };
            let summary = why.summary(master);
            let text = format_args!("{summary}: waiting{meanwhile}. Try: runnel master, or Graphs::Ros2");
            self.say(log::Level::Warn, text);
        }
        self.unreachable = Some(why.to_string());
    }
}
