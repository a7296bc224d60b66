//! Recorder of sent and received messages that does not allocate while it runs.

use super::log::{Log, TopicLog};
use std::collections::VecDeque;

/// Whether a process publishes or subscribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Recorded when the message is passed to the publisher.
    Sent,
    /// Recorded when the message reaches the callback.
    Received,
}

/// Time and digest of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub stamp_ns: u64,
    /// The [`digest`] of its bytes, which identifies the message at sender and receiver.
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
    /// A recorder that keeps the newest `capacity` records of each topic (at least one), at 16 bytes each.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), trails: Vec::new() }
    }

    /// Adds a topic and allocates its memory. Call it once per topic and direction.
    pub fn topic(&mut self, name: &str, direction: Direction) -> TopicId {
        let records = VecDeque::with_capacity(self.capacity);
        self.trails.push(Trail { name: name.to_owned(), direction, overwritten: 0, records });
        TopicId(self.trails.len() - 1)
    }

    /// Records the next message of a topic, overwriting the oldest record if the topic is full. A [`TopicId`] of
    /// another recorder may be unknown here, and is ignored.
    pub fn record(&mut self, topic: TopicId, record: Record) {
        let Some(trail) = self.trails.get_mut(topic.0) else { return };
        if trail.records.len() == self.capacity {
            trail.records.pop_front();
            trail.overwritten += 1;
        }
        trail.records.push_back(record);
    }

    /// The records made since the last call.
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

/// 64-bit FNV-1a hash of a message's bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_records_are_kept_and_older_counted() {
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
    fn busy_topic_does_not_evict_quiet_topic() {
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
    fn digest_matches_published_test_vectors() {
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
