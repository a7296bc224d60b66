//! Virtual network: hosts, listeners and connections between engines, on a clock that the test advances.
//!
//! Programs run on named hosts: ROS 1 nodes with the data plane of a driver ([`Net::node`]), masters
//! ([`Net::master`]), and scripted peers ([`Net::fake`]). Bytes arrive after the delay, and in the pieces, that
//! [`Conditions`] specifies. No real clock is read; equal seeds give equal runs. A failed test prints the last events.
//!
//! ```
//! use runnel_testkit::net::{Net, secs};
//! let mut net = Net::new(1);
//! net.master("hub");
//! let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
//! net.advertise(talker, "/chatter");
//! net.subscribe(listener, "/chatter");
//! net.run_until("they are linked", secs(1), |net| net.publishers(listener, "/chatter") == ["/talker"]);
//! net.publish(talker, "/chatter", "hello");
//! net.run_until("the message arrives", secs(1), |net| net.received_texts(listener) == ["hello"]);
//! ```
//!
//! Not modelled: TCP windows (the peers of a stopped program can send without end), kernel time-outs (bytes to a
//! disconnected host arrive after any time), and lost host names.

mod conditions;
mod connection_event;
mod datagrams;
mod fake;
mod faults;
mod node;
mod peers;
mod program;
mod rng;
mod service;
mod trace;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_ros1::net::ConnId;
use runnel_ros1::node::Port;

pub use conditions::{Conditions, Split};
pub use fake::{FakeCall, Socket};
pub use node::{ReceivedMessage, text_topic};
pub use peers::{FakePublisher, answer, publisher_header, subscriber_header, texts};
pub use rng::Rng;
pub use service::{Answer, CallFailure, FAIL, SILENCE, text_service};

use datagrams::DatagramSocket;
use program::{Program, Running};
use trace::Trace;
use wire::{NetEvent, Side, Wire, WireId};

/// The port of masters.
pub const MASTER_PORT: u16 = 11311;

/// The first port assigned on a host.
const FIRST_PORT: u16 = 40_000;

/// Wake-ups at one moment after which the network reports an endless loop.
const WAKES_AT_ONCE: u32 = 10_000;

/// A program, running or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct App(usize);

