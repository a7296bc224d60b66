//! The nodes of the process: what the driver keeps for each, whichever graphs it is in, and how they come and go.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::{Listener, clock};
use runnel_ros1::node::{Node as Ros1Node, NodeEvent, Port, Role, ServiceLinkId};

use super::Driver;
use super::effect::Effect;
use super::ros1::{Call, Engine, Slot};
use super::table::Key;
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
    /// The engine by which it is in the ROS 1 graph.
    pub(super) ros1: Option<Key>,
    /// It is in the ROS 2 graph.
    pub(super) ros2: bool,
    /// By what it is known in each graph to be the same, if it is in both.
    pub(super) origin: Option<u64>,
    pub(crate) inputs: HashMap<String, Arc<TopicInput>>,
    pub(crate) outputs: HashMap<String, Arc<Publication>>,
    pub(crate) services: HashMap<String, Arc<ServiceCore>>,
    pub(crate) watches: Vec<Arc<WatchCore>>,
    /// Links to services, by what the engine calls them.
    pub(super) calls: HashMap<ServiceLinkId, Call>,
    /// Publishers of this process that each topic takes messages from.
    pub(super) locals: HashMap<String, BTreeSet<String>>,
    /// Registrations that the master has answered, refused ones with the reason.
    pub(crate) answered: HashMap<(Role, String), Option<String>>,
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

/// What a node is in the ROS 1 graph with.
pub(crate) struct Ros1End {
    pub(crate) engine: Box<Ros1Node>,
    /// The sockets that the engine listens on.
    pub(crate) listeners: Vec<(Listener, Port)>,
    /// The master need not be there yet.
    pub(crate) awaits_master: bool,
}

/// What was kept for a node. It holds callbacks of the user's, whose end must not happen under the driver's lock.
#[must_use]
pub(crate) struct Removed {
    _node: Option<NodeSlot>,
    _outputs: HashMap<String, Arc<Publication>>,
    _engine: Option<Slot>,
}

impl Driver {
    /// Adds a node of this full name, with its end in the ROS 1 graph if it is to be there.
    pub(crate) fn add_node(
        &mut self,
        name: String,
        ros1: Option<Ros1End>,
        ros2: bool,
        origin: Option<u64>,
    ) -> io::Result<NodeKey> {
        let key = NodeKey(self.nodes.insert_with(|_| NodeSlot::new(name, ros2, origin)));
        if let Some(end) = ros1
            && let Err(error) = self.join_ros1(key, end)
        {
            self.nodes.remove(key.0);
            return Err(error);
        }
        if ros2 && let Err(error) = self.join_ros2() {
            let removed = self.remove_node(key);
            drop(removed);
            return Err(error);
        }
        self.effects.push_back(Effect::NodesChanged);
        Ok(key)
    }

    fn join_ros1(&mut self, key: NodeKey, end: Ros1End) -> io::Result<()> {
        let engine = self.add_engine_of(Some(key), Engine::Node(end.engine), end.listeners)?;
        if let Some(node) = self.node_slot(key) {
            (node.ros1, node.awaits_master) = (Some(engine), end.awaits_master);
        }
        self.share_locals();
        Ok(())
    }

    /// Removes a node and closes all its sockets. Another process may have its address next.
    pub(crate) fn remove_node(&mut self, key: NodeKey) -> Removed {
        self.leave_locals(key);
        let slot = self.node_slot(key);
        let (ros1, outputs) =
            slot.map(|node| (node.ros1, std::mem::take(&mut node.outputs))).unwrap_or_default();
        // A logger may outlive its node, and keeps what it publishes with.
        for output in outputs.values() {
            self.remove_writers(&output.offers());
            output.end();
        }
        let engine = ros1.and_then(|engine| self.remove_engine(engine));
        self.endpoints.forget_node(key);
        let node = self.nodes.remove(key.0);
        self.effects.push_back(Effect::NodesChanged);
        self.share_locals();
        Removed { _node: node, _outputs: outputs, _engine: engine }
    }

