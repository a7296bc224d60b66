//! Records of messages as they are sent or received, without allocation once it runs.

use super::log::{Log, TopicLog};
use std::collections::VecDeque;

/// Whether a process publishes or subscribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Recorded when the message was handed to the publisher.
    Sent,
    /// Recorded when the message came to the callback.
    Received,
}

/// When a message passed, and which it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub stamp_ns: u64,
    /// The [`digest`] of its bytes, by which sender and receiver agree that it is the same message.
    pub digest: u64,
}

/// A topic of one [`Recorder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicId(usize);

/// The newest records of each topic of a process.
#[derive(Clone, Debug)]
pub struct Recorder {
    capacity: usize,
    trails: Vec<Trail>,
}

#[derive(Clone, Debug)]
struct Trail {
    name: String,
    direction: Direction,
    overwritten: u64,
    records: VecDeque<Record>,
}

impl Recorder {
    /// A recorder that keeps the newest `capacity` records of each topic, at 16 bytes a record and at least one.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), trails: Vec::new() }
    }

    /// Adds a topic and takes all memory for it. To be called once for each topic and direction.
    pub fn topic(&mut self, name: &str, direction: Direction) -> TopicId {
        let records = VecDeque::with_capacity(self.capacity);
        self.trails.push(Trail { name: name.to_owned(), direction, overwritten: 0, records });
        TopicId(self.trails.len() - 1)
    }

    /// Records the next message of a topic; the oldest record gives way if there is no room. An id of another
    /// recorder may be of no topic here, and is passed over.
    pub fn record(&mut self, topic: TopicId, record: Record) {
        let Some(trail) = self.trails.get_mut(topic.0) else { return };
        if trail.records.len() == self.capacity {
            trail.records.pop_front();
            trail.overwritten += 1;
        }
        trail.records.push_back(record);
    }

    /// What was recorded since this was asked last, to be written down.
    pub fn take(&mut self) -> Log {
        let topics = self.trails.iter_mut().map(|trail| TopicLog {
            name: trail.name.clone(),
            direction: trail.direction,
            overwritten: std::mem::take(&mut trail.overwritten),
            records: trail.records.drain(..).collect(),
        });
        Log { topics: topics.collect() }
    }
}

/// A number for the bytes of a message (64-bit FNV-1a); different messages get different ones, except by chance.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_records_are_kept_and_the_others_counted() {
        let mut recorder = Recorder::new(3);
        let topic = recorder.topic("/leds", Direction::Sent);
        (0..5).for_each(|stamp_ns| recorder.record(topic, Record { stamp_ns, digest: 0 }));
        let log = recorder.take();
        assert_eq!(log.topics[0].overwritten, 2);
        assert_eq!(log.topics[0].records.iter().map(|record| record.stamp_ns).collect::<Vec<_>>(), [2, 3, 4]);
        recorder.record(topic, Record { stamp_ns: 5, digest: 0 });
        let since = recorder.take();
        assert_eq!((since.topics[0].overwritten, since.topics[0].records.len()), (0, 1));
    }

    #[test]
    fn a_busy_topic_takes_no_room_from_a_quiet_one() {
        let mut recorder = Recorder::new(2);
        let (quiet, busy) =
            (recorder.topic("/q", Direction::Sent), recorder.topic("/b", Direction::Received));
        recorder.record(quiet, Record { stamp_ns: 1, digest: 0 });
        (0..100).for_each(|stamp_ns| recorder.record(busy, Record { stamp_ns, digest: 0 }));
        let log = recorder.take();
        assert_eq!((log.topics[0].records.len(), log.topics[1].records.len()), (1, 2));
        assert_eq!((log.topics[0].overwritten, log.topics[1].overwritten), (0, 98));
    }

    #[test]
    fn the_digest_is_that_of_the_published_test_vectors() {
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
