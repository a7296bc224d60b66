//! Events of a recording, published as rosbag2's recorder does: which bag follows which, and which messages are lost.

use std::collections::BTreeMap;
use std::path::{Path, absolute};

use runnel::msgs::rosbag2_interfaces::msg::{
    MessagesLostEvent, MessagesLostEventTopicStat as TopicStat, WriteSplitEvent,
};
use runnel::{Node, Publisher, QoS};

use super::recorder::Progress;
use super::sink::{Counts, Split};
use crate::error::CliError;

/// The topics.
pub const WRITE_SPLIT: &str = "/events/write_split";
pub const MESSAGES_LOST: &str = "/events/rosbag2_messages_lost";

/// Events that wait for their subscribers.
const DEPTH: usize = 10;

/// The publishers of the events.
pub struct Events {
    node_name: String,
    splits: Publisher<WriteSplitEvent>,
    losses: Publisher<MessagesLostEvent>,
    reported: Losses,
}

/// The losses that were reported, by topic.
#[derive(Debug, Default)]
struct Losses(BTreeMap<String, Loss>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Loss {
    in_transport: u64,
    in_recorder: u64,
}

impl Events {
    /// Publishers of this node.
    ///
    /// # Errors
    /// When they cannot be created.
    pub fn new(node: &Node) -> Result<Self, CliError> {
        Ok(Self {
            node_name: node.full_name().to_owned(),
            splits: node.create_publisher(WRITE_SPLIT, QoS::keep_last(DEPTH))?,
            losses: node.create_publisher(MESSAGES_LOST, QoS::keep_last(DEPTH))?,
            reported: Losses::default(),
        })
    }

    /// Publishes that one bag followed another.
    pub fn publish_split(&self, Split { closed, opened }: &Split) {
        let event = WriteSplitEvent {
            closed_file: full_path(closed),
            opened_file: full_path(opened),
            node_name: self.node_name.clone(),
        };
        // The context ends: nobody is left to be notified.
        _ = self.splits.publish(event);
    }

    /// Publishes the losses since the last call, if there are any.
    pub fn publish_losses(&mut self, progress: &Progress) {
        let messages_lost_statistics = self.reported.update(&progress.topics);
        if !messages_lost_statistics.is_empty() {
            let event = MessagesLostEvent { node_name: self.node_name.clone(), messages_lost_statistics };
            // As above.
            _ = self.losses.publish(event);
        }
    }
}

impl Losses {
    /// The losses that are new, by topic.
    fn update(&mut self, topics: &BTreeMap<String, Counts>) -> Vec<TopicStat> {
        let mut new = Vec::new();
        for (name, counts) in topics {
            let now = Loss {
                in_transport: counts.lost(),
                in_recorder: counts.dropped.saturating_add(counts.refused),
            };
            let before = self.0.get(name).copied().unwrap_or_default();
            let statistics = TopicStat {
                topic_name: name.clone(),
                messages_lost_in_transport: now.in_transport.saturating_sub(before.in_transport),
                messages_lost_in_recorder: now.in_recorder.saturating_sub(before.in_recorder),
            };
            if statistics.messages_lost_in_transport > 0 || statistics.messages_lost_in_recorder > 0 {
                // What is lost in transport is less once it turns out that the recorder has dropped it.
                let max = Loss {
                    in_transport: now.in_transport.max(before.in_transport),
                    in_recorder: now.in_recorder.max(before.in_recorder),
                };
                self.0.insert(name.clone(), max);
                new.push(statistics);
            }
        }
        new
    }
}

fn full_path(path: &Path) -> String {
    absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_is_reported_once() {
        let topics = |missing, dropped| {
            let counts = Counts { missing, dropped, messages: 9, ..Counts::default() };
            BTreeMap::from([("/a".to_owned(), counts), ("/b".to_owned(), Counts::default())])
        };
        let mut losses = Losses::default();
        let mut update = |missing, dropped| {
            let new = losses.update(&topics(missing, dropped)).into_iter();
            new.map(|one| (one.topic_name, one.messages_lost_in_transport, one.messages_lost_in_recorder))
                .collect::<Vec<_>>()
        };
        assert_eq!(update(0, 0), []);
        assert_eq!(update(3, 0), [("/a".to_owned(), 3, 0)]);
        assert_eq!(update(3, 0), []);
        assert_eq!(update(5, 2), [("/a".to_owned(), 0, 2)], "the gap is the recorder's own");
        assert_eq!(update(7, 2), [("/a".to_owned(), 2, 0)]);
    }
}
