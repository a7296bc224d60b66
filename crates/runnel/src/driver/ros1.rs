//! The process in the ROS 1 graph: its engines, which are given what comes and say what is to be done.

mod calls;
mod engine;

use std::collections::VecDeque;

use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::NodeEvent;
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use super::effect::{Deadline, Effects};
use super::nodes::NodeKey;
use super::table::{Key, Table};
use super::throttle::Throttle;
pub use calls::ServiceInfo;
pub(crate) use calls::{Asks, Call};
#[cfg(feature = "master")]
pub(crate) use engine::Verbs;
pub(crate) use engine::{Engine, Notice};

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Ros1 {
    engines: Table<Slot>,
    /// Engines that may ask for something.
    pub(super) unserved: VecDeque<Key>,
}

/// An engine and what is kept for it.
pub(super) struct Slot {
    pub(super) engine: Engine,
    /// The node that it speaks for, if it is one's.
    pub(super) node: Option<NodeKey>,
    /// What is logged about its peers, unless it is a node's: that has its own.
    pub(super) throttle: Throttle,
    /// Answers to its own calls that nobody has taken yet.
    answers: SortedMap<CallId, Result<Value, CallError>>,
}

/// What an engine says.
pub(super) enum Saying {
    Transmit(Transmit),
    Event(NodeEvent),
    Notice(Notice),
}

impl Ros1 {
    /// Adds an engine that speaks for a node, or for none.
    pub(super) fn add(&mut self, node: Option<NodeKey>, engine: Engine) -> Key {
        let slot = Slot { engine, node, throttle: Throttle::default(), answers: SortedMap::new() };
        let key = self.engines.insert_with(|_| slot);
        self.unserved.push_back(key);
        key
    }

    /// Removes an engine.
    pub(super) fn remove(&mut self, key: Key, effects: &mut Effects) -> Option<Slot> {
        effects.cancel(Deadline::Engine(key));
        self.engines.remove(key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&Slot> {
        self.engines.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Slot> {
        self.engines.get_mut(key)
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.engines.keys()
    }

    /// Works on an engine, which is asked afterwards what is to be done.
    pub(super) fn with<T>(&mut self, key: Key, work: impl FnOnce(&mut Engine, Instant) -> T) -> Option<T> {
        let slot = self.engines.get_mut(key)?;
        let result = work(&mut slot.engine, clock::monotonic());
        if !self.unserved.contains(&key) {
            self.unserved.push_back(key);
        }
        Some(result)
    }

    /// Tells every node which others are of this process.
    pub(super) fn set_local_nodes(&mut self, uris: &[String]) {
        for key in self.keys() {
            self.with(key, |engine, _| {
                if let Engine::Node(node) = engine {
                    node.set_local_nodes(uris.to_vec());
                }
            });
        }
    }

    /// Has an engine do what is due.
    pub(super) fn handle_timeout(&mut self, key: Key) {
        self.with(key, |engine, now| engine.verbs().handle_timeout(now));
    }

    /// What an engine says next. One that has been worked on is asked until it says nothing more; those that are worked on
    /// meanwhile have their turn afterwards, since a peer can make that as many as it likes.
    pub(super) fn poll(&mut self, effects: &mut Effects) -> Option<(Key, Saying)> {
        while let Some(key) = self.unserved.front().copied() {
            if let Some(saying) = self.engines.get_mut(key).and_then(Slot::poll) {
                return Some((key, saying));
            }
            self.unserved.pop_front();
            match self.engines.get_mut(key).and_then(|slot| slot.engine.verbs().poll_timeout()) {
                Some(at) => effects.schedule(Deadline::Engine(key), at),
                None => effects.cancel(Deadline::Engine(key)),
            }
        }
        None
    }

    /// A call of an engine has come to something.
    pub(super) fn add_answer(&mut self, key: Key, call: CallId, result: Result<Value, CallError>) {
        if let Some(slot) = self.engines.get_mut(key) {
            slot.answers.insert(call, result);
        }
    }

    /// What a call of an engine came to, once it is answered.
    pub(super) fn take_call_answer(&mut self, key: Key, call: CallId) -> Option<Result<Value, CallError>> {
        self.engines.get_mut(key)?.answers.remove(&call)
    }
}

impl Slot {
    fn poll(&mut self) -> Option<Saying> {
        if let Some(transmit) = self.engine.verbs().poll_transmit() {
            return Some(Saying::Transmit(transmit));
        }
        match &mut self.engine {
            Engine::Node(node) => node.poll_event().map(Saying::Event),
            Engine::Other(other) => other.poll_notice().map(Saying::Notice),
        }
    }
}
