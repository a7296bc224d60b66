//! Soak test: on any network and with little capacity, kept samples arrive once and in order at all readers.
//!
//! `SOAK_SEEDS=1000` sets the number of seeds, and `SOAK_FIRST=102` begins with that one.

use std::ops::Range;
use std::time::Duration;

use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Config, Event, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// Number of samples of each writer, and distance of their numbers from those of the next writer.
const TOTAL: u32 = 60;
const APART: u32 = 1000;

/// Number of rounds on a bad network.
const BAD_ROUNDS: u32 = 300;

/// Seeds that once failed and no other test did: displacement, and useless requests.
const FOUND: [u64; 4] = [14, 38, 42, 102];

/// Time for completion afterwards.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Some writers, and readers of one participant that match all of them.
struct Scene {
    net: Net,
    writers: Vec<(usize, EntityId)>,
    written: Vec<u32>,
    listener: usize,
    readers: Vec<EntityId>,
    most_len: usize,
    has_little_capacity: bool,
}

impl Scene {
    /// Creates the scene of a seed.
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed + 1);
        let mut one_of = |values: &[usize]| values[net.random(values.len() as u32) as usize];
        let most_len = one_of(&[100, 3_000, 20_000]);
        let waiting = one_of(&[3_000, 30_000, 300_000, 512 << 20]).max(most_len + 200);
        let (kept, rate) = (one_of(&[3, 20, 1000]), one_of(&[1_000_000, 10_000_000, 100_000_000]));
        let (writers, readers) = (one_of(&[1, 2, 3]), one_of(&[1, 2, 3]));
        let qos = if one_of(&[0, 1]) == 0 { QoS::keep_all() } else { QoS::keep_all().transient_local() };
        let (has_little_capacity, loss) = (one_of(&[0, 1]) == 0, one_of(&[0, 5, 20, 40]));
        let change = |config: &mut Config| {
            (config.limits.waiting_bytes, config.limits.kept) = (waiting, kept);
            config.other_host = Path { datagram: 1444, rate: Rate::steady(rate as u64) };
            // No participant is lost.
            config.lease = secs(300);
        };
        let nodes: Vec<usize> = (0..writers).map(|_| net.add_with(change)).collect();
        let listener = net.add_with(change);
        let writers: Vec<_> = nodes.into_iter().map(|node| (node, net.writer(node, TOPIC, qos))).collect();
        let readers: Vec<_> = (0..readers).map(|_| net.reader(listener, TOPIC, QoS::keep_all())).collect();
        net.run_until("the endpoints match", secs(5), |net| {
            let matched = |node: usize, id| net.nodes[node].participant.matched(id).len();
            readers.iter().all(|reader| matched(listener, *reader) == writers.len())
                && writers.iter().all(|(node, writer)| matched(*node, *writer) == readers.len())
        });
        let delay = Duration::from_micros(u64::from(50 + net.random(3000)));
        net.conditions = Conditions { delay, ..Conditions::bad(loss as u32) };
        let written = vec![0; writers.len()];
        Self { net, writers, written, listener, readers, most_len, has_little_capacity }
    }

    /// Writes a few samples, possibly long ones, if the writers accept them.
    fn write_some(&mut self) {
        for (index, (node, writer)) in self.writers.iter().copied().enumerate() {
            for _ in 0..self.net.random(20) {
                let is_long = self.net.random(5) == 0;
                let len = if is_long { self.net.random(self.most_len as u32) as usize } else { 50 };
                let number = self.written[index];
                let bytes = sample(number + APART * index as u32, len);
                if number < TOTAL && self.net.write(node, writer, &bytes).is_ok() {
                    self.written[index] += 1;
                }
            }
        }
    }

    /// Gives the readers' users so much more capacity, if it is limited.
    fn give_capacity(&mut self, capacity: Range<u32>) {
        for reader in self.readers.clone().into_iter().filter(|_| self.has_little_capacity) {
            let (now, capacity) =
                (self.net.now, capacity.start + self.net.random(capacity.end - capacity.start));
            self.net.nodes[self.listener].participant.set_capacity(now, reader, capacity as usize);
            self.net.touch(self.listener);
        }
    }

    fn run_on_bad_network(&mut self) {
        self.net.blackout = self.net.random(100) == 0;
        let most = if self.net.blackout { 3_000_000 } else { 5_000 };
        let time = Duration::from_micros(self.net.random(most).into());
        self.net.run_for(time);
        self.net.blackout = false;
    }

    /// Returns whether all readers have received all samples, and the writers know.
    fn is_done(&self) -> bool {
        let all = TOTAL as usize * self.writers.len();
        let knows = |(node, writer): &(usize, EntityId)| {
            self.net.nodes[*node].participant.unacknowledged(*writer) == 0
        };
        self.readers.iter().all(|reader| self.net.texts(self.listener, *reader).len() >= all)
            && self.writers.iter().all(knows)
    }

    fn received(&self, reader: EntityId, writer: usize) -> Vec<u32> {
        let received = self.net.texts(self.listener, reader).into_iter().map(|bytes| number_of(&bytes));
        received.filter(|number| (number / APART) as usize == writer).map(|number| number % APART).collect()
    }
}

fn soak(seed: u64) {
    let mut scene = Scene::new(seed);
    for _ in 0..BAD_ROUNDS {
        scene.write_some();
        scene.give_capacity(0..5);
        scene.run_on_bad_network();
    }
    scene.net.conditions = Conditions::GOOD;
    let until = scene.net.now + TIMEOUT;
    while !scene.is_done() && scene.net.now < until {
        scene.write_some();
        scene.give_capacity(5..6);
        scene.net.run_for(millis(20));
    }
    for reader in scene.readers.clone() {
        for writer in 0..scene.writers.len() {
            let received = scene.received(reader, writer);
            assert_eq!(received, (0..TOTAL).collect::<Vec<_>>(), "seed {seed}, {reader}, writer {writer}");
        }
    }
    assert!(scene.is_done(), "seed {seed}: a writer does not know that all has arrived");
    let events = &scene.net.nodes[scene.listener].events;
    assert!(!events.iter().any(|event| matches!(event, Event::SampleLost { .. })), "seed {seed}");
}

#[test]
fn kept_samples_arrive_once_in_order_on_any_network() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let first = number("SOAK_FIRST", 0);
    let seeds = first..first + number("SOAK_SEEDS", 12);
    FOUND.into_iter().filter(|_| first == 0).chain(seeds).for_each(soak);
}
