//! The engines that the driver drives: how they come, are worked on and go.

use std::collections::HashMap;
use std::io;

use runnel_core::time::Instant;
use runnel_io::{Interest, Listener, clock};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use super::nodes::NodeKey;
use super::socket::Socket;
use super::table::Key;
use super::throttle::Throttle;
use super::{Driver, Engine, Slot};

impl Driver {
    /// Adds an engine that is no node's, with the sockets it listens on.
    pub(crate) fn add_engine(&mut self, engine: Engine, listeners: Vec<(Listener, Port)>) -> io::Result<Key> {
        self.add_engine_of(None, engine, listeners)
    }

    /// Adds an engine that speaks for a node, or for none.
    pub(super) fn add_engine_of(
        &mut self,
        node: Option<NodeKey>,
        engine: Engine,
        listeners: Vec<(Listener, Port)>,
    ) -> io::Result<Key> {
        let slot = Slot {
            engine,
            node,
            conns: HashMap::new(),
            throttle: Throttle::default(),
            answers: HashMap::new(),
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

    /// Removes an engine and closes all its sockets.
    pub(super) fn remove_engine(&mut self, key: Key) -> Option<Slot> {
        for socket in self.sockets.keys() {
            if self.sockets.get(socket).and_then(Socket::engine) == Some(key) {
                self.remove_socket(socket);
            }
        }
        self.lookups.forget_engine(key);
        self.engine_deadlines.cancel(&key);
        self.engines.remove(key)
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

    /// What a call of an engine came to, once it is answered.
    pub(crate) fn take_call_answer(&mut self, key: Key, call: CallId) -> Option<Result<Value, CallError>> {
        self.engines.get_mut(key)?.answers.remove(&call)
    }
}
