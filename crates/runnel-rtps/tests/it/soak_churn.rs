//! Soak test of churn: participants and endpoints come, go, are lost and discovered again. No reader receives a sample
//! twice or out of order, and on a good network all compatible endpoints match and receive new samples.
//!
//! `SOAK_SEEDS=1000` sets the number of seeds, and `SOAK_FIRST=25` begins with that one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Config, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// Number of events, and duration of the good network afterwards.
const ROUNDS: u32 = 1500;
const FAIR: Duration = Duration::from_secs(30);

/// Maximum numbers of writers and readers.
const MAX_WRITERS: usize = 6;
const MAX_READERS: usize = 10;

/// Seeds that once failed: duplicates when both participants had lost each other.
const FOUND: [u64; 2] = [25, 31];

/// A writer or a reader of a node.
#[derive(Clone, Copy)]
struct End {
    node: usize,
    id: EntityId,
    qos: QoS,
    /// The next sample of a writer.
    next: u32,
}

struct Scene {
    net: Net,
    nodes: usize,
    writers: Vec<End>,
    readers: Vec<End>,
    most_len: u32,
}

impl Scene {
    /// Creates the scene of a seed.
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed + 1000);
        let nodes = 2 + net.random(3) as usize;
        (0..nodes).for_each(|_| add_node(&mut net));
        let loss = [0, 5, 20, 40][net.random(4) as usize];
        let delay = Duration::from_micros(u64::from(50 + net.random(3000)));
        net.conditions = Conditions { delay, ..Conditions::bad(loss) };
        let most_len = [100, 3_000, 20_000][net.random(3) as usize];
        Self { net, nodes, writers: Vec::new(), readers: Vec::new(), most_len }
    }

    /// Executes a random event: an endpoint or node comes or goes, a clock leaps, or a blackout; mostly none.
    fn change(&mut self) {
        match self.net.random(400) {
            0..=2 if self.writers.len() < MAX_WRITERS => {
                let (node, qos) = self.somewhere();
                let id = self.net.writer(node, TOPIC, qos);
                self.writers.push(End { node, id, qos, next: 0 });
            }
            3..=6 if self.readers.len() < MAX_READERS => {
                let (node, qos) = self.somewhere();
                let id = self.net.reader(node, TOPIC, qos);
                self.readers.push(End { node, id, qos, next: 0 });
            }
            7 => leave(&mut self.net, &mut self.writers),
            8 => leave(&mut self.net, &mut self.readers),
            9 => {
                let node = self.net.random(self.nodes as u32) as usize;
                self.net.leap(node, secs(6));
            }
            10 => {
                self.net.blackout = true;
                let time = millis(self.net.random(9000).into());
                self.net.run_for(time);
                self.net.blackout = false;
            }
            _ => {}
        }
    }

    /// Returns a random node and QoS.
    fn somewhere(&mut self) -> (usize, QoS) {
        let node = self.net.random(self.nodes as u32) as usize;
        let qos = [
            QoS::keep_last(1),
            QoS::keep_last(10),
            QoS::keep_last(10).transient_local(),
            QoS::keep_all(),
            QoS::keep_all().transient_local(),
            QoS::keep_last(5).best_effort(),
        ];
        (node, qos[self.net.random(6) as usize])
    }

    /// Writes some samples with each writer that accepts them.
    fn write_some(&mut self) {
        for index in 0..self.writers.len() {
            for _ in 0..self.net.random(4) {
                let is_long = self.net.random(5) == 0;
                let len = if is_long { self.net.random(self.most_len) as usize } else { 50 };
                self.write(index, len);
            }
        }
    }

    fn write(&mut self, index: usize, len: usize) -> bool {
        let End { node, id, next, .. } = self.writers[index];
        let taken = self.net.write(node, id, &sample(next, len)).is_ok();
        self.writers[index].next += u32::from(taken);
        taken
    }

    fn guid(&self, end: &End) -> Guid {
        self.net.nodes[end.node].participant.prefix().with(end.id)
    }

    /// Returns writers and readers of different nodes, and whether they are compatible.
    fn pairs(&self) -> Vec<(End, End, bool)> {
        let readers_of = |writer: &End| {
            let writer = *writer;
            self.readers
                .iter()
                .filter(move |reader| reader.node != writer.node)
                .map(move |reader| (writer, *reader, reader.qos.incompatible_with(&writer.qos).is_empty()))
        };
        self.writers.iter().flat_map(readers_of).collect()
    }

    fn assert_no_duplicates_or_reordering(&self, seed: u64) {
        for node in &self.net.nodes {
            let mut last: BTreeMap<(EntityId, Guid), u32> = BTreeMap::new();
            for received in &node.samples {
                let number = number_of(&received.bytes);
                let before = last.insert((received.reader, received.writer), number);
                assert!(
                    before.is_none_or(|before| before < number),
                    "seed {seed}: {} has {number} of {} after {before:?}",
                    received.reader,
                    received.writer
                );
            }
        }
    }

    fn assert_all_compatible_match(&self, seed: u64) {
        let matches_other = |one: &End, other: &End| {
            self.net.nodes[one.node].participant.matched(one.id).contains(&self.guid(other))
        };
        for (writer, reader, fits) in self.pairs() {
            let matched = [matches_other(&writer, &reader), matches_other(&reader, &writer)];
            assert_eq!(matched, [fits; 2], "seed {seed}: {} and {}", self.guid(&writer), self.guid(&reader));
        }
    }

    fn assert_all_receive_new_samples(&mut self, seed: u64) {
        for index in 0..self.writers.len() {
            assert!(self.write(index, 5000), "seed {seed}: {} is full", self.guid(&self.writers[index]));
        }
        self.net.run_for(secs(3));
        for (writer, reader, _) in self.pairs().into_iter().filter(|(.., fits)| *fits) {
            let of = (reader.id, self.guid(&writer));
            let samples = self.net.nodes[reader.node].samples.iter();
            let last = samples.rev().find(|received| (received.reader, received.writer) == of);
            let last = last.map(|received| number_of(&received.bytes));
            assert_eq!(last, Some(writer.next - 1), "seed {seed}: {} of {}", reader.id, self.guid(&writer));
        }
    }
}

