//! Programs of a network.

use std::collections::VecDeque;
use std::net::SocketAddr;

use runnel_core::time::Instant;
use runnel_ros1::master::{Master, MasterConfig};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::Port;

use super::connection_event::ConnectionEvent;
use super::fake::Fake;
use super::node::NodeProgram;
use super::{App, MASTER_PORT, Net};

/// A program and its state.
pub(super) struct Running {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) program: Program,
    pub(super) alive: bool,
    /// It is stopped, as by SIGSTOP.
    pub(super) stalled: bool,
    /// Events queued for its resumption.
    pub(super) backlog: VecDeque<ConnectionEvent>,
    pub(super) wakes: u64,
}

/// Kinds of programs.
pub(super) enum Program {
    Node(Box<NodeProgram>),
    Master(Box<Master>),
    Fake(Box<Fake>),
}

impl Running {
    pub(super) fn new(name: &str, host: &str, program: Program) -> Self {
        let (name, host) = (name.to_owned(), host.to_owned());
        Self { name, host, program, alive: true, stalled: false, backlog: VecDeque::new(), wakes: 0 }
    }

    /// When its next timer is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.alive && !self.stalled { self.program.poll_timeout() } else { None }
    }
}

impl Program {
    pub(super) fn handle_accepted(&mut self, now: Instant, port: Port, peer: SocketAddr) -> Option<ConnId> {
        match self {
            Self::Node(node) => node.node.handle_accepted(now, port, peer),
            Self::Master(master) => master.handle_accepted(now, peer),
            Self::Fake(fake) => fake.handle_accepted(now, port, peer),
        }
    }

    pub(super) fn handle_connected(&mut self, now: Instant, conn: ConnId) {
        match self {
            Self::Node(node) => node.node.handle_connected(now, conn),
            Self::Master(master) => master.handle_connected(now, conn),
            Self::Fake(fake) => fake.handle_connected(now, conn),
        }
    }

    pub(super) fn handle_bound(&mut self, now: Instant, conn: ConnId, port: u16) {
        if let Self::Node(node) = self {
            node.node.handle_bound(now, conn, port);
        }
    }

    pub(super) fn handle_data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        match self {
            Self::Node(node) => node.handle_data(now, conn, bytes),
            Self::Master(master) => master.handle_data(now, conn, bytes),
            Self::Fake(fake) => fake.handle_data(now, conn, bytes),
        }
    }

    pub(super) fn handle_closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>) {
        match self {
            Self::Node(node) => node.handle_closed(now, conn, why),
            Self::Master(master) => master.handle_closed(now, conn, why),
            Self::Fake(fake) => fake.handle_closed(now, conn, why),
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Node(node) => node.node.handle_timeout(now),
            Self::Master(master) => master.handle_timeout(now),
            Self::Fake(fake) => fake.rpc.handle_timeout(now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Node(node) => node.node.poll_timeout(),
            Self::Master(master) => master.poll_timeout(),
            Self::Fake(fake) => fake.rpc.poll_timeout(),
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        match self {
            Self::Node(node) => node.poll_transmit(),
            Self::Master(master) => master.poll_transmit(),
            Self::Fake(fake) => fake.rpc.poll_transmit(),
        }
    }

    /// Takes one event of the engine; false if there is none.
    pub(super) fn take_event(&mut self, now: Instant) -> bool {
        match self {
            Self::Node(node) => node.take_event(now),
            Self::Master(master) => master.poll_event().is_some(),
            Self::Fake(fake) => fake.take_event(now),
        }
    }

    /// Whether it has ended without being stopped.
    pub(super) fn is_finished(&self) -> bool {
        matches!(self, Self::Node(node) if node.finished)
    }

    /// Whether its end of a connection stays open after the peer has closed its own.
    pub(super) fn reads_past_the_end(&self, conn: ConnId) -> bool {
        matches!(self, Self::Fake(fake) if fake.is_raw(conn))
    }

    /// Whether it has this connection open.
    pub(super) fn owns(&self, conn: ConnId) -> bool {
        match self {
            Self::Node(node) => node.node.owns(conn),
            Self::Master(master) => master.owns(conn),
            Self::Fake(fake) => fake.is_raw(conn) || fake.rpc.owns(conn),
        }
    }

    /// Number of its open connections, if it counts them.
    pub(super) fn connection_count(&self) -> Option<usize> {
        match self {
            Self::Node(node) => Some(node.node.connection_count()),
            Self::Master(_) | Self::Fake(_) => None,
        }
    }
}

impl Net {
    /// Starts a master with default limits at [`MASTER_PORT`] of a host.
    pub fn master(&mut self, host: &str) -> App {
        let config = MasterConfig::new(format!("http://{host}:{MASTER_PORT}/"), 1);
        let program = Program::Master(Box::new(Master::new(config)));
        self.start("master", host, &[(MASTER_PORT, Port::Rpc)], program)
    }

    /// The engine of a master.
    ///
    /// # Panics
    /// If the program is not a master.
    pub fn master_of(&self, app: App) -> &Master {
        match &self.running[app.0].program {
            Program::Master(master) => master,
            _ => panic!("{} is not a master", self.running[app.0].name),
        }
    }
}
