//! The engines that the driver drives: how they come, are worked on and go.

use std::collections::HashMap;
use std::io;

use runnel_core::time::Instant;
use runnel_io::{Interest, Listener, clock};
use runnel_ros1::node::Port;

use super::node::NodeSlot;
use super::socket::Socket;
use super::table::Key;
use super::throttle::Throttle;
use super::{Driver, Engine, Slot};

impl Driver {
    /// Adds an engine with the sockets it listens on.
    pub(crate) fn add_engine(&mut self, engine: Engine, listeners: Vec<(Listener, Port)>) -> io::Result<Key> {
        let slot = Slot {
            engine,
            conns: HashMap::new(),
            deadline: None,
            node: NodeSlot::default(),
            throttle: Throttle::default(),
        };
        let key = self.engines.insert_with(|_| slot);
        for (listener, port) in listeners {
            let socket = self.sockets.insert_with(|_| Socket::Listener { listener, engine: key, port });
            if let Err(error) = self.watch(socket, Interest::Read) {
                drop(self.remove_engine(key));
                return Err(error);
            }
        }
        self.pump(key);
        Ok(key)
    }

    /// Removes an engine and closes all its sockets. Another process may have its address next. What is given back holds
    /// callbacks of the user's, whose end must not happen under the driver's lock.
    #[must_use]
    pub(crate) fn remove_engine(&mut self, key: Key) -> Option<Slot> {
        self.leave_locals(key);
        // A logger may outlive its node, and keeps what it publishes with.
        self.engines
            .get(key)
            .into_iter()
            .flat_map(|slot| slot.node.outputs.values())
            .for_each(|output| output.end());
        for socket in self.sockets.keys() {
            if self.sockets.get(socket).and_then(Socket::engine) == Some(key) {
                self.remove_socket(socket);
            }
        }
        self.lookups.forget_engine(key);
        let removed = self.engines.remove(key);
        self.share_locals();
        removed
    }

    /// Works on an engine, then does what it asks for; at once, unless engines are being served already.
    pub(crate) fn with_engine<T>(
        &mut self,
        key: Key,
        work: impl FnOnce(&mut Engine, Instant) -> T,
    ) -> Option<T> {
        let slot = self.engines.get_mut(key)?;
        let result = work(&mut slot.engine, clock::monotonic());
        self.pump(key);
        Some(result)
    }

    /// Has all nodes unregister.
    pub(crate) fn close_nodes(&mut self) {
        // No other node is to go on hearing it.
        self.clock = None;
        for key in self.engines.keys() {
            self.close_node(key);
        }
    }

    /// Has one node unregister, unless it is doing so.
    pub(crate) fn close_node(&mut self, key: Key) {
        let Some(slot) = self.engines.get_mut(key) else { return };
        if let Engine::Node(node) = &mut slot.engine
            && slot.node.stopped.replace("closed".into()).is_none()
        {
            node.begin_close(clock::monotonic());
            self.hand_clock_on(key);
            self.pump(key);
        }
    }

    /// True if all nodes have unregistered.
    pub(crate) fn nodes_are_closed(&self) -> bool {
        self.engines.iter().all(|slot| slot.node.closed || !matches!(slot.engine, Engine::Node(_)))
    }

    /// What the driver keeps for a node.
    pub(crate) fn node_slot(&mut self, key: Key) -> Option<&mut NodeSlot> {
        self.engines.get_mut(key).map(|slot| &mut slot.node)
    }
}
