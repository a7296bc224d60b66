//! What is recorded, and how.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::{Graphs, QoS, SubscriptionOptions};

use crate::bag::record::sink::SinkOptions;
use crate::bag::record::topic_selection::TopicSelection;
use crate::error::CliError;
use crate::types::Types;

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
    /// The types of topics that have one before there is a publisher, in the form of these graphs. `load` returns the types
    /// known here. Others are logged: their topics are subscribed once there is a publisher.
    ///
    /// # Errors
    /// When the known types cannot be read.
    pub fn static_types(
        &self,
        graphs: Graphs,
        load: impl Fn() -> Result<Types, CliError>,
    ) -> Result<BTreeMap<String, Arc<Schema>>, CliError> {
        if self.static_topics.is_empty() {
            return Ok(BTreeMap::new());
        }
        let types = load()?;
        let generation = if graphs == Graphs::Ros1 { Generation::Ros1 } else { Generation::Ros2 };
        let schema = |(topic, name): (&String, &TypeName)| {
            let schema = types.library().message_in(generation, name);
            let schema =
                schema.inspect_err(|why| log::warn!("topic {topic} has no type before its publisher: {why}"));
            Some((topic.clone(), schema.ok()?))
        };
        Ok(self.static_topics.iter().filter_map(schema).collect())
    }

    /// The options of the subscription to a topic. Each publisher is asked for the best that it offers, unless the user
    /// requests something.
    pub fn of_subscription(&self, topic: &str) -> SubscriptionOptions {
        let best = || QoS::keep_last(self.depth).reliability_best_available().durability_best_available();
        let qos = self.qos_overrides.get(topic).copied().unwrap_or_else(best);
        let options = SubscriptionOptions::from(qos).strict_qos();
        if self.udp { options.udpros() } else { options }
    }
}
