//! The publishers of `/clock`.

use std::collections::BTreeSet;
use std::time::Duration;

use runnel::core::time::{Instant, Time};
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{Publisher, QoS};
use runnel_bag::Channel;

use super::played_graphs::PlayedGraphs;
use crate::error::CliError;

/// When `/clock` is published.
#[derive(Clone, Debug, Default)]
pub struct ClockOptions {
    /// Messages in a second, if it is published regularly.
    pub rate: Option<f64>,
    /// Also before each message of these topics of the bag.
    pub topics: BTreeSet<String>,
    /// Also before each message.
    pub all_topics: bool,
}

/// A publisher for each graph.
pub struct Clocks {
    publishers: Vec<Publisher<Clock>>,
    period: Option<Duration>,
    next: Instant,
    /// The latest time that was published regularly.
    latest: u64,
    /// By channel, whether its messages publish the time.
    triggers: Vec<bool>,
}

impl ClockOptions {
    /// Whether there is a clock.
    pub fn is_used(&self) -> bool {
        self.rate.is_some() || self.all_topics || !self.topics.is_empty()
    }

    fn is_triggered_by(&self, channel: &Channel) -> bool {
        self.all_topics || self.topics.contains(&channel.topic)
    }
}

impl Clocks {
    /// Creates the publishers, if there is a clock.
    ///
    /// # Errors
    /// When one cannot be created.
    pub fn create(
        graphs: &PlayedGraphs,
        options: &ClockOptions,
        channels: &[Channel],
    ) -> Result<Self, CliError> {
        let graphs = graphs.all().filter(|_| options.is_used());
        let publishers =
            graphs.map(|graph| graph.node.create_publisher::<Clock>("/clock", QoS::keep_last(1)));
        Ok(Self {
            publishers: publishers.collect::<Result<_, _>>()?,
            period: options.rate.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            next: Instant::default(),
            latest: 0,
            triggers: channels.iter().map(|channel| options.is_triggered_by(channel)).collect(),
        })
    }

    /// When the next time is to be published, if that is regular.
    pub fn next(&self) -> Option<Instant> {
        self.period.map(|_| self.next)
    }

    /// The time may go backwards now.
    pub fn seek(&mut self) {
        self.latest = 0;
    }

    /// Publishes the time of the bag, if it is time to do so. It stands still rather than go backwards: a message may be
    /// found to wait for the rate control topic after it was due.
    ///
    /// # Errors
    /// When it cannot be published.
    pub fn publish_regularly(&mut self, now: Instant, log_time: u64) -> Result<(), CliError> {
        match self.period.filter(|_| now >= self.next) {
            None => Ok(()),
            Some(period) => {
                self.next = now + period;
                self.latest = self.latest.max(log_time);
                self.publish(self.latest)
            }
        }
    }

    /// Publishes the time of the bag before a message of this channel, if its topic is one that does so.
    ///
    /// # Errors
    /// When it cannot be published.
    pub fn publish_before(&self, channel: usize, log_time: u64) -> Result<(), CliError> {
        if self.triggers.get(channel) == Some(&true) { self.publish(log_time) } else { Ok(()) }
    }

    fn publish(&self, log_time: u64) -> Result<(), CliError> {
        let clock = Time::from_nanos(i64::try_from(log_time).unwrap_or(i64::MAX));
        for publisher in &self.publishers {
            publisher.publish(Clock { clock })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_is_triggered_by_its_topics() {
        let channel = |topic: &str| Channel { topic: topic.into(), ..Channel::default() };
        let some = ClockOptions { topics: ["/scan".to_owned()].into(), ..ClockOptions::default() };
        assert!(some.is_used() && some.is_triggered_by(&channel("/scan")));
        assert!(!some.is_triggered_by(&channel("/odom")));
        let all = ClockOptions { all_topics: true, ..ClockOptions::default() };
        assert!(all.is_used() && all.is_triggered_by(&channel("/odom")));
        assert!(!ClockOptions::default().is_used());
    }
}
