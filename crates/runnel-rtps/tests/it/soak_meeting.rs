//! Whoever comes, goes, is lost and found again: nobody hears anything twice or out of order, and in fair weather all meet who
//! fit each other, and hear what is written then.
//!
//! `SOAK_SEEDS=1000` tries so many seeds, and `SOAK_FIRST=25` begins with that one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::net::{Net, Weather, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_rtps::{Config, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// How often something happens, and how long the weather is fair then.
const ROUNDS: u32 = 1500;
const FAIR: Duration = Duration::from_secs(30);

/// No more writers and readers than these.
const MAX_WRITERS: usize = 6;
const MAX_READERS: usize = 10;

/// Seeds that have found something once: samples that came twice when both had lost each other.
const FOUND: [u64; 2] = [25, 31];

/// A writer or a reader of some node's.
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
    /// As the seed has it.
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed + 1000);
        let nodes = 2 + net.random(3) as usize;
        (0..nodes).for_each(|_| add_node(&mut net));
        let loss = [0, 5, 20, 40][net.random(4) as usize];
        let delay = Duration::from_micros(u64::from(50 + net.random(3000)));
        net.weather = Weather { delay, ..Weather::foul(loss) };
        let most_len = [100, 3_000, 20_000][net.random(3) as usize];
        Self { net, nodes, writers: Vec::new(), readers: Vec::new(), most_len }
    }

    /// Somebody comes or goes, a clock leaps, or nobody hears anything for a while; mostly nothing of that.
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

    /// A node, and how something is to be there.
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

    /// Each writer writes some samples, as far as it takes them.
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

    /// Writers and readers of different nodes, and whether they fit each other.
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

    fn assert_nothing_came_twice_or_late(&self, seed: u64) {
        for node in &self.net.nodes {
            let mut last: BTreeMap<(EntityId, Guid), u32> = BTreeMap::new();
            for heard in &node.samples {
                let number = number_of(&heard.bytes);
                let before = last.insert((heard.reader, heard.writer), number);
                assert!(
                    before.is_none_or(|before| before < number),
                    "seed {seed}: {} has {number} of {} after {before:?}",
                    heard.reader,
                    heard.writer
                );
            }
        }
    }

    fn assert_all_meet_who_fit(&self, seed: u64) {
        let meets = |one: &End, other: &End| {
            self.net.nodes[one.node].participant.matched(one.id).contains(&self.guid(other))
        };
        for (writer, reader, fits) in self.pairs() {
            let met = [meets(&writer, &reader), meets(&reader, &writer)];
            assert_eq!(met, [fits; 2], "seed {seed}: {} and {}", self.guid(&writer), self.guid(&reader));
        }
    }

    fn assert_all_hear_what_is_written(&mut self, seed: u64) {
        for index in 0..self.writers.len() {
            assert!(self.write(index, 5000), "seed {seed}: {} is full", self.guid(&self.writers[index]));
        }
        self.net.run_for(secs(3));
        for (writer, reader, _) in self.pairs().into_iter().filter(|(.., fits)| *fits) {
            let of = (reader.id, self.guid(&writer));
            let samples = self.net.nodes[reader.node].samples.iter();
            let last = samples.rev().find(|heard| (heard.reader, heard.writer) == of);
            let last = last.map(|heard| number_of(&heard.bytes));
            assert_eq!(last, Some(writer.next - 1), "seed {seed}: {} of {}", reader.id, self.guid(&writer));
        }
    }
}

/// Another node, sometimes on the host of the first.
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
    scene.net.weather = Weather::FAIR;
    scene.net.run_for(FAIR);
    scene.assert_nothing_came_twice_or_late(seed);
    scene.assert_all_meet_who_fit(seed);
    scene.assert_all_hear_what_is_written(seed);
}

#[test]
fn nobody_hears_anything_twice_and_all_meet_whoever_comes_and_goes() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let first = number("SOAK_FIRST", 0);
    let seeds = first..first + number("SOAK_SEEDS", 12);
    FOUND.into_iter().filter(|_| first == 0).chain(seeds).for_each(soak);
}
