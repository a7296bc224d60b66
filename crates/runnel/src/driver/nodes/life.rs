//! How nodes come and go.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::{Listener, clock};
use runnel_ros1::node::{Node as Ros1Node, Port};

use super::{NodeKey, NodeSlot};
use crate::data::Publication;
use crate::driver::Driver;
use crate::driver::effect::Effect;
use crate::driver::ros1::{Engine, Slot};
use crate::driver::table::Key;
use crate::log_output::console;

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
        let key = self.nodes.add(name, ros2, origin);
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
        let engine = self.add_engine_of(Some(key), Engine::Node(end.engine), end.listeners)?;
        if let Some(node) = self.nodes.get_mut(key) {
            (node.ros1, node.uri, node.awaits_master) = (Some(engine), Some(uri), end.awaits_master);
        }
        self.share_locals();
        Ok(())
    }

    /// Removes a node and closes all its sockets. Another process may have its address next.
    pub(crate) fn remove_node(&mut self, key: NodeKey) -> Removed {
        self.nodes.leave_locals(key);
        let slot = self.nodes.get_mut(key);
        let (ros1, outputs) =
            slot.map(|node| (node.ros1, std::mem::take(&mut node.outputs))).unwrap_or_default();
        // A logger may outlive its node, and keeps what it publishes with.
        for output in outputs.values() {
            self.remove_writers(&output.offers());
            output.end();
        }
        let engine = ros1.and_then(|engine| self.remove_engine(engine));
        self.endpoints.forget_node(key);
        let node = self.nodes.remove(key);
        self.effects.push_back(Effect::NodesChanged);
        self.share_locals();
        Removed { _node: node, _outputs: outputs, _engine: engine }
    }

    /// The node that an engine speaks for.
    pub(in crate::driver) fn node_of(&mut self, engine: Key) -> Option<&mut NodeSlot> {
        let key = self.ros1.get(engine)?.node?;
        self.nodes.get_mut(key)
    }

    /// Works on the engine of a node, as [`Driver::with_engine`] does; `None` if the node is not in the ROS 1 graph.
    pub(crate) fn with_ros1<T>(
        &mut self,
        key: NodeKey,
        work: impl FnOnce(&mut Ros1Node, Instant) -> T,
    ) -> Option<T> {
        let engine = self.nodes.get(key)?.ros1?;
        self.with_engine(engine, |engine, now| engine.as_node().map(|node| work(node, now))).flatten()
    }

    /// Has all nodes unregister.
    pub(crate) fn close_nodes(&mut self) {
        // No other node is to go on hearing it.
        self.clock = None;
        for key in self.nodes.keys() {
            self.close_node(key);
        }
    }

    /// Has one node unregister, unless it is doing so.
    pub(crate) fn close_node(&mut self, key: NodeKey) {
        self.begin_close(key, "closed".into());
    }

    /// A node has been told to stop: it unregisters, and the last one ends the spinning.
    pub(in crate::driver) fn stopped(&mut self, key: NodeKey, reason: String) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        node.say(log::Level::Warn, format_args!("told to stop: {reason}"));
        self.begin_close(key, reason);
        if self.nodes.iter().all(|node| node.stopped.is_some()) {
            self.request_stop();
        }
    }

    fn begin_close(&mut self, key: NodeKey, reason: String) {
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
        self.hand_clock_on(key);
    }

    /// Says what peers of an engine did, as long as they do not do it all the time.
    pub(in crate::driver) fn warn_of_peer(&mut self, engine: Key, line: fmt::Arguments<'_>) {
        if let Some(node) = self.node_of(engine) {
            return node.warn_of_peer(line);
        }
        let warn = |line: fmt::Arguments<'_>| console::warning!("{line}");
        if let Some(slot) = self.ros1.get_mut(engine) {
            slot.throttle.warn(clock::monotonic(), line, warn);
        }
    }

    /// Tells every ROS 1 node which others are of this process.
    fn share_locals(&mut self) {
        let uris: Vec<String> = self.nodes.iter().filter_map(|node| node.uri.clone()).collect();
        for key in self.ros1.keys() {
            self.with_engine(key, |engine, _| {
                if let Engine::Node(node) = engine {
                    node.set_locals(uris.clone());
                }
            });
        }
    }
}