/// A duration in seconds.
pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A duration in milliseconds.
pub fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A duration in microseconds.
pub fn micros(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// The network and all its programs.
pub struct Net {
    now: Instant,
    /// Random numbers of the network and the test.
    pub rng: Rng,
    /// Conditions for later segments.
    pub conditions: Conditions,
    hosts: BTreeMap<String, Host>,
    running: Vec<Running>,
    doors: BTreeMap<(String, u16), (App, Port)>,
    wires: BTreeMap<WireId, Wire>,
    ends: BTreeMap<(App, ConnId), (WireId, Side)>,
    datagrams: BTreeMap<(App, ConnId), DatagramSocket>,
    /// Connections being opened.
    opening: BTreeSet<(App, ConnId)>,
    agenda: BTreeMap<(Instant, u64), NetEvent>,
    /// Events held for disconnected hosts.
    held: Vec<NetEvent>,
    event_count: u64,
    wakes_at_same_time: u32,
    trace: Trace,
}

/// A host.
#[derive(Debug)]
struct Host {
    number: u8,
    next_port: u16,
    is_disconnected: bool,
    /// Datagram sockets cannot be opened.
    no_datagrams: bool,
}

impl Net {
    /// A network with calm conditions and without hosts.
    pub fn new(seed: u64) -> Self {
        Self {
            now: Instant(1_000_000_000),
            rng: Rng::new(seed),
            conditions: Conditions::calm(),
            hosts: BTreeMap::new(),
            running: Vec::new(),
            doors: BTreeMap::new(),
            wires: BTreeMap::new(),
            ends: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            opening: BTreeSet::new(),
            agenda: BTreeMap::new(),
            held: Vec::new(),
            event_count: 0,
            wakes_at_same_time: 0,
            trace: Trace::default(),
        }
    }

    /// The current time of the network.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Processes the next event, and advances the clock to it. False if there is none.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.next_time() else { return false };
        self.turn_clock(at);
        match self.agenda.first_entry().filter(|entry| entry.key().0 <= at) {
            Some(entry) => {
                let happening = entry.remove();
                self.process_event(happening);
            }
            None => self.wake_programs(),
        }
        true
    }

    /// Processes all events until `time` has passed.
    pub fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.next_time().is_some_and(|at| at <= end) {
            self.step();
        }
        self.turn_clock(end);
    }

    /// Processes events until a condition is met; returns the time that this took.
    ///
    /// # Panics
    /// If it is not met within that time.
    #[track_caller]
    pub fn run_until(&mut self, what: &str, within: Duration, mut met: impl FnMut(&Net) -> bool) -> Duration {
        let (start, end) = (self.now, self.now + within);
        while !met(self) {
            let more = self.next_time().is_some_and(|at| at <= end);
            assert!(more, "not within {within:?}: {what}");
            self.step();
        }
        self.now.since(start)
    }

    /// Processes everything in transit and its consequences, but no timer.
    pub fn settle(&mut self) {
        while let Some(entry) = self.agenda.first_entry() {
            let at = entry.key().0;
            let happening = entry.remove();
            self.turn_clock(at);
            self.process_event(happening);
        }
    }

    /// Timer wake-ups of a program.
    pub fn wakes(&self, app: App) -> u64 {
        self.running[app.0].wakes
    }

    /// Whether a program is running.
    pub fn is_running(&self, app: App) -> bool {
        self.running[app.0].alive
    }

    /// Adds a line to the trace that a failed test prints.
    pub fn note(&mut self, line: impl Into<String>) {
        self.trace.note(self.now, line.into());
    }

    /// The time of the next event.
    fn next_time(&self) -> Option<Instant> {
        let arrival = self.agenda.first_key_value().map(|((at, _), _)| *at);
        let due = self.running.iter().filter_map(Running::poll_timeout);
        arrival.into_iter().chain(due).min()
    }

    fn turn_clock(&mut self, to: Instant) {
        if to > self.now {
            self.now = to;
            self.wakes_at_same_time = 0;
        }
    }

    fn wake_programs(&mut self) {
        self.wakes_at_same_time += 1;
        assert!(self.wakes_at_same_time < WAKES_AT_ONCE, "a program requests the same wake-up time forever");
        for index in 0..self.running.len() {
            if self.running[index].poll_timeout().is_some_and(|at| at <= self.now) {
                self.running[index].wakes += 1;
                self.running[index].program.handle_timeout(self.now);
                self.pump(App(index));
            }
        }
    }

    /// Carries out a program's socket operations and takes its events, until it has none.
    fn pump(&mut self, app: App) {
        loop {
            while let Some(transmit) = self.running[app.0].program.poll_transmit() {
                self.transmit(app, transmit);
            }
            if !self.running[app.0].program.take_event(self.now) {
                break;
            }
        }
        if self.running[app.0].alive && self.running[app.0].program.is_finished() {
            self.end_program(app, "ends");
        }
    }

    /// Starts a program that listens at these ports.
    fn start(&mut self, name: &str, host: &str, doors: &[(u16, Port)], program: Program) -> App {
        self.host(host);
        let app = App(self.running.len());
        self.running.push(Running::new(name, host, program));
        doors.iter().for_each(|(port, kind)| self.listen(app, *port, *kind));
        self.note(format!("{name} starts on {host}"));
        self.pump(app);
        app
    }

    /// Lets a program listen at a port of its host.
    ///
    /// # Panics
    /// If another program listens there.
    pub fn listen(&mut self, app: App, port: u16, kind: Port) {
        let host = self.running[app.0].host.clone();
        let before = self.doors.insert((host, port), (app, kind));
        assert!(before.is_none_or(|(owner, _)| owner == app), "port {port} is taken");
    }

    /// Stops listening at a port of a program's host: connections are refused.
    pub fn stop_listening(&mut self, app: App, port: u16) {
        self.doors.remove(&(self.running[app.0].host.clone(), port));
    }

    /// An unused port of a host.
    pub fn free_port(&mut self, host: &str) -> u16 {
        let host = self.host(host);
        host.next_port += 1;
        host.next_port
    }

    fn host(&mut self, name: &str) -> &mut Host {
        let number = self.hosts.len() as u8 + 1;
        let new = || Host { number, next_port: FIRST_PORT, is_disconnected: false, no_datagrams: false };
        self.hosts.entry(name.to_owned()).or_insert_with(new)
    }

    /// The address from which a program connects.
    fn address(&mut self, app: App) -> SocketAddr {
        let host = self.running[app.0].host.clone();
        let port = self.free_port(&host);
        SocketAddr::from(([10, 0, 0, self.host(&host).number], port))
    }

    fn is_host_disconnected(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|host| host.is_disconnected)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.trace);
        }
    }
}
