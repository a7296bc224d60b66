//! Readers that share a reorder buffer, as in a participant of Cyclone DDS.

use super::*;
use crate::wire::{Gap, Heartbeat, Message, Submessage};
use alloc::collections::BTreeMap;

/// Model of a participant of Cyclone DDS: one reorder buffer for the writer, whichever reader a submessage names.
/// Source: Cyclone DDS, `ddsi_receive.c`.
struct Peer {
    readers: Vec<MatchedReader>,
    next: i64,
    last: i64,
    has_begun: bool,
    /// Received numbers, true for samples and false for gaps.
    known: BTreeMap<i64, bool>,
    /// Numbers of the samples that all readers have received.
    delivered: Vec<i64>,
}

struct MatchedReader {
    guid: Guid,
    heartbeats: u32,
    answers: u32,
    /// Since its last answer.
    has_heartbeat: bool,
    is_asked: bool,
}

impl Peer {
    fn new() -> Self {
        let (known, delivered) = (BTreeMap::new(), vec![]);
        Self { readers: vec![], next: 1, last: 0, has_begun: false, known, delivered }
    }

    fn add_reader(&mut self, number: u32) -> Guid {
        let guid = prefix(0).with(EntityId::user_reader(number));
        self.readers.push(MatchedReader {
            guid,
            heartbeats: 0,
            answers: 0,
            has_heartbeat: false,
            is_asked: false,
        });
        guid
    }

    fn skip(&mut self, numbers: core::ops::Range<i64>) {
        numbers.filter(|number| *number >= self.next).for_each(|number| {
            self.known.entry(number).or_insert(false);
        });
    }

    fn gap(&mut self, gap: &Gap) {
        if self.readers.iter().any(|reader| reader.guid.entity == gap.reader) {
            self.skip(gap.start.0..gap.list.base.0);
            gap.list.iter().for_each(|number| self.skip(number.0..number.0 + 1));
            let last = gap.list.iter().last().unwrap_or(gap.list.base.previous());
            self.last = self.last.max(last.0);
        }
    }

    fn heartbeat(&mut self, heartbeat: &Heartbeat) {
        let first = if self.has_begun { heartbeat.first.0 } else { heartbeat.last.0 + 1 };
        self.has_begun = true;
        self.skip(self.next..first);
        self.last = self.last.max(heartbeat.last.0);
        let is_named =
            |reader: &&mut MatchedReader| [EntityId::UNKNOWN, reader.guid.entity].contains(&heartbeat.reader);
        for reader in self.readers.iter_mut().filter(is_named) {
            if heartbeat.count > core::mem::replace(&mut reader.heartbeats, heartbeat.count) {
                reader.is_asked |= !heartbeat.is_final;
                reader.has_heartbeat = true;
            }
        }
    }

    fn receive(&mut self, datagram: &[u8]) {
        for submessage in Message::parse(datagram).unwrap().submessages() {
            match submessage.unwrap() {
                Submessage::InfoDestination(to) if to.prefix != prefix(0) => return,
                Submessage::Data(data) if data.number.0 >= self.next => {
                    self.known.insert(data.number.0, true);
                    self.last = self.last.max(data.number.0);
                }
                Submessage::Gap(gap) => self.gap(&gap),
                Submessage::Heartbeat(heartbeat) => self.heartbeat(&heartbeat),
                _ => {}
            }
            while let Some(is_sample) = self.known.remove(&self.next) {
                self.delivered.extend(is_sample.then_some(self.next));
                self.next += 1;
            }
        }
    }

    /// The due answers of all readers.
    fn answers(&mut self) -> Vec<(Guid, AckNack)> {
        let Self { readers, next, last, known, .. } = self;
        let mut missing = SequenceSet::new(SequenceNumber(*next));
        let numbers = (*next..=*last).filter(|number| !known.contains_key(number));
        for number in numbers {
            missing.insert(SequenceNumber(number));
        }
        let answer = |reader: &mut MatchedReader| {
            let is_due = core::mem::take(&mut reader.is_asked) || !missing.is_empty() && reader.has_heartbeat;
            reader.has_heartbeat = false;
            reader.answers += u32::from(is_due);
            let (count, entity) = (reader.answers, reader.guid.entity);
            let ack = AckNack { reader: entity, writer: WRITER, missing, count, is_final: true };
            is_due.then_some((reader.guid, ack))
        };
        readers.iter_mut().filter_map(answer).collect()
    }
}

