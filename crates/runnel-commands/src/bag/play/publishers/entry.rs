//! The publisher of one topic.

use std::sync::Arc;

use runnel::core::names::DdsTopic;
use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::GrowingSink;
use runnel::{DynamicPublisher, EndpointType, PublisherOptions, QoS, Ros2Graph};
use runnel_bridge::StaticTransforms;

use crate::bag::play::conversion::Conversion;
use crate::bag::play::played_graphs::PlayedGraph;

/// The publisher of one topic.
pub struct Entry {
    /// Whose messages it publishes.
    pub key: Key,
    /// The publisher.
    pub publisher: DynamicPublisher,
    /// The static transforms until now: late subscribers get those of one message only.
    merged: Option<StaticTransforms>,
    buffer: Vec<u8>,
}

/// Channels of one publisher: generation and topic, type, and its MD5 sum or hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    is_ros2: bool,
    topic: String,
    type_name: String,
    sum: Option<String>,
}

impl Key {
    /// The key of the messages of a topic with this type.
    pub fn of(topic: String, schema: &Schema) -> Self {
        let (is_ros2, type_name, sum) = match schema.generation {
            Generation::Ros1 => (false, schema.def.name.to_string(), Some(schema.md5.clone())),
            Generation::Ros2 => (true, schema.def.ros2_name.clone(), schema.rihs01()),
        };
        Self { is_ros2, topic, type_name, sum }
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The generation of the messages.
    pub fn generation(&self) -> Generation {
        if self.is_ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }
}

impl Entry {
    /// Creates the publisher.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn create(graph: &PlayedGraph, key: Key, schema: &Arc<Schema>, qos: QoS) -> Result<Self, String> {
        let options = PublisherOptions::from(qos).keep_header_seq();
        let publisher = graph.node.create_dynamic_publisher(&key.topic, schema, options);
        let publisher = publisher.map_err(|error| error.to_string())?;
        let merged = StaticTransforms::new(&key.topic, schema);
        Ok(Self { key, publisher, merged, buffer: Vec::new() })
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// Why that is not possible.
    pub fn publish(&mut self, message: &[u8], conversion: Option<&mut Conversion>) -> Result<(), String> {
        let is_converted = conversion.is_some();
        if let Some(conversion) = conversion {
            conversion.convert(self.publisher.topic(), message, &mut self.buffer)?;
        }
        if let Some(merged) = &mut self.merged {
            if !is_converted {
                self.buffer.clear();
                self.buffer.extend_from_slice(message);
            }
            // A message that cannot be read is passed on as it is.
            _ = merged.merge(&mut self.buffer);
        }
        let is_in_buffer = is_converted || self.merged.is_some();
        let bytes = if is_in_buffer { self.buffer.as_slice() } else { message };
        let published = self.publisher.publish_bytes(|out: &mut GrowingSink| out.extend_from_slice(bytes));
        published.map_err(|error| error.to_string())
    }

    /// The number of subscriptions in ROS 2 that request no more than is offered.
    pub fn subscriptions(&self, graph: &Ros2Graph) -> usize {
        let (topic, type_name) = (self.publisher.topic(), &self.publisher.schema().def.ros2_name);
        let offered = self.publisher.qos();
        let ends = graph.endpoints.iter().filter(|end| {
            end.endpoint_type == EndpointType::Subscription
                && end.ros_topic() == Some(DdsTopic::Topic(topic))
                && end.ros_type() == *type_name
                && end.qos.incompatible_with(&offered).is_empty()
        });
        ends.count()
    }
}
