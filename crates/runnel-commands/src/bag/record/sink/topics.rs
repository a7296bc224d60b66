//! The recorded topics.

use std::ops::{Index, IndexMut};

use runnel_bag::Metadata;

use super::loss::Counts;
use super::topic::Topic;

/// Name of the metadata that hold the counts of each topic.
pub const LOSS: &str = "runnel.loss";

/// The topics of a recording, by position.
#[derive(Default)]
pub struct RecordedTopics(Vec<Topic>);

impl RecordedTopics {
    /// Adds a topic behind the others.
    pub fn add(&mut self, topic: Topic) {
        self.0.push(topic);
    }

    /// The names and numbers of the topics that are subscribed.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        let followed = self.0.iter().filter(|topic| !topic.is_abandoned);
        followed.map(|topic| (topic.name.as_str(), topic.counts))
    }

    /// The numbers that no earlier bag holds, as metadata of a complete bag.
    pub fn loss(&self) -> Metadata {
        let followed = self.0.iter().filter(|topic| !topic.is_abandoned);
        let rows = followed.map(|topic| (topic.name.clone(), topic.counts_of_bag().to_json().to_string()));
        Metadata { name: LOSS.to_owned(), values: rows.collect() }
    }

    /// The losses that no earlier bag holds, as metadata of an unfinished bag.
    pub fn loss_until_now(&self) -> Metadata {
        let followed = self.0.iter().filter(|topic| !topic.is_abandoned);
        let counts = followed.map(|topic| (topic.name.clone(), topic.counts_of_bag()));
        let rows = counts.filter(|(_, counts)| counts.absent() > 0);
        let rows = rows.map(|(name, counts)| (name, counts.loss_to_json().to_string()));
        Metadata { name: LOSS.to_owned(), values: rows.collect() }
    }

    /// The bag is complete.
    pub fn end_bag(&mut self) {
        self.0.iter_mut().for_each(Topic::end_bag);
    }

    /// Whether nothing more of any topic is recorded.
    pub fn are_complete(&self) -> bool {
        self.0.iter().all(|topic| topic.is_abandoned || topic.is_complete())
    }

    /// All messages that were written are safe.
    pub fn mark_synced(&mut self) {
        self.0.iter_mut().for_each(Topic::mark_synced);
    }

    /// The open bag holds the losses until now, and they are safe.
    pub fn mark_loss_synced(&mut self) {
        self.0.iter_mut().for_each(Topic::mark_loss_synced);
    }

    /// The open bag cannot be continued.
    pub fn end_failed_bag(&mut self) {
        self.0.iter_mut().for_each(Topic::end_failed_bag);
    }
}

impl Index<usize> for RecordedTopics {
    type Output = Topic;

    fn index(&self, topic: usize) -> &Topic {
        &self.0[topic]
    }
}

impl IndexMut<usize> for RecordedTopics {
    fn index_mut(&mut self, topic: usize) -> &mut Topic {
        &mut self.0[topic]
    }
}
