//! Events of a recording, published as rosbag2's recorder does: which bag follows which, and which messages are lost.

use std::collections::BTreeMap;
use std::path::{Path, absolute};
use std::time::{Duration, Instant};

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

/// Highest rate at which losses may be requested, as in `ros2 bag record`.
const MOST_RATE: f64 = 1000.0;

/// Events that wait for their subscribers.
const DEPTH: usize = 10;

/// How often losses are published; `None` for never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPeriod(Option<Duration>);

/// The publishers of the events.
pub struct Events {
    node_name: String,
    splits: Publisher<WriteSplitEvent>,
    losses: Publisher<MessagesLostEvent>,
    loss_period: LossPeriod,
    /// When losses were published last.
    published: Option<Instant>,
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
    pub fn new(node: &Node, loss_period: LossPeriod) -> Result<Self, CliError> {
        Ok(Self {
            node_name: node.full_name().to_owned(),
            splits: node.create_publisher(WRITE_SPLIT, QoS::keep_last(DEPTH))?,
            losses: node.create_publisher(MESSAGES_LOST, QoS::keep_last(DEPTH))?,
            loss_period,
            published: None,
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

    /// Publishes the losses since the last time if it is time to do so, and there are any.
    pub fn publish_losses(&mut self, progress: impl FnOnce() -> Progress) {
        let Self { loss_period: LossPeriod(Some(period)), published, .. } = self else { return };
        if published.is_some_and(|published| published.elapsed() < *period) {
            return;
        }
        *published = Some(Instant::now());
        let progress = progress();
        let messages_lost_statistics = self.reported.update(&progress.topics);
        if !messages_lost_statistics.is_empty() {
            let event = MessagesLostEvent { node_name: self.node_name.clone(), messages_lost_statistics };
            // As above.
            _ = self.losses.publish(event);
        }
    }
}

impl Default for LossPeriod {
    fn default() -> Self {
        Self(Some(Duration::from_secs(1)))
    }
}

impl LossPeriod {
    /// The period of a rate as `ros2 bag record` takes it: 0 is never.
    ///
    /// # Errors
    /// When the text is no such rate.
    pub fn of_rate(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(0.0) => Ok(Self(None)),
            // A period that is too long is never over.
            Ok(rate) if rate > 0.0 && rate <= MOST_RATE => {
                Ok(Self(Duration::try_from_secs_f64(1.0 / rate).ok()))
            }
            _ => Err(format!("expected a number from 0 to {MOST_RATE}")),
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
    fn losses_have_a_period() {
        let period = |text: &str| LossPeriod::of_rate(text).ok().map(|LossPeriod(period)| period);
        assert_eq!((period("4"), period("0")), (Some(Some(Duration::from_millis(250))), Some(None)));
        for text in ["-1", "1001", "nan", "x", ""] {
            assert_eq!(period(text), None, "{text}");
        }
    }

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
