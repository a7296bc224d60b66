//! The driver: one state machine that joins the reactor, the engines and the data plane. Whoever holds it turns it;
//! it never calls user code.
//!
//! ```text
//!  reactor ─► control socket ─► engine ─► transmits ─► control socket
//!                                  └────► events ────► links of the data plane
//!  reactor ─► input socket ─► subscription queues ─► (ready queue, run by whoever spins)
//!  reactor ─► output socket ─► what a subscriber had not taken
//! ```

mod control;
mod datagrams;
mod engine;
mod engines;
mod events;
mod incompatible;
mod links;
mod listeners;
mod locals;
mod lookups;
mod matches;
mod nodes;
mod receive_budget;
mod ros2;
mod services;
mod sessions;
mod sim_time;
mod socket;
mod table;
mod throttle;
mod topics;
mod watches;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_io::lookup::Family;
use runnel_io::{Events, Interest, Reactor, Stream, Token, clock};
use runnel_ros1::net::ConnId;
use runnel_ros1::rpc::{CallError, CallId};
use runnel_ros1::xmlrpc::Value;

use crate::data::SubscriptionCore;
use crate::environment::Settings;
use crate::ipc::Pool;
use crate::receive_budget::FrameBudget;
use crate::simulation::Simulation;
pub(crate) use engine::{Engine, Notice, Verbs};
use lookups::Lookups;
use matches::Endpoints;
use nodes::NodeSlot;
pub(crate) use nodes::{NodeKey, Ros1End};
use ros2::Ros2;
pub use services::ServiceInfo;
pub(crate) use services::{Asks, CallAnswer, Tell};
use sessions::Sessions;
use socket::{Control, DatagramInput, DatagramOutput, Input, Output, Socket};
pub(crate) use table::Key;
use table::Table;
use throttle::Throttle;
pub(crate) use topics::Inputs;
use watches::Watches;

/// Bytes read from a socket at once.
const SCRATCH: usize = 64 * 1024;

/// Until when somebody waits who only looks.
const LOOK: Instant = Instant(0);

/// See the module's documentation.
pub(crate) struct Driver {
    reactor: Arc<Reactor>,
    events: Events,
    scratch: Vec<u8>,
    sockets: Table<Socket>,
    engines: Table<Slot>,
    /// When they have something to do.
    engine_deadlines: Timers<Key>,
    nodes: Table<NodeSlot>,
    endpoints: Endpoints,
    lookups: Lookups,
    /// Which addresses of hosts are taken.
    family: Family,
    /// Engines that may ask for something, and whether they are being served.
    unserved: VecDeque<Key>,
    serving: bool,
    /// Listeners that wait for descriptors to become free.
    paused: Option<(Instant, Vec<Key>)>,
    /// What is logged about that.
    accepting: Throttle,
    /// Set when all nodes have been told to stop.
    stop: Arc<AtomicBool>,
    simulation: Arc<Simulation>,
    /// The node that hears `/clock` for all, while time is simulated, and what it hears with.
    clock: Option<(NodeKey, Arc<SubscriptionCore>)>,
    sessions: Sessions,
    ros2: Ros2,
    watches: Watches,
    /// Memory of incomplete messages of ROS 1, and when to look whether they make progress.
    frame_budget: FrameBudget,
    frame_check: Option<Instant>,
}

