//! Tests with peers that do not read what they are sent, over real sockets.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use runnel_core::names::Arguments;
use runnel_core::time::Instant;
use runnel_io::{Listener, Reactor, clock};
use runnel_ros1::net::Transmit;
use runnel_ros1::node::Port;

use super::*;
use crate::driver::{Driver, Engine, EngineEvent, ProtocolEngine};
use crate::ipc::Pool;
use crate::ready::ReadyQueue;
use crate::settings::environment::{Graphs, Settings};
use crate::time::simulation::Simulation;

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Bytes sent on each connection: more than socket buffers hold.
const LENGTH: usize = 12 << 20;

/// An engine that sends the same bytes to every peer, and may close the connection behind them.
#[derive(Default)]
struct Talker {
    closes: bool,
    accepted: u64,
    transmits: VecDeque<Transmit>,
}

impl ProtocolEngine for Talker {
    fn handle_accepted(&mut self, _: Instant, _: Port, _: SocketAddr) -> Option<ConnId> {
        self.accepted += 1;
        Some(ConnId(self.accepted))
    }
    /// By the time of the peer's first bytes the driver knows the connection.
    fn handle_data(&mut self, _: Instant, conn: ConnId, _: &[u8]) {
        self.transmits.push_back(Transmit::Send { conn, bytes: vec![7; LENGTH] });
        if self.closes {
            self.transmits.push_back(Transmit::Close { conn });
        }
    }
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }
    fn handle_connected(&mut self, _: Instant, _: ConnId) {}
    fn handle_closed(&mut self, _: Instant, _: ConnId, _: Option<&str>) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        None
    }
}

/// An engine that opens connections which fail, and another one after each failure, up to a total.
struct Caller {
    asked: u64,
    failed: u64,
    transmits: VecDeque<Transmit>,
}

impl Caller {
    const AT_ONCE: u64 = 1000;
    const IN_ALL: u64 = 2000;

    fn ask(&mut self) {
        // The kernel refuses TCP connections to this address without sending anything.
        let to = Endpoint { host: "255.255.255.255".into(), port: 1 };
        self.asked += 1;
        self.transmits.push_back(Transmit::Connect { conn: ConnId(self.asked), to });
    }
}

impl ProtocolEngine for Caller {
    fn handle_accepted(&mut self, _: Instant, _: Port, _: SocketAddr) -> Option<ConnId> {
        None
    }
    fn handle_closed(&mut self, _: Instant, _: ConnId, _: Option<&str>) {
        self.failed += 1;
        if self.asked < Self::IN_ALL {
            self.ask();
        }
    }
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }
    fn handle_timeout(&mut self, _: Instant) {
        (0..Self::AT_ONCE).for_each(|_| self.ask());
    }
    fn poll_timeout(&self) -> Option<Instant> {
        (self.asked == 0).then(Instant::default)
    }
    fn handle_data(&mut self, _: Instant, _: ConnId, _: &[u8]) {}
    fn handle_connected(&mut self, _: Instant, _: ConnId) {}
    fn poll_engine_event(&mut self) -> Option<EngineEvent> {
        (self.failed == Self::IN_ALL).then(|| {
            self.failed += 1;
            EngineEvent::StopRequested
        })
    }
}

fn empty_driver() -> (Driver, Arc<AtomicBool>) {
    let stop = Arc::new(AtomicBool::new(false));
    let reactor = Arc::new(Reactor::new().unwrap());
    let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
    let (simulation, pool) = (Arc::new(Simulation::new(ready)), Arc::new(Pool::new(0, 0)));
    let arguments = Arguments::default();
    let settings = Settings { ipc: None, ..Settings::read(&arguments, Graphs::Ros1).unwrap() };
    (Driver::new(reactor, Arc::clone(&stop), simulation, pool, &settings), stop)
}

/// A driver with a talker, and the talker's address.
fn driver(talker: Talker) -> (Driver, SocketAddr) {
    let (mut driver, _) = empty_driver();
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.address();
    driver.add_engine(Engine::Other(Box::new(talker)), vec![(listener, Port::Rpc)]).unwrap();
    (driver, address)
}

fn connect(to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(b"?").unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Polls the driver until `done`.
fn poll_until(driver: &mut Driver, mut done: impl FnMut(&Driver) -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done(driver) {
        assert!(clock::monotonic() < deadline, "timed out");
        driver.poll_once(Some(clock::monotonic() + Duration::from_millis(20))).unwrap();
    }
}

/// Number of unsent bytes, and of open sockets with the listener.
fn held(driver: &Driver) -> (usize, usize) {
    (driver.sockets.iter().map(unsent).sum(), driver.sockets.iter().count())
}

#[test]
fn unread_bytes_of_all_peers_are_bounded() {
    let (mut driver, address) = driver(Talker::default());
    let peers: Vec<_> = (0..16).map(|_| connect(address)).collect();
    // A peer that has its first byte was sent something.
    let begun = |mut peer: &TcpStream| matches!(peer.read(&mut [0; 1]), Ok(1));
    let mut quiet: Vec<&TcpStream> = peers.iter().collect();
    poll_until(&mut driver, |driver| {
        assert!(held(driver).0 <= MAX_UNSENT);
        quiet.retain(|peer| !begun(peer));
        quiet.is_empty()
    });
    let (bytes, sockets) = held(&driver);
    assert!(bytes > MAX_UNSENT / 2 && sockets < 1 + peers.len(), "{bytes} bytes on {sockets} sockets");
    assert!(sockets > 4, "no more are closed than must be");
}

#[test]
fn failing_connections_do_not_grow_the_stack() {
    let small = thread::Builder::new().stack_size(128 << 10);
    let outcome = small.spawn(|| {
        let (mut driver, stop) = empty_driver();
        let caller = Caller { asked: 0, failed: 0, transmits: VecDeque::new() };
        driver.add_engine(Engine::Other(Box::new(caller)), Vec::new()).unwrap();
        poll_until(&mut driver, |_| stop.load(Ordering::SeqCst));
    });
    outcome.unwrap().join().unwrap();
}

#[test]
fn closing_connection_waits_for_reader_with_a_limit() {
    let (mut driver, address) = driver(Talker { closes: true, ..Talker::default() });
    let (mut reads, _deaf) = (connect(address), connect(address));
    poll_until(&mut driver, |driver| held(driver).0 > 0 && held(driver).1 == 3);
    let (mut taken, mut buffer) = (0, vec![0; 1 << 20]);
    poll_until(&mut driver, |_| {
        taken += reads.read(&mut buffer).unwrap_or(0);
        taken == LENGTH
    });
    // The peer that read everything is gone at once. The other one's time runs.
    poll_until(&mut driver, |driver| held(driver).1 <= 2);
    assert_eq!(held(&driver).1, 2);
    poll_until(&mut driver, |driver| held(driver) == (0, 1));
}
