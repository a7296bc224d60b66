//! Whatever the weather, and however little room there is: what is kept is heard once and in order, by all.
//!
//! `SOAK_SEEDS=1000` tries so many seeds, and `SOAK_FIRST=102` begins with that one.

use std::ops::Range;
use std::time::Duration;

use crate::net::{Net, Weather, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Config, Event, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// How many samples each writer writes, and by how much their numbers differ from those of the next.
const TOTAL: u32 = 60;
const APART: u32 = 1000;

/// After so many rounds the weather is fair.
const FOUL_ROUNDS: u32 = 300;

/// Seeds that have found something once, that no other test did: who drives out whom, and what is asked for in vain.
const FOUND: [u64; 4] = [14, 38, 42, 102];

/// How long all may take then.
const PATIENCE: Duration = Duration::from_secs(60);

/// Some writers, and readers of one participant that hear them all.
struct Scene {
    net: Net,
    writers: Vec<(usize, EntityId)>,
    written: Vec<u32>,
    hearer: usize,
    readers: Vec<EntityId>,
    most_len: usize,
    has_little_room: bool,
}

impl Scene {
    /// As the seed has it.
    fn new(seed: u64) -> Self {
        let mut net = Net::new(seed + 1);
        let mut one_of = |values: &[usize]| values[net.random(values.len() as u32) as usize];
        let most_len = one_of(&[100, 3_000, 20_000]);
        let waiting = one_of(&[3_000, 30_000, 300_000, 512 << 20]).max(most_len + 200);
        let (kept, rate) = (one_of(&[3, 20, 1000]), one_of(&[1_000_000, 10_000_000, 100_000_000]));
        let (writers, readers) = (one_of(&[1, 2, 3]), one_of(&[1, 2, 3]));
        let qos = if one_of(&[0, 1]) == 0 { QoS::keep_all() } else { QoS::keep_all().transient_local() };
        let (has_little_room, loss) = (one_of(&[0, 1]) == 0, one_of(&[0, 5, 20, 40]));
        let change = |config: &mut Config| {
            (config.limits.waiting_bytes, config.limits.kept) = (waiting, kept);
            config.other_host = Path { datagram: 1444, rate: Rate::steady(rate as u64) };
            // Nobody is taken for dead.
            config.lease = secs(300);
        };
        let nodes: Vec<usize> = (0..writers).map(|_| net.add_with(change)).collect();
        let hearer = net.add_with(change);
        let writers: Vec<_> = nodes.into_iter().map(|node| (node, net.writer(node, TOPIC, qos))).collect();
        let readers: Vec<_> = (0..readers).map(|_| net.reader(hearer, TOPIC, QoS::keep_all())).collect();
        net.run_until("they meet", secs(5), |net| {
            let matched = |node: usize, id| net.nodes[node].participant.matched(id).len();
            readers.iter().all(|reader| matched(hearer, *reader) == writers.len())
                && writers.iter().all(|(node, writer)| matched(*node, *writer) == readers.len())
        });
        let delay = Duration::from_micros(u64::from(50 + net.random(3000)));
        net.weather = Weather { delay, ..Weather::foul(loss as u32) };
        let written = vec![0; writers.len()];
        Self { net, writers, written, hearer, readers, most_len, has_little_room }
    }

    /// Writes a few samples, which may be long, as far as the writers take them.
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

    /// The readers' users have room for so many more, if they have little.
    fn give_room(&mut self, room: Range<u32>) {
        for reader in self.readers.clone().into_iter().filter(|_| self.has_little_room) {
            let (now, room) = (self.net.now, room.start + self.net.random(room.end - room.start));
            self.net.nodes[self.hearer].participant.set_capacity(now, reader, room as usize);
            self.net.touch(self.hearer);
        }
    }

    fn a_while_in_foul_weather(&mut self) {
        self.net.blackout = self.net.random(100) == 0;
        let most = if self.net.blackout { 3_000_000 } else { 5_000 };
        let time = Duration::from_micros(self.net.random(most).into());
        self.net.run_for(time);
        self.net.blackout = false;
    }

    /// Everybody has heard all, and the writers know.
    fn is_done(&self) -> bool {
        let all = TOTAL as usize * self.writers.len();
        let knows = |(node, writer): &(usize, EntityId)| {
            self.net.nodes[*node].participant.unacknowledged(*writer) == 0
        };
        self.readers.iter().all(|reader| self.net.texts(self.hearer, *reader).len() >= all)
            && self.writers.iter().all(knows)
    }

    fn heard(&self, reader: EntityId, writer: usize) -> Vec<u32> {
        let heard = self.net.texts(self.hearer, reader).into_iter().map(|bytes| number_of(&bytes));
        heard.filter(|number| (number / APART) as usize == writer).map(|number| number % APART).collect()
    }
}

fn soak(seed: u64) {
    let mut scene = Scene::new(seed);
    for _ in 0..FOUL_ROUNDS {
        scene.write_some();
        scene.give_room(0..5);
        scene.a_while_in_foul_weather();
    }
    scene.net.weather = Weather::FAIR;
    let until = scene.net.now + PATIENCE;
    while !scene.is_done() && scene.net.now < until {
        scene.write_some();
        scene.give_room(5..6);
        scene.net.run_for(millis(20));
    }
    for reader in scene.readers.clone() {
        for writer in 0..scene.writers.len() {
            let heard = scene.heard(reader, writer);
            assert_eq!(heard, (0..TOTAL).collect::<Vec<_>>(), "seed {seed}, {reader}, writer {writer}");
        }
    }
    assert!(scene.is_done(), "seed {seed}: a writer does not know that all has arrived");
    let events = &scene.net.nodes[scene.hearer].events;
    assert!(!events.iter().any(|event| matches!(event, Event::SampleLost { .. })), "seed {seed}");
}

#[test]
fn what_is_kept_is_heard_once_and_in_order_whatever_the_weather() {
    let number = |name, default| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let first = number("SOAK_FIRST", 0);
    let seeds = first..first + number("SOAK_SEEDS", 12);
    FOUND.into_iter().filter(|_| first == 0).chain(seeds).for_each(soak);
}
