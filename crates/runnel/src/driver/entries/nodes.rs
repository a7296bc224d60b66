//! Creation and removal of nodes.

use std::io;
use std::sync::Arc;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::Listener;
use runnel_ros1::node::{Node as Ros1Node, Port};

use crate::data::{Publication, ServiceCore};
use crate::driver::Driver;
use crate::driver::effect::Effect;
use crate::driver::nodes::{NodeKey, NodeSlot};
use crate::driver::ros1::{Engine, EngineEntry};
use crate::driver::ros2::ClientEnd;

/// A node's part in the ROS 1 graph.
pub(crate) struct Ros1End {
    pub(crate) engine: Box<Ros1Node>,
    /// The sockets that the engine listens on.
    pub(crate) listeners: Vec<(Listener, Port)>,
    /// The node does not wait for a master.
    pub(crate) awaits_master: bool,
}

/// State of a removed node. It owns user callbacks, which must be dropped without the driver's lock.
#[must_use]
pub(crate) struct Removed {
    _node: Option<NodeSlot>,
    _outputs: SortedMap<String, Arc<Publication>>,
    _services: SortedMap<String, Arc<ServiceCore>>,
    /// Clients that the user has dropped, with their pending calls.
    _clients: Vec<ClientEnd>,
    _engine: Option<EngineEntry>,
}

impl Driver {
    /// Adds a node of this full name, with its part in the ROS 1 graph if it has one.
    pub(crate) fn add_node(
        &mut self,
        name: String,
        ros1: Option<Ros1End>,
        ros2: bool,
        dual_node_id: Option<u64>,
    ) -> io::Result<NodeKey> {
        let key = self.nodes.add(name, ros2, dual_node_id);
        if let Some(end) = ros1
            && let Err(error) = self.join_ros1(key, end)
        {
            self.nodes.remove(key);
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
        let uri = end.engine.uri().to_owned();
        let engine = self.add_engine_for(Some(key), Engine::Node(end.engine), end.listeners)?;
        if let Some(node) = self.nodes.get_mut(key) {
            (node.ros1, node.uri, node.awaits_master) = (Some(engine), Some(uri), end.awaits_master);
        }
        self.ros1.set_local_nodes(&self.nodes.uris());
        Ok(())
    }

    /// Removes a node and closes all its sockets. Another process may get its address afterwards.
    pub(crate) fn remove_node(&mut self, key: NodeKey) -> Removed {
        self.nodes.leave_locals(key);
        let slot = self.nodes.get_mut(key);
        let (ros1, outputs, services) = slot
            .map(|node| (node.ros1, std::mem::take(&mut node.outputs), std::mem::take(&mut node.services)))
            .unwrap_or_default();
        // Those of the library; the user's have been removed.
        for service in services.values() {
            self.remove_server(service);
        }
        let released = self.ros2.released_clients_of(key).into_iter();
        let clients = released.filter_map(|client| self.take_client(client)).collect();
        // A logger may outlive its node, and keeps its publication.
        for output in outputs.values() {
            self.remove_writers(&output.groups());
            output.end();
        }
        let engine = ros1.and_then(|engine| self.remove_engine(engine));
        self.endpoints.forget_node(key);
        let node = self.nodes.remove(key);
        self.effects.push_back(Effect::NodesChanged);
        self.ros1.set_local_nodes(&self.nodes.uris());
        Removed { _node: node, _outputs: outputs, _services: services, _clients: clients, _engine: engine }
    }

    /// Calls `work` with the engine of a node, as [`Driver::with_engine`]; `None` if the node is not in the ROS 1
    /// graph.
    pub(crate) fn with_ros1<T>(
        &mut self,
        key: NodeKey,
        work: impl FnOnce(&mut Ros1Node, Instant) -> T,
    ) -> Option<T> {
        let engine = self.nodes.get(key)?.ros1?;
        self.with_engine(engine, |engine, now| engine.as_node().map(|node| work(node, now))).flatten()
    }

    /// Nodes that stand by take over the names of those whose place they take.
    pub(crate) fn take_over_names(&mut self) {
        for key in self.nodes.keys() {
            let stood_by = self.nodes.get_mut(key).map(|node| std::mem::take(&mut node.stands_by));
            if stood_by == Some(true) {
                self.with_ros1(key, |node, now| node.take_over_name(now));
            }
        }
        self.effects.push_back(Effect::NodesChanged);
    }

    /// All nodes leave their place to others of their names.
    pub(crate) fn leave_names(&mut self) {
        self.close_nodes();
        self.effects.push_back(Effect::NodesChanged);
    }

    /// Begins to unregister all nodes.
    pub(crate) fn close_nodes(&mut self) {
        // No other node takes over the subscription to `/clock`.
        self.clock = None;
        for key in self.nodes.keys() {
            self.close_node(key);
        }
    }

    /// Begins to unregister one node, unless that has begun.
    pub(crate) fn close_node(&mut self, key: NodeKey) {
        self.begin_close(key, "closed".into());
    }

    /// Begins to unregister a node, unless that has begun.
    pub(in crate::driver) fn begin_close(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        let ros1 = node.ros1;
        if node.stopped.replace(reason).is_some() {
            return;
        }
        if let Some(engine) = ros1 {
            self.with_engine(engine, |engine, now| {
                engine.as_node().into_iter().for_each(|node| node.begin_close(now));
            });
        }
        self.move_clock_subscription(key);
    }
}
