//! A recorded topic: its numbers, and the limits of what is recorded of it.

use super::arrival::Arrival;
use super::limits::TopicLimit;
use super::loss::{Counts, Numbers};

/// A topic.
#[derive(Default)]
pub struct Topic {
    /// Its absolute name.
    pub name: String,
    /// Numbers of its messages.
    pub counts: Counts,
    /// Nothing more will arrive.
    pub is_abandoned: bool,
    /// How many of the last messages of each latched publisher later bags begin with.
    pub repeated: usize,
    limit: TopicLimit,
    numbers: Numbers,
    /// Log time of the last message that its rate admitted, in nanoseconds since 1970.
    admitted: Option<u64>,
    /// What was written since the bag was last synced.
    unsynced: Counts,
    /// Those of its numbers that earlier bags hold.
    in_earlier_bags: Counts,
    /// Its numbers when the open bag last got its losses, or when it began.
    in_open_bag: Counts,
}

impl Topic {
    /// A topic of this name.
    pub fn new(name: &str, limit: TopicLimit) -> Self {
        Self { name: name.to_owned(), limit, repeated: 1, ..Self::default() }
    }

    /// Later bags begin with so many messages of each latched publisher.
    #[must_use]
    pub fn repeating(self, repeated: usize) -> Self {
        Self { repeated, ..self }
    }

    /// Takes the number of a message that arrived.
    pub fn count_arrival(&mut self, message: &Arrival<'_>) {
        if let Some((publisher, number)) = message.number {
            self.counts.missing += self.numbers.take(publisher, number);
        }
    }

    /// Whether the rate of the topic admits a message. Those that late subscribers get are always admitted.
    pub fn admits(&mut self, message: &Arrival<'_>) -> bool {
        let Some(interval) = self.limit.interval.filter(|_| !message.source.is_latching) else { return true };
        let now = message.content.log_time;
        // Time that goes backwards, as a simulation's, begins anew.
        let is_due =
            self.admitted.is_none_or(|last| now < last || u128::from(now - last) >= interval.as_nanos());
        if is_due {
            self.admitted = Some(now);
        }
        is_due
    }

    /// Whether nothing more of the topic is recorded.
    pub fn is_complete(&self) -> bool {
        self.limit.messages.is_some_and(|limit| self.counts.messages >= limit)
            || self.limit.bytes.is_some_and(|limit| self.counts.bytes >= limit)
    }

    /// Counts a message of this length that was written.
    pub fn count_written(&mut self, len: usize) {
        let written = Counts { messages: 1, bytes: len as u64, ..Counts::default() };
        self.counts = self.counts.plus(written);
        self.unsynced = self.unsynced.plus(written);
    }

    /// Those of its numbers that no earlier bag holds.
    pub fn counts_of_bag(&self) -> Counts {
        self.counts.since(self.in_earlier_bags)
    }

    /// The bag is complete.
    pub fn end_bag(&mut self) {
        self.mark_synced();
        self.mark_loss_synced();
        self.in_earlier_bags = self.counts;
    }

    /// The bag cannot be continued. What was written since the last sync is counted as refused. Of the losses, the bag holds
    /// those that it got until then, and the next bag the others.
    pub fn end_failed_bag(&mut self) {
        self.count_unsynced_as_refused();
        let Counts { messages, bytes, .. } = self.counts;
        self.in_earlier_bags = Counts { messages, bytes, ..self.in_open_bag };
    }

    /// What was written is safe.
    pub fn mark_synced(&mut self) {
        self.unsynced = Counts::default();
    }

    /// The open bag holds the losses until now, and they are safe.
    pub fn mark_loss_synced(&mut self) {
        self.in_open_bag = self.counts;
    }

    /// A message of this length that was counted as refused is in the next bag.
    pub fn count_rescued(&mut self, len: usize) {
        self.counts.refused = self.counts.refused.saturating_sub(1);
        self.count_written(len);
    }

    fn count_unsynced_as_refused(&mut self) {
        let Counts { messages, bytes, .. } = std::mem::take(&mut self.unsynced);
        self.counts.messages = self.counts.messages.saturating_sub(messages);
        self.counts.bytes = self.counts.bytes.saturating_sub(bytes);
        self.counts.refused = self.counts.refused.saturating_add(messages);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bag::record::sink::fixture::{arrival, source};

    #[test]
    fn rate_admits_messages_in_its_interval() {
        let limit = TopicLimit { interval: Some(Duration::from_secs(2)), ..TopicLimit::default() };
        let mut topic = Topic::new("/a", limit);
        let seconds = [1, 2, 3, 4, 5, 6, 2, 3, 4];
        let admitted: Vec<u64> = seconds
            .into_iter()
            .filter(|second| topic.admits(&arrival(source("/one"), *second, "x")))
            .collect();
        assert_eq!(admitted, [1, 3, 5, 2, 4], "from 6 to 2 the time went backwards");
    }

    #[test]
    fn bytes_and_messages_complete_a_topic() {
        let complete_after = |limit: TopicLimit| {
            let mut topic = Topic::new("/a", limit);
            while !topic.is_complete() && topic.counts.messages < 100 {
                topic.count_written(10);
            }
            topic.counts.messages
        };
        assert_eq!(complete_after(TopicLimit { messages: Some(3), ..TopicLimit::default() }), 3);
        assert_eq!(complete_after(TopicLimit { bytes: Some(35), ..TopicLimit::default() }), 4);
        assert_eq!(complete_after(TopicLimit::default()), 100);
    }

    #[test]
    fn each_bag_has_its_own_numbers() {
        let mut topic = Topic::new("/a", TopicLimit::default());
        topic.count_written(10);
        topic.counts.dropped += 3;
        topic.end_bag();
        topic.count_written(20);
        let counts = topic.counts_of_bag();
        assert_eq!((counts.messages, counts.bytes, counts.dropped), (1, 20, 0));
        assert_eq!((topic.counts.messages, topic.counts.dropped), (2, 3));
    }

    #[test]
    fn messages_of_a_bag_that_failed_are_refused() {
        let mut topic = Topic::new("/a", TopicLimit::default());
        topic.count_written(10);
        topic.mark_synced();
        topic.count_written(10);
        topic.count_written(10);
        topic.end_failed_bag();
        assert_eq!((topic.counts.messages, topic.counts.bytes, topic.counts.refused), (1, 10, 2));
        assert_eq!((topic.counts_of_bag().messages, topic.counts_of_bag().refused), (0, 2));
    }

    #[test]
    fn bag_after_a_failed_one_has_the_other_losses() {
        let mut topic = Topic::new("/a", TopicLimit::default());
        topic.counts.dropped = 1;
        topic.mark_loss_synced();
        topic.counts.dropped = 3;
        topic.end_failed_bag();
        assert_eq!(topic.counts_of_bag().dropped, 2);
        topic.end_failed_bag();
        assert_eq!(topic.counts_of_bag().dropped, 2, "the next one holds none");
        topic.mark_loss_synced();
        topic.counts.dropped = 7;
        topic.end_failed_bag();
        assert_eq!(topic.counts_of_bag().dropped, 4);
    }
}
