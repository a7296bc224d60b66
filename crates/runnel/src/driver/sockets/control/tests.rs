//! Peers that do not read what they are sent, over real sockets.

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
use crate::driver::{Driver, Engine, Notice, Verbs};
use crate::environment::{Graphs, Settings};
use crate::ipc::Pool;
use crate::ready::ReadyQueue;
use crate::simulation::Simulation;

/// Longer than anything here takes; only a failure waits for it.
const LONG: Duration = Duration::from_secs(60);

/// Bytes sent to everybody who connects: more than sockets hold.
const LENGTH: usize = 12 << 20;

/// Sends everybody who connects the same bytes, and closes behind them if it is to.
#[derive(Default)]
struct Talker {
    closes: bool,
    accepted: u64,
    transmits: VecDeque<Transmit>,
}

impl Verbs for Talker {
    fn handle_accepted(&mut self, _: Instant, _: Port, _: SocketAddr) -> Option<ConnId> {
        self.accepted += 1;
        Some(ConnId(self.accepted))
    }
    /// The connection is known to the driver by the time that its peer says something.
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
    fn poll_notice(&mut self) -> Option<Notice> {
        None
    }
}

/// Asks for connections that cannot be made, and for another whenever one has failed, until it has asked often enough.
struct Caller {
    asked: u64,
    failed: u64,
    transmits: VecDeque<Transmit>,
}

impl Caller {
    const AT_ONCE: u64 = 1000;
    const IN_ALL: u64 = 2000;

    fn ask(&mut self) {
        // The kernel refuses this address for TCP without a word to anybody.
        let to = Endpoint { host: "255.255.255.255".into(), port: 1 };
        self.asked += 1;
        self.transmits.push_back(Transmit::Connect { conn: ConnId(self.asked), to });
    }
}

impl Verbs for Caller {
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
    fn poll_notice(&mut self) -> Option<Notice> {
        (self.failed == Self::IN_ALL).then(|| {
            self.failed += 1;
            Notice::StopRequested
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

/// A driver with a talker, and where that listens.
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

/// Turns the driver until `done`.
fn turn_until(driver: &mut Driver, mut done: impl FnMut(&Driver) -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done(driver) {
        assert!(clock::monotonic() < deadline, "it does not happen");
        driver.turn(Some(clock::monotonic() + Duration::from_millis(20))).unwrap();
    }
}

/// Bytes that wait for peers, and sockets that are open, the listener included.
fn held(driver: &Driver) -> (usize, usize) {
    (driver.sockets.iter().map(unsent).sum(), driver.sockets.iter().count())
}

#[test]
fn what_peers_leave_unread_is_bounded_for_all_together() {
    let (mut driver, address) = driver(Talker::default());
    let peers: Vec<_> = (0..16).map(|_| connect(address)).collect();
    // Each has been sent something when its first bytes are here.
    let begun = |mut peer: &TcpStream| matches!(peer.read(&mut [0; 1]), Ok(1));
    let mut quiet: Vec<&TcpStream> = peers.iter().collect();
    turn_until(&mut driver, |driver| {
        assert!(held(driver).0 <= MAX_UNSENT);
        quiet.retain(|peer| !begun(peer));
        quiet.is_empty()
    });
    let (bytes, sockets) = held(&driver);
    assert!(bytes > MAX_UNSENT / 2 && sockets < 1 + peers.len(), "{bytes} bytes on {sockets} sockets");
    assert!(sockets > 4, "no more are closed than must be");
}

#[test]
fn however_many_connections_fail_at_once_the_stack_does_not_grow() {
    let small = thread::Builder::new().stack_size(128 << 10);
    let turned = small.spawn(|| {
        let (mut driver, stop) = empty_driver();
        let caller = Caller { asked: 0, failed: 0, transmits: VecDeque::new() };
        driver.add_engine(Engine::Other(Box::new(caller)), Vec::new()).unwrap();
        turn_until(&mut driver, |_| stop.load(Ordering::SeqCst));
    });
    turned.unwrap().join().unwrap();
}

#[test]
fn a_connection_that_is_to_close_waits_for_a_reader_but_not_for_ever() {
    let (mut driver, address) = driver(Talker { closes: true, ..Talker::default() });
    let (mut reads, _deaf) = (connect(address), connect(address));
    turn_until(&mut driver, |driver| held(driver).0 > 0 && held(driver).1 == 3);
    let (mut taken, mut buffer) = (0, vec![0; 1 << 20]);
    turn_until(&mut driver, |_| {
        taken += reads.read(&mut buffer).unwrap_or(0);
        taken == LENGTH
    });
    // One has read all and is gone at once; the other's time runs.
    turn_until(&mut driver, |driver| held(driver).1 <= 2);
    assert_eq!(held(&driver).1, 2);
    turn_until(&mut driver, |driver| held(driver) == (0, 1));
}
