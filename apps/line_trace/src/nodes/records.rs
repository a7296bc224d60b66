//! Message records of one node.

use super::Recording;
use crate::latency::{Direction, Log, Record, Recorder, TopicId, digest};
use runnel::core::Message;
use runnel::core::time::Instant;
use runnel::steady_time;

/// Records kept per topic until they are read: a minute at 60 a second.
const CAPACITY: usize = 3600;

/// A [`Recorder`] and the buffer in which messages are serialized for their digests.
pub(super) struct Records {
    recording: Recording,
    recorder: Recorder,
    bytes: Vec<u8>,
}

impl Records {
    pub(super) fn new(recording: Recording) -> Self {
        let capacity = if recording == Recording::On { CAPACITY } else { 1 };
        Self { recording, recorder: Recorder::new(capacity), bytes: Vec::new() }
    }

    pub(super) fn topic(&mut self, name: &str, direction: Direction) -> TopicId {
        self.recorder.topic(name, direction)
    }

    /// Records a message that is about to be published.
    pub(super) fn sent<M: Message>(&mut self, topic: TopicId, message: &M) {
        if self.recording == Recording::On {
            let digest = self.digest(message);
            self.recorder.record(topic, Record { stamp_ns: steady_time().0, digest });
        }
    }

    /// Records a message that reached its callback at `at`.
    pub(super) fn received<M: Message>(&mut self, topic: TopicId, at: Instant, message: &M) {
        if self.recording == Recording::On {
            let digest = self.digest(message);
            self.recorder.record(topic, Record { stamp_ns: at.0, digest });
        }
    }

    pub(super) fn take(&mut self) -> Log {
        self.recorder.take()
    }

    fn digest<M: Message>(&mut self, message: &M) -> u64 {
        self.bytes.clear();
        message.write(&mut self.bytes);
        digest(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::msgs::std_msgs::msg::Int16;

    #[test]
    fn digest_covers_wire_bytes_at_both_ends() {
        let mut records = Records::new(Recording::On);
        let sent = records.topic("/a", Direction::Sent);
        let received = records.topic("/a", Direction::Received);
        for data in [1, 2] {
            records.sent(sent, &Int16 { data });
            records.received(received, steady_time(), &Int16 { data });
        }
        let log = records.take();
        for (sent, received) in log.topics[0].records.iter().zip(&log.topics[1].records) {
            assert_eq!(sent.digest, received.digest);
            assert!(sent.stamp_ns <= received.stamp_ns);
        }
        let expected = digest(&runnel::core::wire::encode(&Int16 { data: 2 }));
        assert_eq!(log.topics[0].records[1].digest, expected);
    }
}
