//! A talker and readers that are in both graphs, and what happens to them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::common::{Graph, spin_until};
use crate::domains::new_domain;
use crate::raw::Ports;
use runnel_testkit::net::Rng;
use runnel_testkit::process::{Signal, within};

use super::PATIENCE;
use super::change::Change;
use super::control::Process;
use super::network::{Datagrams, disturb, kill_connections, mend};
use super::reader::{Reader, Subscribed, Tally};

/// A process reads by no more subscriptions than these.
const MOST_SUBSCRIPTIONS: usize = 4;

/// Between two looks at what has come.
const LOOK: Duration = Duration::from_millis(5);

pub struct Scene {
    graph: Graph,
    domain: u16,
    /// Where the talker accepts connections of ROS 1.
    tcpros: SocketAddr,
    talker: Process,
    readers: Vec<Reader>,
    subscribed: u32,
    pub killed_connections: usize,
    pub tally: Tally,
}

impl Scene {
    /// A talker, a reader by a reliable subscription beside one of best effort, and a reader by a reliable one.
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

    /// Goes on in peace for so long, then notes by which paths messages come.
    pub fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
        for reader in &mut self.readers {
            for index in 0..reader.subscriptions.len() {
                let is_in_memory = reader.look_at(index, &mut self.tally).is_in_memory();
                self.tally.at_beginnings += 1;
                self.tally.in_memory += u32::from(is_in_memory);
            }
        }
    }

    /// Has something happen, to the reader that `rng` says.
    pub fn apply(&mut self, change: Change, rng: &mut Rng) {
        let reader = rng.below(self.readers.len());
        match change {
            Change::EndSessionsOfTalker => drop(self.talker.ask("sessions")),
            Change::EndSessionsOfReader => drop(self.readers[reader].process.ask("sessions")),
            Change::CutDatagrams => disturb(Datagrams::Cut),
            Change::LoseDatagrams => disturb(Datagrams::Lossy),
            Change::MendDatagrams => mend(),
            Change::KillConnections => self.kill_connections(),
            Change::AddSubscription => {
                let is_reliable = rng.percent(60);
                if self.readers[reader].subscriptions.len() < MOST_SUBSCRIPTIONS {
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
                peer.stop(within(PATIENCE.as_secs())).unwrap();
                // For so long it stands still.
                std::thread::sleep(rng.between(Duration::ZERO, Duration::from_millis(300)));
                peer.signal(Signal::CONT).unwrap();
            }
            Change::ReplaceReader => {
                // One that leaves while nothing gets through is known until its lease ends.
                mend();
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

    /// Another process in the place of one that has ended.
    fn replace(&mut self, reader: usize, rng: &mut Rng) {
        drop(self.readers.swap_remove(reader));
        let subscriptions: &[bool] = [&[true][..], &[true, false], &[false, true]][rng.below(3)];
        self.add_reader(rng.percent(70), subscriptions);
    }

    /// Waits until each subscription has received what is published by now, and checks what has come.
    pub fn settle(&mut self) {
        mend();
        let published = self.published("published");
        self.wait_for(|subscribed| subscribed.has_received(published));
        self.subscriptions().for_each(Subscribed::allow_no_more_gaps);
    }

    /// Ends the talker's publishers, and waits until their last message has come where it must; how many were published.
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

    /// Looks at one subscription after the other until each is as `is_done` says.
    fn wait_for(&mut self, is_done: impl Fn(&Subscribed) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        for reader in &mut self.readers {
            for index in 0..reader.subscriptions.len() {
                while !is_done(reader.look_at(index, &mut self.tally)) {
                    assert!(Instant::now() < deadline, "messages do not come: {}", reader.describe(index));
                    std::thread::sleep(LOOK);
                }
            }
        }
    }
}