/// Adds a node, sometimes on the host of the first.
fn add_node(net: &mut Net) {
    let is_near = net.random(4) == 0 && !net.nodes.is_empty();
    let host = net.nodes.first().map(|node| node.address.ip()).filter(|_| is_near);
    let port = 7412 + net.nodes.len() as u16 * 2;
    let rate = [1_000_000, 10_000_000, 100_000_000][net.random(3) as usize];
    let kept = [5, 50][net.random(2) as usize];
    net.add_with(|config: &mut Config| {
        if let Some(host) = host {
            (config.unicast, config.own_addresses) = (vec![(host, port).into()], vec![host]);
        }
        config.other_host = Path { datagram: 1444, rate: Rate::steady(rate) };
        config.limits.kept = kept;
        (config.lease, config.announce) = (secs(5), secs(1));
    });
}

fn leave(net: &mut Net, ends: &mut Vec<End>) {
    if !ends.is_empty() {
        let gone = ends.remove(net.random(ends.len() as u32) as usize);
        net.remove(gone.node, gone.id);
    }
}

fn soak(seed: u64) {
    let mut scene = Scene::new(seed);
    for _ in 0..ROUNDS {
        scene.change();
        scene.write_some();
        let time = Duration::from_micros(scene.net.random(5000).into());
        scene.net.run_for(time);
    }
    scene.net.conditions = Conditions::GOOD;
    scene.net.run_for(FAIR);
    scene.assert_no_duplicates_or_reordering(seed);
    scene.assert_all_compatible_match(seed);
    scene.assert_all_receive_new_samples(seed);
}

#[test]
fn churn_causes_no_duplicates_and_all_match() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let first = number("SOAK_FIRST", 0);
    let seeds = first..first + number("SOAK_SEEDS", 12);
    FOUND.into_iter().filter(|_| first == 0).chain(seeds).for_each(soak);
}
