//! The driver: what a process has in both graphs, and the loop that keeps it going. Whoever holds the driver turns it; it
//! never calls user code.
//!
//! It has four components, each with its own state: the [`sockets`], the graph of [`ros1`], the graph of [`ros2`], and the
//! [`sessions`] with other processes of this host. What one of them wants of another is an [`effect`], which the loop
//! ([`turn`]) hands on; when one has something to do itself is a deadline of the loop's.
//!
//! ```text
//!  reactor ─► control socket ─► engine ─► transmits ─► control socket
//!                                  └────► events ────► links of the data plane
//!  reactor ─► input socket ─► subscription queues ─► (ready queue, run by whoever spins)
//!  reactor ─► output socket ─► what a subscriber had not taken
//! ```

mod effect;
mod entries;
mod incompatible;
mod late_samples;
mod limits;
mod matches;
mod memory_input;
mod nodes;
mod pair_delivery;
mod pair_end;
mod ros1;
mod ros2;
mod sessions;
mod shared_links;
mod sockets;
mod table;
mod throttle;
mod turn;
mod watches;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use runnel_core::time::Instant;
use runnel_io::{Events, Listener, Reactor};
use runnel_ros1::node::Port;
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use crate::data::SubscriptionCore;
use crate::environment::Settings;
use crate::ipc::Pool;
use crate::receive_budget::ReceiveBudget;
use crate::simulation::Simulation;
use effect::Effects;
pub(crate) use entries::{Inputs, Ros1End};
use matches::Endpoints;
pub(crate) use nodes::NodeKey;
use nodes::Nodes;
pub use ros1::ServiceInfo;
pub(crate) use ros1::{Asks, Engine};
#[cfg(feature = "master")]
pub(crate) use ros1::{Notice, Verbs};
use ros1::{Ros1, Slot};
use ros2::Ros2;
use sessions::Sessions;
use sockets::Sockets;
pub(crate) use table::Key;
use watches::Watches;

/// Until when somebody waits who only looks.
const LOOK: Instant = Instant(0);

/// See the module's documentation.
pub(crate) struct Driver {
    sockets: Sockets,
    ros1: Ros1,
    pub(crate) ros2: Ros2,
    pub(crate) sessions: Sessions,
    pub(crate) nodes: Nodes,
    endpoints: Endpoints,
    watches: Watches,
    /// What is still to be done.
    effects: Effects,
    /// Room for what the reactor tells.
    events: Events,
    /// Set when all nodes have been told to stop.
    stop: Arc<AtomicBool>,
    simulation: Arc<Simulation>,
    /// The node that hears `/clock` for all, while time is simulated, and what it hears with.
    clock: Option<(NodeKey, Arc<SubscriptionCore>)>,
}

/// What one turn of the driver met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turned {
    /// Some socket was ready.
    pub(crate) served: bool,
    /// Another thread or a signal wants to be looked at before the next wait.
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
            sessions: Sessions::new(Arc::clone(&reactor), settings.ipc.clone(), pool),
            sockets: Sockets::new(reactor, settings),
            ros1: Ros1::default(),
            ros2: Ros2::new(settings.ros2.clone(), settings.ipc.is_some()),
            nodes: Nodes::default(),
            endpoints: Endpoints::default(),
            watches: Watches::default(),
            effects: Effects::default(),
            events: Events::default(),
            stop,
            simulation,
            clock: None,
        }
    }

    /// Adds an engine that is no node's, with the sockets it listens on.
    pub(crate) fn add_engine(&mut self, engine: Engine, listeners: Vec<(Listener, Port)>) -> io::Result<Key> {
        self.add_engine_of(None, engine, listeners)
    }

    /// Adds an engine that speaks for a node, or for none.
    fn add_engine_of(
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
    fn remove_engine(&mut self, key: Key) -> Option<Slot> {
        self.sockets.remove_engine(key, &mut self.effects);
        self.ros1.remove(key, &mut self.effects)
    }

    /// Works on an engine, which is asked afterwards what is to be done.
    pub(crate) fn with_engine<T>(
        &mut self,
        key: Key,
        work: impl FnOnce(&mut Engine, Instant) -> T,
    ) -> Option<T> {
        self.ros1.with(key, work)
    }

    /// What a call of an engine came to, once it is answered.
    pub(crate) fn take_call_answer(&mut self, key: Key, call: CallId) -> Option<Result<Value, CallError>> {
        self.ros1.take_call_answer(key, call)
    }

    /// The memory that incomplete messages take.
    pub(crate) fn receive_budget(&self) -> ReceiveBudget {
        self.sockets.receive_budget()
    }
}
