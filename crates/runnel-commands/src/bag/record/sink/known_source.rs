//! A source of messages that is known: a publisher in ROS 1, all publishers of a type in ROS 2.

use runnel::core::schema::Generation;
use runnel_bag::{Channel, Encoding, Schema, SchemaLanguage};

use super::arrival::Source;
use super::known_definitions::{KnownDefinitions, TypeKey};

/// MD5 sum of a ROS 1 message without fields.
const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// A source, as [`Source`] describes it, and its channel.
#[derive(Debug)]
pub struct KnownSource {
    /// The type.
    pub key: TypeKey,
    /// Position of its channel, once it has one.
    pub channel: Option<usize>,
    definition: String,
    /// In ROS 2, one channel holds the messages of all publishers.
    publisher: Option<String>,
    is_latching: bool,
}

impl KnownSource {
    /// The source of a message.
    pub fn of(source: Source<'_>) -> Self {
        let Source { generation, type_name, sum, definition, publisher, is_latching } = source;
        let is_ros1 = generation == Generation::Ros1;
        Self {
            key: TypeKey { generation, name: type_name.to_owned(), sum: sum.to_owned() },
            definition: definition.to_owned(),
            publisher: is_ros1.then(|| publisher.to_owned()),
            is_latching: is_ros1 && is_latching,
            channel: None,
        }
    }

    /// Whether a message has this source.
    pub fn is(&self, source: Source<'_>) -> bool {
        let Source { generation, type_name, sum, publisher, is_latching, .. } = source;
        let is_same_publisher = match &self.publisher {
            Some(known) => known == publisher && self.is_latching == is_latching,
            None => true,
        };
        is_same_publisher
            && self.key.generation == generation
            && self.key.sum == sum
            && self.key.name == type_name
    }

    /// The channel, if the definition is known, and in ROS 2 the offered QoS.
    pub fn describe(
        &self,
        topic: &str,
        offered_qos: Option<&str>,
        known: &KnownDefinitions,
    ) -> Option<Channel> {
        let channel = Channel {
            topic: topic.to_owned(),
            type_name: self.key.name.clone(),
            publisher: self.publisher.clone(),
            latching: self.is_latching,
            ..Channel::default()
        };
        let sum = Some(self.key.sum.clone()).filter(|sum| !sum.is_empty());
        Some(match self.key.generation {
            Generation::Ros1 => Channel {
                encoding: Encoding::Ros1,
                schema: self.sent_definition().or_else(|| known.get(&self.key).cloned())?,
                md5: sum,
                ..channel
            },
            Generation::Ros2 => Channel {
                encoding: Encoding::Cdr,
                schema: known.get(&self.key)?.clone(),
                type_hash: sum,
                offered_qos: Some(offered_qos?.to_owned()).filter(|qos| !qos.is_empty()),
                ..channel
            },
        })
    }

    /// The definition that the publisher sent. A message without fields has an empty one.
    fn sent_definition(&self) -> Option<Schema> {
        let is_empty_message = self.key.sum == EMPTY_MD5;
        let is_sent = !self.definition.is_empty() || is_empty_message;
        is_sent
            .then(|| Schema { language: SchemaLanguage::Ros1Msg, data: self.definition.clone().into_bytes() })
    }
}