/// An engine and what the driver keeps for it.
struct Slot {
    engine: Engine,
    /// The node that it speaks for, if it is one's.
    node: Option<NodeKey>,
    conns: HashMap<ConnId, Key>,
    /// What is logged about its peers, unless it is a node's: that has its own.
    throttle: Throttle,
    /// Answers to its own calls that nobody has taken yet.
    answers: HashMap<CallId, Result<Value, CallError>>,
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
            lookups: Lookups::new(reactor.waker().clone(), settings.family),
            family: settings.family,
            reactor,
            events: Events::default(),
            scratch: Vec::new(),
            sockets: Table::default(),
            engines: Table::default(),
            engine_deadlines: Timers::new(),
            nodes: Table::default(),
            endpoints: Endpoints::default(),
            unserved: VecDeque::new(),
            serving: false,
            paused: None,
            accepting: Throttle::default(),
            stop,
            simulation,
            clock: None,
            sessions: Sessions::new(settings.ipc.clone(), pool),
            ros2: Ros2::new(settings.ros2.clone()),
            watches: Watches::default(),
            frame_budget: FrameBudget::new(settings.receive),
            frame_check: None,
        }
    }

    /// Waits until `until` (for ever if `None`) for something to happen, and does what it calls for.
    pub(crate) fn turn(&mut self, until: Option<Instant>) -> io::Result<Turned> {
        let until = if until == Some(LOOK) { until } else { self.next_deadline(until) };
        let mut events = std::mem::take(&mut self.events);
        let waited = self.wait(&mut events, until);
        let all_ready_at = self.all_ready_at(&events);
        let mut turned = Turned { served: matches!(waited, Ok(true)), woken: events.woken() };
        // What sessions brought.
        self.bound_incomplete_frames();
        for ready in events.iter() {
            turned.served = true;
            let key = Key::from_bits(ready.token.0);
            if ready.readable {
                self.readable(key);
                self.bound_incomplete_frames();
            }
            if ready.writable {
                self.writable(key);
            }
        }
        self.events = events;
        self.finish_lookups();
        self.serve_deadlines();
        self.check_incomplete_frames(all_ready_at);
        self.serve_watches();
        self.serve_ros2(&mut turned);
        waited.map(|_| turned)
    }

    /// Waits for the reactor until that time, and looks at the rings of sessions; true if these had something.
    fn wait(&mut self, events: &mut Events, until: Option<Instant>) -> io::Result<bool> {
        // Who only looks need not know the time.
        if until == Some(LOOK) {
            return self.wait_here(events, Some(Duration::ZERO));
        }
        let rtps = self.ros2.rtps().cloned();
        let sleeps = rtps.as_ref().is_none_or(|rtps| rtps.fall_asleep(until));
        let left = || until.map(|at| self.ros2.leisurely(at, at.since(clock::monotonic())));
        let waited = self.wait_here(events, if sleeps { left() } else { Some(Duration::ZERO) });
        if let Some(rtps) = rtps {
            rtps.wake_up();
        }
        waited
    }

    fn wait_here(&mut self, events: &mut Events, wait: Option<Duration>) -> io::Result<bool> {
        if self.sessions.is_empty() {
            return self.reactor.wait(events, wait).map(|()| false);
        }
        let mut heard = self.look_at_sessions();
        let sleeps = !heard && wait != Some(Duration::ZERO);
        if sleeps {
            self.sessions.fall_asleep();
            heard = self.look_at_sessions();
        }
        let waited = if heard && self.sessions.passes_over_reactor() {
            events.clear();
            Ok(())
        } else {
            let wait = if heard { Some(Duration::ZERO) } else { self.sessions.no_longer_than_patience(wait) };
            self.reactor.wait(events, wait)
        };
        if sleeps {
            self.sessions.wake_up();
        }
        waited.map(|()| heard)
    }

    /// When something is to be done, at the latest then.
    fn next_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        let engines = self.engine_deadlines.next_deadline();
        let paused = self.paused.as_ref().map(|(at, _)| *at);
        let ros2 = self.ros2.deadline();
        [until, engines, paused, self.sessions.deadline(), ros2, self.watches.next(), self.frame_check]
            .into_iter()
            .flatten()
            .min()
    }

    fn serve_deadlines(&mut self) {
        if self.engine_deadlines.is_empty() && self.paused.is_none() && self.sessions.deadline().is_none() {
            return;
        }
        let now = clock::monotonic();
        for key in self.engine_deadlines.take_due(now) {
            self.with_engine(key, |engine, now| engine.verbs().handle_timeout(now));
        }
        self.resume_accepting(now);
        self.serve_sessions(now);
    }

    fn readable(&mut self, key: Key) {
        match self.sockets.get(key) {
            Some(Socket::Listener { .. }) => self.accept(key),
            Some(Socket::Control(_)) => self.control_readable(key),
            Some(Socket::Input(_)) => self.input_readable(key),
            Some(Socket::Output(_)) => self.output_readable(key),
            Some(Socket::DatagramInput(_)) => self.datagram_input_readable(key),
            Some(Socket::DatagramOutput(_)) => self.datagram_output_readable(key),
            Some(Socket::Served(_)) => self.served_readable(key),
            Some(Socket::Called(_)) => self.called_readable(key),
            Some(Socket::PacketListener(_)) => self.packets_accepted(key),
            Some(Socket::Greeting(_)) => self.greeting_readable(key),
            Some(Socket::Session(session)) => self.session_readable(*session),
            Some(Socket::Bell(session)) => self.bell_rang(*session),
            Some(Socket::OwnBell { .. }) => self.own_bell_rang(),
            Some(Socket::Rtps(socket)) => {
                let socket = Arc::clone(socket);
                self.rtps_readable(&socket);
            }
            Some(Socket::Interfaces(_)) => self.interfaces_readable(key),
            Some(Socket::SampleInput(_) | Socket::SampleOutput(_) | Socket::Opened(_) | Socket::Nothing)
            | None => {}
        }
    }

    fn writable(&mut self, key: Key) {
        match self.sockets.get(key) {
            Some(Socket::Control(_)) => self.control_writable(key),
            Some(Socket::Output(output)) => output.publication.writable(output.conn),
            Some(Socket::DatagramOutput(_)) => self.datagram_output_refused(key),
            Some(Socket::SampleOutput(output)) => output.publication.memory_writable(output.pair()),
            Some(Socket::Served(served)) => served.client.writable(),
            Some(Socket::Called(_)) => self.flush_request(key),
            _ => {}
        }
    }

    /// Does what an engine asks for until it asks for nothing more. What it asks for may fail at once, which it is told
    /// and may ask for more: engines that are told meanwhile get their turn afterwards, since a peer can make that as
    /// many as it likes.
    fn pump(&mut self, key: Key) {
        if !self.unserved.contains(&key) {
            self.unserved.push_back(key);
        }
        if std::mem::replace(&mut self.serving, true) {
            return;
        }
        while let Some(key) = self.unserved.pop_front() {
            self.serve(key);
        }
        self.serving = false;
    }

    fn serve(&mut self, key: Key) {
        loop {
            while let Some(transmit) =
                self.engines.get_mut(key).and_then(|slot| slot.engine.verbs().poll_transmit())
            {
                self.transmit(key, transmit);
            }
            if !self.serve_event(key) {
                break;
            }
        }
        match self.engines.get_mut(key).and_then(|slot| slot.engine.verbs().poll_timeout()) {
            Some(at) => self.engine_deadlines.schedule(key, at),
            None => {
                self.engine_deadlines.cancel(&key);
            }
        }
    }

    fn watch(&self, key: Key, interest: Interest) -> io::Result<()> {
        let token = Token(key.to_bits());
        match self.sockets.get(key) {
            Some(Socket::Listener { listener, .. }) => self.reactor.add(listener, token, interest),
            Some(Socket::Control(control)) => self.reactor.add(&*control.stream, token, interest),
            _ => Ok(()),
        }
    }

    /// Closes a socket and forgets it.
    fn remove_socket(&mut self, key: Key) {
        let Some(mut socket) = self.sockets.remove(key) else { return };
        if let Socket::Input(input) = &mut socket {
            input.finish_delivery();
        }
        match &socket {
            Socket::Input(Input { topic, from, .. })
            | Socket::DatagramInput(DatagramInput { topic, from, .. }) => topic.leave(from),
            Socket::Output(Output { publication, conn, .. })
            | Socket::DatagramOutput(DatagramOutput { publication, conn, .. }) => publication.leave(*conn),
            Socket::SampleOutput(output) => output.publication.leave_memory(output.pair()),
            // Requests that wait hold the socket open, whose end would be told again and again.
            Socket::Served(served) => drop(self.reactor.remove(&*served.stream)),
            _ => {}
        }
        self.part(socket.meeting());
        if let Some((engine, conn)) = socket.conn() {
            self.forget_conn(engine, conn);
        }
    }

    fn forget_conn(&mut self, engine: Key, conn: ConnId) {
        if let Some(slot) = self.engines.get_mut(engine) {
            slot.conns.remove(&conn);
        }
    }

    /// A connection has ended by itself: its engine is told.
    fn ended(&mut self, key: Key, why: Option<&str>) {
        // What came by another way before the connection ended counts.
        self.hear_the_rest(key);
        let Some(socket) = self.sockets.get(key) else { return };
        if matches!(socket, Socket::Control(Control { closing: true, .. })) {
            return self.remove_socket(key);
        }
        let Some((engine, conn)) = socket.conn() else { return };
        self.remove_socket(key);
        self.with_engine(engine, |engine, now| engine.verbs().handle_closed(now, conn, why));
    }

    /// Reads once from a peer.
    pub(super) fn receive(&mut self, key: Key, stream: &Stream, take: fn(&mut Self, Key, &[u8])) {
        let mut scratch = self.take_scratch();
        match stream.recv(&mut scratch) {
            Ok(Some(0)) => self.ended(key, None),
            Ok(Some(count)) => {
                self.count_received(key, count);
                take(self, key, &scratch[..count]);
            }
            Ok(None) => {}
            Err(error) => self.ended(key, Some(&error.to_string())),
        }
        self.scratch = scratch;
    }

    /// The buffer for one read, made when it is first needed.
    fn take_scratch(&mut self) -> Vec<u8> {
        let scratch = std::mem::take(&mut self.scratch);
        // Fresh zeroed memory takes no pages until it is used, which a resize would.
        if scratch.is_empty() { vec![0; SCRATCH] } else { scratch }
    }
}
