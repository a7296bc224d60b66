//! The driver: all sockets, engines and timers of a context, and the event loop that runs them. The thread that holds the
//! driver's lock runs it. It never calls user code.
//!
//! It has four components, each with its own state: [`sockets`], the ROS 1 graph ([`ros1`]), the ROS 2 graph ([`ros2`]) and
//! the IPC connections with other processes of this host ([`ipc_connections`]). A request of one component to another is an
//! [`effect`], which the event loop ([`iteration`]) applies. Work of a component at a later time is a deadline of that loop.
//!
//! ```text
//!  reactor ─► control socket ─► engine ─► transmits ─► control socket
//!                                  └────► events ────► links of the data plane
//!  reactor ─► input socket ─► subscription queues ─► ready queue, run by the thread that spins
//!  reactor ─► output socket ─► messages that the socket did not take before
//! ```

mod effect;
mod entries;
mod incompatible;
mod ipc_connections;
mod iteration;
mod late_samples;
mod limits;
mod local_matching;
mod memory_input;
mod monitored_endpoints;
mod nodes;
mod pair_delivery;
mod pair_end;
mod ros1;
mod ros2;
mod shared_links;
mod sockets;
mod table;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use runnel_core::time::Instant;
use runnel_io::{Events, Listener, Reactor};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use crate::data::SubscriptionCore;
use crate::ipc::Pool;
use crate::settings::environment::Settings;
use crate::settings::receive_budget::ReceiveBudget;
use crate::time::simulation::Simulation;
use effect::Effects;
pub(crate) use entries::{Inputs, Ros1End};
use ipc_connections::IpcConnections;
use local_matching::Endpoints;
use monitored_endpoints::MonitoredEndpoints;
pub(crate) use nodes::NodeKey;
use nodes::Nodes;
pub use ros1::ServiceInfo;
pub(crate) use ros1::{CallRequest, Engine};
use ros1::{EngineEntry, Ros1};
#[cfg(feature = "master")]
pub(crate) use ros1::{EngineEvent, ProtocolEngine};
use ros2::Ros2;
use sockets::Sockets;
pub(crate) use table::Key;

/// A deadline for a poll that does not wait.
const NO_WAIT: Instant = Instant(0);

/// See the module's documentation.
pub(crate) struct Driver {
    sockets: Sockets,
    ros1: Ros1,
    pub(crate) ros2: Ros2,
    pub(crate) ipc_connections: IpcConnections,
    pub(crate) nodes: Nodes,
    endpoints: Endpoints,
    monitored_endpoints: MonitoredEndpoints,
    /// Pending requests between components, and deadlines.
    effects: Effects,
    /// Buffer for the reactor's events.
    events: Events,
    /// Set once all nodes have been asked to stop.
    stop: Arc<AtomicBool>,
    simulation: Arc<Simulation>,
    /// The node that subscribes to `/clock` for all nodes while time is simulated, and its subscription.
    clock: Option<(NodeKey, Arc<SubscriptionCore>)>,
}

/// Result of one iteration of the event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PollOutcome {
    /// A socket was ready, or a deadline was due: something may have changed.
    pub(crate) had_work: bool,
    /// Another thread or a signal has work that comes before the next wait.
    pub(crate) woken: bool,
}

impl Driver {
    pub(crate) fn new(
        reactor: Arc<Reactor>,
        stop: Arc<AtomicBool>,
        simulation: Arc<Simulation>,
        pool: Arc<Pool>,
        settings: &Settings,
    ) -> Self {
        Self {
            ipc_connections: IpcConnections::new(Arc::clone(&reactor), settings.ipc.clone(), pool),
            sockets: Sockets::new(reactor, settings),
            ros1: Ros1::default(),
            ros2: Ros2::new(settings.ros2.clone(), settings.ipc.is_some()),
            nodes: Nodes::default(),
            endpoints: Endpoints::default(),
            monitored_endpoints: MonitoredEndpoints::default(),
            effects: Effects::default(),
            events: Events::default(),
            stop,
            simulation,
            clock: None,
        }
    }

    /// Adds an engine that belongs to no node, with the sockets it listens on.
    pub(crate) fn add_engine(&mut self, engine: Engine, listeners: Vec<(Listener, Port)>) -> io::Result<Key> {
        self.add_engine_for(None, engine, listeners)
    }

    /// Adds an engine, for a node or for none.
    fn add_engine_for(
        &mut self,
        node: Option<NodeKey>,
        engine: Engine,
        listeners: Vec<(Listener, Port)>,
    ) -> io::Result<Key> {
        let key = self.ros1.add(node, engine);
        for (listener, port) in listeners {
            if let Err(error) = self.sockets.listen(key, listener, port) {
                drop(self.remove_engine(key));
                return Err(error);
            }
        }
        Ok(key)
    }

    /// Removes an engine and closes all its sockets.
    fn remove_engine(&mut self, key: Key) -> Option<EngineEntry> {
        self.sockets.remove_engine(key, &mut self.effects);
        self.ros1.remove(key, &mut self.effects)
    }

    /// Calls `work` with an engine, and polls the engine afterwards.
    pub(crate) fn with_engine<T>(
        &mut self,
        key: Key,
        work: impl FnOnce(&mut Engine, Instant) -> T,
    ) -> Option<T> {
        self.ros1.with(key, work)
    }

    /// Result of an engine's own call, once it has arrived.
    pub(crate) fn take_call_answer(&mut self, key: Key, call: CallId) -> Option<Result<Value, CallError>> {
        self.ros1.take_call_answer(key, call)
    }

    /// Memory used by incomplete messages.
    pub(crate) fn receive_budget(&self) -> ReceiveBudget {
        self.sockets.receive_budget()
    }
}
