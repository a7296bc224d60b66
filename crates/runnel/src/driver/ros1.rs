//! ROS 1 graph: the engines of the process. They take input and give output.

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
use crate::log_output::throttle::Throttle;
pub use calls::ServiceInfo;
pub(crate) use calls::{Call, CallRequest};
#[cfg(feature = "master")]
pub(crate) use engine::ProtocolEngine;
pub(crate) use engine::{Engine, EngineEvent};

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Ros1 {
    engines: Table<EngineEntry>,
    /// Engines that may have output.
    pub(super) unpolled: VecDeque<Key>,
}

/// An engine and its state in the driver.
pub(super) struct EngineEntry {
    pub(super) engine: Engine,
    /// Its node, if it belongs to one.
    pub(super) node: Option<NodeKey>,
    /// Limits log lines about its peers. A node has a limit of its own.
    pub(super) throttle: Throttle,
    /// Results of its own calls that have not been taken.
    answers: SortedMap<CallId, Result<Value, CallError>>,
}

/// Output of an engine.
pub(super) enum EngineOutput {
    Transmit(Transmit),
    Event(NodeEvent),
    EngineEvent(EngineEvent),
}

impl Ros1 {
    /// Adds an engine, for a node or for none.
    pub(super) fn add(&mut self, node: Option<NodeKey>, engine: Engine) -> Key {
        let entry = EngineEntry { engine, node, throttle: Throttle::default(), answers: SortedMap::new() };
        let key = self.engines.insert_with(|_| entry);
        self.unpolled.push_back(key);
        key
    }

    /// Removes an engine.
    pub(super) fn remove(&mut self, key: Key, effects: &mut Effects) -> Option<EngineEntry> {
        effects.cancel(Deadline::Engine(key));
        self.engines.remove(key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&EngineEntry> {
        self.engines.get(key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut EngineEntry> {
        self.engines.get_mut(key)
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.engines.keys()
    }

    /// Calls `work` with an engine, and polls the engine afterwards.
    pub(super) fn with<T>(&mut self, key: Key, work: impl FnOnce(&mut Engine, Instant) -> T) -> Option<T> {
        let entry = self.engines.get_mut(key)?;
        let result = work(&mut entry.engine, clock::monotonic());
        if !self.unpolled.contains(&key) {
            self.unpolled.push_back(key);
        }
        Some(result)
    }

    /// Gives every node the URIs of this process's nodes.
    pub(super) fn set_local_nodes(&mut self, uris: &[String]) {
        for key in self.keys() {
            self.with(key, |engine, _| {
                if let Engine::Node(node) = engine {
                    node.set_local_nodes(uris.to_vec());
                }
            });
        }
    }

    /// Handles a timeout of an engine.
    pub(super) fn handle_timeout(&mut self, key: Key) {
        self.with(key, |engine, now| engine.protocol().handle_timeout(now));
    }

    /// Next output of an engine. An engine is polled until it has no more. Engines that get work meanwhile are polled
    /// afterwards, since a peer can cause any amount of it.
    pub(super) fn poll(&mut self, effects: &mut Effects) -> Option<(Key, EngineOutput)> {
        while let Some(key) = self.unpolled.front().copied() {
            if let Some(output) = self.engines.get_mut(key).and_then(EngineEntry::poll) {
                return Some((key, output));
            }
            self.unpolled.pop_front();
            match self.engines.get_mut(key).and_then(|entry| entry.engine.protocol().poll_timeout()) {
                Some(at) => effects.schedule(Deadline::Engine(key), at),
                None => effects.cancel(Deadline::Engine(key)),
            }
        }
        None
    }

    /// Records the result of an engine's call.
    pub(super) fn add_answer(&mut self, key: Key, call: CallId, result: Result<Value, CallError>) {
        if let Some(entry) = self.engines.get_mut(key) {
            entry.answers.insert(call, result);
        }
    }

    /// Result of an engine's own call, once it has arrived.
    pub(super) fn take_call_answer(&mut self, key: Key, call: CallId) -> Option<Result<Value, CallError>> {
        self.engines.get_mut(key)?.answers.remove(&call)
    }
}

impl EngineEntry {
    fn poll(&mut self) -> Option<EngineOutput> {
        if let Some(transmit) = self.engine.protocol().poll_transmit() {
            return Some(EngineOutput::Transmit(transmit));
        }
        match &mut self.engine {
            Engine::Node(node) => node.poll_event().map(EngineOutput::Event),
            Engine::Other(other) => other.poll_engine_event().map(EngineOutput::EngineEvent),
        }
    }
}
