//! When a bag is full, and when a recording is complete.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limits of a recording.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Length of a bag in bytes.
    pub size: Option<u64>,
    /// Time from the first message of a bag to its last.
    pub duration: Option<Duration>,
    /// Whether another bag follows a full one. Otherwise the recording ends.
    pub split: bool,
    /// Messages of each topic. The recording ends when all have them.
    pub messages: Option<u64>,
    /// Limits of topics, by name.
    pub topics: BTreeMap<String, TopicLimit>,
}

/// How much is recorded of a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicLimit {
    /// Number of messages.
    pub messages: Option<u64>,
    /// Their bytes. The message that exceeds them is the last.
    pub bytes: Option<u64>,
    /// Shortest time from one message to the next.
    pub interval: Option<Duration>,
}

impl Limits {
    /// Whether a bag of this length, whose first message came at `start`, is full at `now`. Times are in nanoseconds.
    pub fn is_full(&self, len: u64, start: Option<u64>, now: u64) -> bool {
        let elapsed = start.map_or(0, |start| now.saturating_sub(start));
        let is_long = self.duration.is_some_and(|limit| u128::from(elapsed) >= limit.as_nanos());
        self.size.is_some_and(|limit| len >= limit) || is_long
    }

    /// The limit of a topic.
    pub fn of_topic(&self, name: &str) -> TopicLimit {
        let limit = self.topics.get(name).copied().unwrap_or_default();
        TopicLimit { messages: limit.messages.or(self.messages), ..limit }
    }
}

impl TopicLimit {
    /// Both limits. Of one kind, the other one counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            messages: other.messages.or(self.messages),
            bytes: other.bytes.or(self.bytes),
            interval: other.interval.or(self.interval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bag_is_full_by_size_or_time() {
        let limits =
            Limits { size: Some(100), duration: Some(Duration::from_nanos(10)), ..Limits::default() };
        assert!(!limits.is_full(99, Some(5), 14));
        assert!(limits.is_full(100, Some(5), 14));
        assert!(limits.is_full(99, Some(5), 15));
        assert!(!limits.is_full(99, None, 1000), "a bag without messages has no time");
        assert!(!Limits::default().is_full(u64::MAX, Some(0), u64::MAX));
    }

    #[test]
    fn topic_has_its_own_number_or_that_of_all() {
        let own = TopicLimit { messages: Some(5), ..TopicLimit::default() };
        let bytes = TopicLimit { bytes: Some(7), ..TopicLimit::default() };
        let topics = [("/own".to_owned(), own), ("/bytes".to_owned(), bytes)].into();
        let limits = Limits { messages: Some(9), topics, ..Limits::default() };
        assert_eq!(limits.of_topic("/own"), own);
        assert_eq!(limits.of_topic("/bytes"), TopicLimit { messages: Some(9), ..bytes });
        assert_eq!(limits.of_topic("/other").messages, Some(9));
    }
}
