//! A talker and readers in both graphs, and the changes applied to them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::{Graph, spin_until};
use crate::domains::new_domain;
use crate::raw::Ports;
use runnel_testkit::net::Rng;
use runnel_testkit::process::{Signal, deadline_in};

use super::TIMEOUT;
use super::change::Change;
use super::control::Process;
use super::network::{Datagrams, disturb, kill_connections, restore};
use super::reader::{Reader, Subscribed, Tally};

/// Maximum number of subscriptions of a reader.
const MAX_SUBSCRIPTIONS: usize = 4;

/// Pause between two checks.
const CHECK_PERIOD: Duration = Duration::from_millis(5);

pub struct Scene {
    graph: Graph,
    domain: u16,
    /// Address of the talker's TCPROS listener.
    tcpros: SocketAddr,
    talker: Process,
    readers: Vec<Reader>,
    subscribed: u32,
    pub killed_connections: usize,
    pub tally: Tally,
}

impl Scene {
    /// A talker, a reader with a reliable and a best-effort subscription, and a reader with a reliable one.
    pub fn new() -> Self {
        let (graph, domain) = (Graph::new(), new_domain());
        let mut talker = Process::start(&graph.uri, domain, "talks", true);
        let tool = graph.tool();
        spin_until(&tool, "the talker talks", || !talker.ask("published").starts_with("0 "));
        let tcpros = Ports::of(&tool, "/talker", "/data").tcpros;
        let (readers, tally) = (Vec::new(), Tally::default());
        let mut scene =
            Self { graph, domain, tcpros, talker, readers, subscribed: 0, killed_connections: 0, tally };
        scene.add_reader(true, &[true, false]);
        scene.add_reader(false, &[true]);
        scene
    }

    fn add_reader(&mut self, ipc: bool, subscriptions: &[bool]) {
        let process = Process::start(&self.graph.uri, self.domain, "reads", ipc);
        self.readers.push(Reader::new(process));
        subscriptions.iter().for_each(|is_reliable| self.subscribe(self.readers.len() - 1, *is_reliable));
    }

    fn subscribe(&mut self, reader: usize, is_reliable: bool) {
        self.subscribed += 1;
        self.readers[reader].subscribe(format!("s{}", self.subscribed), is_reliable);
    }

    /// Runs without changes for this time, then notes the paths in use.
    pub fn run_undisturbed(&mut self, time: Duration) {
        std::thread::sleep(time);
        for reader in &mut self.readers {
            for index in 0..reader.subscriptions.len() {
                let is_in_memory = reader.check(index, &mut self.tally).is_in_memory();
                self.tally.at_beginnings += 1;
                self.tally.in_memory += u32::from(is_in_memory);
            }
        }
    }

    /// Applies a change, to a reader that `rng` selects.
    pub fn apply(&mut self, change: Change, rng: &mut Rng) {
        let reader = rng.below(self.readers.len());
        match change {
            Change::EndIpcConnectionsOfTalker => drop(self.talker.ask("ipc_connections")),
            Change::EndIpcConnectionsOfReader => drop(self.readers[reader].process.ask("ipc_connections")),
            Change::CutDatagrams => disturb(Datagrams::Cut),
            Change::LoseDatagrams => disturb(Datagrams::Lossy),
            Change::MendDatagrams => restore(),
            Change::KillConnections => self.kill_connections(),
            Change::AddSubscription => {
                let is_reliable = rng.percent(60);
                if self.readers[reader].subscriptions.len() < MAX_SUBSCRIPTIONS {
                    self.subscribe(reader, is_reliable);
                }
            }
            Change::RemoveSubscription => {
                let count = self.readers[reader].subscriptions.len();
                if count > 1 {
                    self.readers[reader].unsubscribe(rng.below(count), &mut self.tally);
                }
            }
            Change::StopReader => {
                let peer = &self.readers[reader].process.peer;
                peer.stop(deadline_in(TIMEOUT.as_secs())).unwrap();
                // It is suspended for this time.
                std::thread::sleep(rng.between(Duration::ZERO, Duration::from_millis(300)));
                peer.signal(Signal::CONT).unwrap();
            }
            Change::ReplaceReader => {
                // If it left while datagrams are dropped, it would stay known until its lease ends.
                restore();
                self.readers[reader].process.ask("leave");
                self.replace(reader, rng);
            }
            Change::KillReader => {
                self.readers[reader].process.peer.signal(Signal::KILL).unwrap();
                self.replace(reader, rng);
            }
            Change::Blackout => {
                disturb(Datagrams::Cut);
                // The lease is 20 s.
                std::thread::sleep(rng.between(Duration::from_secs(15), Duration::from_secs(40)));
            }
        }
    }

    fn kill_connections(&mut self) {
        let killed = kill_connections(self.tcpros);
        self.killed_connections += killed;
        if killed > 0 {
            self.subscriptions().for_each(Subscribed::allow_gap);
        }
    }

    /// Replaces a reader process that has ended.
    fn replace(&mut self, reader: usize, rng: &mut Rng) {
        drop(self.readers.swap_remove(reader));
        let subscriptions: &[bool] = [&[true][..], &[true, false], &[false, true]][rng.below(3)];
        self.add_reader(rng.percent(70), subscriptions);
    }

    /// Waits until each subscription has received everything published until now, and checks the counters.
    pub fn settle(&mut self) {
        restore();
        let published = self.published("published");
        self.wait_for(|subscribed| subscribed.has_received(published));
        self.subscriptions().for_each(Subscribed::allow_no_more_gaps);
    }

    /// Ends the talker's publishers and waits until their last messages have arrived. Returns the number of published
    /// messages.
    pub fn end(&mut self) -> u64 {
        let published = self.published("end");
        self.wait_for(|subscribed| subscribed.has_last(published));
        published.into_iter().map(u64::from).sum()
    }

    fn published(&mut self, question: &str) -> [u32; 2] {
        let answer = self.talker.ask(question);
        let (reliable, best_effort) = answer.split_once(' ').unwrap();
        [reliable, best_effort].map(|count| count.parse().unwrap())
    }

    fn subscriptions(&mut self) -> impl Iterator<Item = &mut Subscribed> {
        self.readers.iter_mut().flat_map(|reader| &mut reader.subscriptions)
    }

    /// Checks one subscription after the other until `is_done` holds for all.
    fn wait_for(&mut self, is_done: impl Fn(&Subscribed) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        for reader in &mut self.readers {
            for index in 0..reader.subscriptions.len() {
                while !is_done(reader.check(index, &mut self.tally)) {
                    assert!(Instant::now() < deadline, "messages do not come: {}", reader.describe(index));
                    std::thread::sleep(CHECK_PERIOD);
                }
            }
        }
    }
}

impl Drop for Scene {
    /// Adds the talker's log to the output of a failed test.
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("talker:\n{}", self.talker.peer.output());
        }
    }
}
