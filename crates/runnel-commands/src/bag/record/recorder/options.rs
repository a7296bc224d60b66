//! What is recorded, and how.

use std::collections::BTreeMap;
use std::time::Duration;

use runnel::core::schema::TypeName;
use runnel::{QoS, SubscriptionOptions};

use crate::bag::record::sink::SinkOptions;
use crate::bag::record::topic_selection::TopicSelection;

/// What to record, and how.
pub struct Options {
    /// The topics.
    pub topics: TopicSelection,
    /// The types of topics that have one before there is a publisher.
    pub static_topics: BTreeMap<String, TypeName>,
    /// Messages of a topic that may wait to be written.
    pub depth: usize,
    /// QoS that is requested of topics, instead of the best that their publishers offer.
    pub qos_overrides: BTreeMap<String, QoS>,
    /// How messages are stored.
    pub sink: SinkOptions,
    /// How much may be lost if this process or its computer fails.
    pub max_loss: Duration,
    /// Whether times are those on `/clock`. Nothing is recorded before the first.
    pub sim_time: bool,
    /// Whether topics that appear later are recorded.
    pub discovery: bool,
    /// Requests datagrams from ROS 1 publishers.
    pub udp: bool,
}

impl Options {
    /// The QoS that is requested of a topic. Each publisher is asked for the best that it offers, unless the user requests
    /// something.
    pub fn qos(&self, topic: &str) -> QoS {
        let best = || QoS::keep_last(self.depth).reliability_best_available().durability_best_available();
        self.qos_overrides.get(topic).copied().unwrap_or_else(best)
    }

    /// The options of the subscription to a topic.
    pub fn of_subscription(&self, topic: &str) -> SubscriptionOptions {
        let options = SubscriptionOptions::from(self.qos(topic)).strict_qos();
        if self.udp { options.udpros() } else { options }
    }

    /// Those of a subscription of a known type. It does not warn of publishers that offer less, since another one replaces
    /// it then, unless the user requests its QoS.
    pub fn of_typed_subscription(&self, topic: &str) -> SubscriptionOptions {
        let options = self.of_subscription(topic);
        if self.qos_overrides.contains_key(topic) {
            options
        } else {
            options.incompatible_qos_callback(|_| {})
        }
    }
}