    /// What the driver keeps for a node.
    pub(crate) fn node_slot(&mut self, key: NodeKey) -> Option<&mut NodeSlot> {
        self.nodes.get_mut(key.0)
    }

    /// The node that an engine speaks for.
    pub(super) fn node_of(&mut self, engine: Key) -> Option<&mut NodeSlot> {
        let key = self.ros1.get(engine)?.node?;
        self.node_slot(key)
    }

    /// Works on the engine of a node, as [`Driver::with_engine`] does; `None` if the node is not in the ROS 1 graph.
    pub(crate) fn with_ros1<T>(
        &mut self,
        key: NodeKey,
        work: impl FnOnce(&mut Ros1Node, Instant) -> T,
    ) -> Option<T> {
        let engine = self.nodes.get(key.0)?.ros1?;
        self.with_engine(engine, |engine, now| engine.as_node().map(|node| work(node, now))).flatten()
    }

    /// What the driver keeps for the node of this full name, if it is of this process.
    pub(super) fn node_named(&self, name: &str) -> Option<&NodeSlot> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// Has all nodes unregister.
    pub(crate) fn close_nodes(&mut self) {
        // No other node is to go on hearing it.
        self.clock = None;
        for key in self.nodes.keys() {
            self.close_node(NodeKey(key));
        }
    }

    /// True if no link of ROS 1 holds back what was published.
    pub(crate) fn is_sent_in_ros1(&self) -> bool {
        self.nodes.iter().all(NodeSlot::is_sent_in_ros1)
    }

    /// What has not arrived of what was published, by topic.
    pub(crate) fn unarrived(&self, of: fn(&Publication) -> Vec<Unarrived>) -> Vec<(String, Vec<Unarrived>)> {
        let outputs = self.nodes.iter().flat_map(|node| &node.outputs);
        outputs.map(|(topic, output)| (topic.clone(), of(output))).collect()
    }

    /// Has one node unregister, unless it is doing so.
    pub(crate) fn close_node(&mut self, key: NodeKey) {
        self.begin_close(key, "closed".into());
    }

    /// A node has been told to stop: it unregisters, and the last one ends the spinning.
    pub(super) fn stopped(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.node_slot(key) else { return };
        node.say(log::Level::Warn, format_args!("told to stop: {reason}"));
        self.begin_close(key, reason);
        if self.nodes.iter().all(|node| node.stopped.is_some()) {
            self.request_stop();
        }
    }

    fn begin_close(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.node_slot(key) else { return };
        let ros1 = node.ros1;
        if node.stopped.replace(reason).is_some() {
            return;
        }
        if let Some(engine) = ros1 {
            self.with_engine(engine, |engine, now| {
                engine.as_node().into_iter().for_each(|node| node.begin_close(now));
            });
        }
        self.hand_clock_on(key);
    }

    /// True if all nodes have left their graphs.
    pub(crate) fn nodes_are_closed(&self) -> bool {
        self.nodes.iter().all(NodeSlot::is_closed)
    }

    /// Says what peers of an engine did, as long as they do not do it all the time.
    pub(super) fn warn_of_peer(&mut self, engine: Key, line: fmt::Arguments<'_>) {
        if let Some(node) = self.node_of(engine) {
            return node.warn_of_peer(line);
        }
        let warn = |line: fmt::Arguments<'_>| console::warning!("{line}");
        if let Some(slot) = self.ros1.get_mut(engine) {
            slot.throttle.warn(clock::monotonic(), line, warn);
        }
    }
}

impl NodeSlot {
    fn new(name: String, ros2: bool, origin: Option<u64>) -> Self {
        Self {
            name,
            ros1: None,
            ros2,
            origin,
            inputs: HashMap::new(),
            outputs: HashMap::new(),
            services: HashMap::new(),
            watches: Vec::new(),
            calls: HashMap::new(),
            locals: HashMap::new(),
            answered: HashMap::new(),
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
            NodeEvent::MasterBack => {
                self.say(log::Level::Warn, format_args!("the master is back"));
                self.unreachable = None;
            }
            NodeEvent::Closed => self.closed = true,
            _ => {}
        }
    }
}
