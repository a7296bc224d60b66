//! Scripts of arbitrary peers against an engine.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use runnel_core::time::Instant;
use runnel_ros1::http;
use runnel_ros1::net::{ConnId, Transmit};

/// Maximum number of steps of one input; longer ones find nothing more.
const MAX_STEPS: usize = 300;

/// Common interface of the master and a node.
pub trait Engine {
    /// Accepts a connection, for XML-RPC or for messages.
    fn accepted(&mut self, now: Instant, rpc: bool, peer: SocketAddr) -> Option<ConnId>;
    /// A requested connection is established.
    fn connected(&mut self, now: Instant, conn: ConnId);
    /// A requested datagram socket is open.
    fn bound(&mut self, _now: Instant, _conn: ConnId, _port: u16) {}
    /// Receives bytes.
    fn data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]);
    /// A connection was closed.
    fn closed(&mut self, now: Instant, conn: ConnId, reason: Option<&str>);
    /// Time has passed.
    fn timeout(&mut self, now: Instant);
    /// The next request of the engine for its connections.
    fn transmit(&mut self) -> Option<Transmit>;
    /// Drains all events.
    fn take_events(&mut self);
}

/// Runs an input as a script against an engine. Steps are separated by a byte 255, which no text contains. A step is a letter,
/// a digit that names a connection (0 is the first one), and bytes.
///
/// | Step | Effect |
/// |---|---|
/// | `A`, `T` | a connection is accepted, for XML-RPC or for messages |
/// | `D0...` | these bytes arrive |
/// | `C0...` | a POST with this body arrives |
/// | `R0...` | a 200 with this body arrives |
/// | `O0` | the requested connection is established |
/// | `B0` | the requested datagram socket is open |
/// | `X0`, `F0` | the connection is closed, or is refused |
/// | `W3` | 8 seconds pass |
pub fn run_script(engine: &mut impl Engine, script: &[u8]) {
    let mut runner = ScriptRunner { engine, now: Instant(0), conns: Vec::new(), open: BTreeSet::new() };
    runner.apply_transmits();
    for step in script.split(|byte| *byte == 255).take(MAX_STEPS) {
        let (&letter, rest) = step.split_first().unwrap_or((&0, &[]));
        let (&digit, body) = rest.split_first().unwrap_or((&b'0', &[]));
        runner.step(letter, usize::from(digit.wrapping_sub(b'0') % 10), body);
        runner.apply_transmits();
    }
}

struct ScriptRunner<'a, E> {
    engine: &'a mut E,
    now: Instant,
    /// All connections, including closed ones, in the order of their creation.
    conns: Vec<ConnId>,
    open: BTreeSet<ConnId>,
}

impl<E: Engine> ScriptRunner<'_, E> {
    fn step(&mut self, letter: u8, digit: usize, body: &[u8]) {
        match letter {
            b'A' | b'T' => self.accept(letter == b'A'),
            b'W' => self.wait(digit),
            _ => {
                let is_open = |conn: &ConnId| self.open.contains(conn);
                if let Some(conn) = self.conns.get(digit).copied().filter(is_open) {
                    self.step_on(letter, conn, body);
                }
            }
        }
    }

    fn accept(&mut self, rpc: bool) {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000 + self.conns.len() as u16));
        if let Some(conn) = self.engine.accepted(self.now, rpc, peer) {
            self.add_connection(conn);
        }
    }

    fn wait(&mut self, digit: usize) {
        self.now.0 += 1_000_000_000 << digit;
        self.engine.timeout(self.now);
    }

    fn step_on(&mut self, letter: u8, conn: ConnId, body: &[u8]) {
        match letter {
            b'D' => self.engine.data(self.now, conn, body),
            b'C' => self.engine.data(self.now, conn, &http::request("h:1", "/RPC2", body, true)),
            b'R' => self.engine.data(self.now, conn, &http::response(body, true)),
            b'O' => self.engine.connected(self.now, conn),
            b'B' => self.engine.bound(self.now, conn, 50_000),
            b'X' | b'F' => {
                self.open.remove(&conn);
                self.engine.closed(self.now, conn, (letter == b'F').then_some("Connection refused"));
            }
            _ => {}
        }
    }

    /// Applies the engine's requests, and checks that they are valid.
    fn apply_transmits(&mut self) {
        while let Some(transmit) = self.engine.transmit() {
            match transmit {
                Transmit::Connect { conn, .. } | Transmit::OpenDatagram { conn, .. } => {
                    self.add_connection(conn)
                }
                Transmit::Send { conn, .. } => {
                    assert!(self.open.contains(&conn), "sent on {conn:?}, which is closed")
                }
                Transmit::Close { conn } => assert!(self.open.remove(&conn), "closed {conn:?} twice"),
            }
        }
        self.engine.take_events();
    }

    fn add_connection(&mut self, conn: ConnId) {
        assert!(self.open.insert(conn), "{conn:?} names two connections");
        self.conns.push(conn);
    }
}
