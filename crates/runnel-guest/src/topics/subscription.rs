//! Subscriptions.

use std::fmt;

use runnel_core::Message;
use runnel_core::qos::{History, QoS};
use runnel_core::wire::{self, DecodeError, Encoding, Wire, cdr};

use super::message_info::MessageInfo;
use super::qos;
use crate::abi::{Event, Severity};
use crate::encoding::{decode_into, number};
use crate::entity::Entity;
use crate::error::Error;
use crate::host::{self, topics};
use crate::node::Node;
use crate::types::Type;

/// A subscription to a topic. Dropping it unregisters it, and drops the messages that wait for its callback.
#[must_use = "a subscription is unregistered when it is dropped: bind it to a name, `let _chatter = ...`, not `let _ = ...`"]
pub struct Subscription {
    entity: Entity,
    topic: String,
    qos: QoS,
    _node: Node,
}

impl Node {
    /// Creates a subscription to a topic. `callback` gets each message by reference, in memory that is reused for the next
    /// one.
    ///
    /// # Errors
    /// If the name is not valid, the node uses the topic with another type, or the manifest does not allow it.
    pub fn create_subscription<M: Message>(
        &self,
        topic: &str,
        qos: impl Into<QoS>,
        mut callback: impl FnMut(&M) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.create_subscription_with_info(topic, qos, move |message, _| callback(message))
    }

    /// As [`Node::create_subscription`]. The callback also gets each message's metadata.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_subscription_with_info<M: Message>(
        &self,
        topic: &str,
        qos: impl Into<QoS>,
        mut callback: impl FnMut(&M, &MessageInfo) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let (encoding, mut message) = (self.encoding(), M::default());
        self.subscribe::<M>(topic, qos.into(), move |event, bytes| {
            decode_into(&mut message, encoding, bytes)?;
            callback(&message, &MessageInfo::new(event));
            Ok(())
        })
    }

    /// Creates a subscription whose callback gets a view: arrays and text are borrowed from the received bytes.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription<M: Message>(
        &self,
        topic: &str,
        qos: impl Into<QoS>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let encoding = self.encoding();
        self.subscribe::<M>(topic, qos.into(), move |_, bytes| {
            callback(view::<M>(encoding, bytes)?);
            Ok(())
        })
    }

    /// Creates a subscription. Messages that `handle` cannot read are logged.
    fn subscribe<M: Message>(
        &self,
        topic: &str,
        qos: QoS,
        mut handle: impl FnMut(&Event, &[u8]) -> Result<(), DecodeError> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let (encoding, record, node) = (self.encoding(), qos::record(&qos), self.handle());
        let entity = Type::of_message::<M>(encoding).create(|type_name| {
            topics::create_subscription(node, topic, type_name, number(encoding), &record)
        })?;
        let topic = self.resolve(topic)?;
        let name = topic.clone();
        let callback = move |event: &Event, bytes: &[u8]| {
            if let Err(why) = handle(event, bytes) {
                host::log(node, Severity::WARN, &format!("topic {name}: a message cannot be read: {why}"));
            }
        };
        let depth = if qos.history == History::KeepAll { usize::MAX } else { qos.depth };
        let entity = Entity::subscription(entity, Box::new(callback), depth);
        Ok(Subscription { entity, topic, qos, _node: self.clone() })
    }
}

fn view<M: Message>(encoding: Encoding, bytes: &[u8]) -> Result<<M as Wire>::View<'_>, DecodeError> {
    if encoding.is_ros1() { wire::decode_view::<M>(bytes) } else { cdr::decode_view::<M>(bytes) }
}

impl Subscription {
    /// The topic's absolute name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The number of connected publishers.
    pub fn publisher_count(&self) -> usize {
        topics::publisher_count(self.entity.handle()).map_or(0, |count| count as usize)
    }

    /// The requested QoS.
    pub fn qos(&self) -> QoS {
        self.qos
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("topic", &self.topic).finish_non_exhaustive()
    }
}
