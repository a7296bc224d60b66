//! Peers that say and do anything, against an engine.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use runnel_core::time::Instant;
use runnel_ros1::http;
use runnel_ros1::net::{ConnId, Transmit};

/// Steps played of one input; longer ones find nothing that shorter ones do not.
const MAX_STEPS: usize = 300;

/// What the master and a node have in common.
pub trait Engine {
    /// A connection came in, for XML-RPC or for messages.
    fn accepted(&mut self, now: Instant, rpc: bool, peer: SocketAddr) -> Option<ConnId>;
    /// A connection that the engine asked for stands.
    fn connected(&mut self, now: Instant, conn: ConnId);
    /// A datagram socket that the engine asked for is open.
    fn bound(&mut self, _now: Instant, _conn: ConnId, _port: u16) {}
    /// Bytes arrived.
    fn data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]);
    /// A connection ended.
    fn closed(&mut self, now: Instant, conn: ConnId, why: Option<&str>);
    /// Time has passed.
    fn timeout(&mut self, now: Instant);
    /// What is to be done with connections.
    fn transmit(&mut self) -> Option<Transmit>;
    /// Takes all that happened.
    fn take_events(&mut self);
}

/// Plays an input against an engine. The input is a script of steps with a byte 255 between them, which no text has:
/// each a letter, a digit that names a connection (the first there was is 0), and what follows.
///
/// | Step | What happens |
/// |---|---|
/// | `A`, `T` | a connection comes in, for XML-RPC or for messages |
/// | `D0...` | these bytes arrive |
/// | `C0...` | a POST with this body arrives |
/// | `R0...` | a 200 with this body arrives |
/// | `O0` | the connection that the engine asked for stands |
/// | `B0` | the datagram socket that it asked for is open |
/// | `X0`, `F0` | the connection ends, or is refused |
/// | `W3` | 8 seconds pass |
pub fn play(engine: &mut impl Engine, script: &[u8]) {
    let mut game = Game { engine, now: Instant(0), conns: Vec::new(), open: BTreeSet::new() };
    game.follow();
    for step in script.split(|byte| *byte == 255).take(MAX_STEPS) {
        let (&letter, rest) = step.split_first().unwrap_or((&0, &[]));
        let (&digit, body) = rest.split_first().unwrap_or((&b'0', &[]));
        game.step(letter, usize::from(digit.wrapping_sub(b'0') % 10), body);
        game.follow();
    }
}

struct Game<'a, E> {
    engine: &'a mut E,
    now: Instant,
    /// Every connection there has been, in the order in which they came up.
    conns: Vec<ConnId>,
    open: BTreeSet<ConnId>,
}

impl<E: Engine> Game<'_, E> {
    fn step(&mut self, letter: u8, digit: usize, body: &[u8]) {
        match letter {
            b'A' | b'T' => self.accept(letter == b'A'),
            b'W' => self.wait(digit),
            _ => {
                let is_open = |conn: &ConnId| self.open.contains(conn);
                if let Some(conn) = self.conns.get(digit).copied().filter(is_open) {
                    self.happen(letter, conn, body);
                }
            }
        }
    }

    fn accept(&mut self, rpc: bool) {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000 + self.conns.len() as u16));
        if let Some(conn) = self.engine.accepted(self.now, rpc, peer) {
            self.know(conn);
        }
    }

    fn wait(&mut self, digit: usize) {
        self.now.0 += 1_000_000_000 << digit;
        self.engine.timeout(self.now);
    }

    fn happen(&mut self, letter: u8, conn: ConnId, body: &[u8]) {
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

    /// Does what the engine wants done, and holds it to what it may want.
    fn follow(&mut self) {
        while let Some(transmit) = self.engine.transmit() {
            match transmit {
                Transmit::Connect { conn, .. } | Transmit::OpenDatagram { conn, .. } => self.know(conn),
                Transmit::Send { conn, .. } => {
                    assert!(self.open.contains(&conn), "sends on {conn:?}, which is closed")
                }
                Transmit::Close { conn } => assert!(self.open.remove(&conn), "closes {conn:?} a second time"),
            }
        }
        self.engine.take_events();
    }

    fn know(&mut self, conn: ConnId) {
        assert!(self.open.insert(conn), "{conn:?} names two connections");
        self.conns.push(conn);
    }
}