struct Scene {
    now: Instant,
    writer: Writer<Sample>,
    peer: Peer,
    seed: u64,
    loss: u64,
    sent: usize,
}

impl Scene {
    fn new(seed: u64, loss: u64) -> Self {
        let (now, writer) = (Instant(1_000_000), writer(1000));
        let seed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { now, writer, peer: Peer::new(), seed, loss, sent: 0 }
    }

    /// Random number (xorshift64).
    fn random(&mut self, below: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % below
    }

    fn add_reader(&mut self, number: u32) -> Guid {
        let guid = self.peer.add_reader(number);
        self.writer.match_reader(ReaderSpec { shares_reorder_buffer: true, ..spec(guid) });
        guid
    }

    /// Exchanges datagrams until nothing is left to send.
    fn exchange(&mut self) {
        for _ in 0..1000 {
            let mut out = Datagram::new();
            if self.writer.compose(self.now, SENDER, &mut out) != Composed::Ready {
                return;
            }
            self.sent += 1;
            if self.random(100) >= self.loss {
                self.peer.receive(&out.parts().concat());
            }
            for (reader, ack) in self.peer.answers() {
                if self.random(100) >= self.loss {
                    self.writer.acknowledge(self.now, reader, &ack);
                }
            }
        }
        panic!("it never stops sending");
    }

    /// Runs the timers until this time.
    fn run_until(&mut self, end: Instant) {
        while let Some(at) = self.writer.timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.writer.handle_timeout(self.now);
            self.exchange();
        }
        self.now = self.now.max(end);
    }

    fn write(&mut self, reader: Guid) -> i64 {
        let number = write(&mut self.writer, self.now, reader, 20).unwrap().0;
        self.exchange();
        self.run_until(self.now + Duration::from_millis(2));
        number
    }
}

#[test]
fn reply_to_one_of_several_readers_is_not_destroyed() {
    for seed in 0..100 {
        let mut scene = Scene::new(seed, 10);
        let mut readers = vec![scene.add_reader(1), scene.add_reader(2)];
        let mut expected = vec![];
        for step in 0..200 {
            if step == 50 {
                readers.push(scene.add_reader(3));
            }
            let reader = readers[scene.random(readers.len() as u64) as usize];
            expected.push(scene.write(reader));
        }
        scene.run_until(scene.now + Duration::from_secs(20));
        assert_eq!(scene.peer.delivered, expected, "seed {seed}");
        assert_eq!(scene.writer.unacknowledged_by_addressees(), 0, "seed {seed}");
    }
}

/// A reader of another participant has its samples in between.
#[test]
fn samples_of_other_participants_are_skipped_for_all_readers() {
    let mut scene = Scene::new(1, 10);
    let readers = [scene.add_reader(1), scene.add_reader(2)];
    scene.writer.match_reader(spec(reader(9)));
    let mut expected = vec![];
    for step in 0..100 {
        scene.write(reader(9));
        expected.push(scene.write(readers[step % 2]));
    }
    scene.run_until(scene.now + Duration::from_secs(20));
    let of_peer = scene.peer.delivered.iter().filter(|number| expected.contains(number));
    assert!(of_peer.copied().eq(expected.iter().copied()));
}

/// One datagram serves both readers of a participant.
#[test]
fn reply_is_sent_once_to_readers_that_share_a_buffer() {
    let mut scene = Scene::new(1, 0);
    let readers = [scene.add_reader(1), scene.add_reader(2)];
    for reader in readers {
        scene.write(reader);
    }
    scene.run_until(scene.now + Duration::from_secs(1));
    let before = scene.sent;
    (0..4).for_each(|step| {
        write(&mut scene.writer, scene.now, readers[step % 2], 20).unwrap();
        scene.exchange();
    });
    assert_eq!(scene.sent - before, 4);
    assert_eq!(scene.peer.delivered.len(), 6);
}
