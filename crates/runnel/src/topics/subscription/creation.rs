//! Creation of subscriptions, one function for each kind of callback.

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::Schema;
use runnel_core::wire::Wire;

use super::{RawMessage, Subscription, Takes};
use crate::data::{Delivery, Kept};
use crate::error::Error;
use crate::node::Node;
use crate::node::callback_output::{CallbackOutput, ErrorLog};
use crate::node::options::SubscriptionOptions;
use crate::topics::borrowed::Borrowed;
use crate::topics::message_info::MessageInfo;
use crate::types::announced::Topic;
use crate::types::type_mapping::TypeMapping;

impl Node {
    /// Creates a subscription to a topic. `callback` gets each message by reference. A message from this process is the
    /// publisher's own. A message from another process is decoded into memory that is reused for the next one. An error that
    /// the callback returns is logged.
    ///
    /// ```no_run
    /// use runnel::msgs::sensor_msgs::msg::Imu;
    ///
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let _imu = node.create_subscription("imu", 10, |imu: &Imu| println!("{}", imu.linear_acceleration.x))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the name is not valid, the node uses the topic with another type, or the ROS 1 master refuses.
    pub fn create_subscription<M: Message, O: CallbackOutput>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&M) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        self.subscribe_to_values(topic, options, false, move |message, _| errors.note(callback(message)))
    }

    /// As [`Node::create_subscription`]. The callback also gets each message's metadata: source and reception time, publisher and
    /// sequence number.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_subscription_with_info<M: Message, O: CallbackOutput>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&M, &MessageInfo) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        self.subscribe_to_values(topic, options, true, move |message, info| {
            if let Some(info) = info {
                errors.note(callback(message, info));
            }
        })
    }

    /// Creates a subscription whose callback gets a view: arrays are borrowed from the received bytes, and so is text unless
    /// another process could write it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription<M: Message, O: CallbackOutput>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        self.subscribe_to_views::<M>(topic, options, false, move |message, _| errors.note(callback(message)))
    }

    /// As [`Node::create_view_subscription`]. The callback also gets each message's metadata.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription_with_info<M: Message, O: CallbackOutput>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>, &MessageInfo) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        self.subscribe_to_views::<M>(topic, options, true, move |message, info| {
            if let Some(info) = info {
                errors.note(callback(message, info));
            }
        })
    }

    /// Creates a subscription whose callback gets each message as a [`Borrowed`], which it may keep without a copy.
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it. A message from this process is
    /// serialized, as for other processes, and not copied after that.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_borrowing_subscription<M: Message, O: CallbackOutput>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(Borrowed<M>) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        let topic = self.topic_of::<M>(topic)?;
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            if let Delivery::Bytes { bytes, from, info, queue } = delivery {
                from.read_view::<M>(bytes.bytes())?;
                errors.note(callback(Borrowed::new(Kept::take(bytes, (from, info), queue))));
            }
            Ok(())
        })
    }

    /// Creates a subscription to a topic of any type, or of the type of `schema`. `callback` gets the bytes and the publisher's
    /// description of their type: see [`RawMessage::decode`].
    ///
    /// Without a schema, it matches ROS 2 publishers of any type, also several types on one topic. If a publisher
    /// offers less than requested, the request to it is lowered to the offer, unless the options have
    /// [`strict_qos`](SubscriptionOptions::strict_qos).
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_raw_subscription<O: CallbackOutput>(
        &self,
        topic: &str,
        schema: Option<&Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&RawMessage<'_>) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let (options, mut errors) = (options.into(), self.errors_of(topic)?);
        let topic = match schema {
            Some(schema) => self.topic_of_mapping(topic, &TypeMapping::of(&Arc::new(schema.clone())))?,
            None => {
                let strict_qos = options.strict_qos.then_some(options.qos);
                Topic { strict_qos, ..Topic::of_any(self.topic_name(topic)?) }
            }
        };
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            if let Delivery::Bytes { bytes, from, info, .. } = delivery {
                errors.note(callback(&RawMessage::new(bytes, from, info)));
            }
            Ok(())
        })
    }

    /// Creates a subscription to a topic whose type is known only at run time. `callback` gets each message with the definition
    /// of `schema`, from either ROS generation.
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_dynamic_subscription<O: CallbackOutput>(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&DynamicMessage) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        let take = move |message: &_, _: Option<&_>| errors.note(callback(message));
        self.subscribe_to_dynamic(topic, schema, (options.into(), false), take)
    }

    /// As [`Node::create_dynamic_subscription`]. The callback also gets each message's metadata.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_dynamic_subscription_with_info<O: CallbackOutput>(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&DynamicMessage, &MessageInfo) -> O + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mut errors = self.errors_of(topic)?;
        self.subscribe_to_dynamic(topic, schema, (options.into(), true), move |message, info| {
            if let Some(info) = info {
                errors.note(callback(message, info));
            }
        })
    }

    /// The log of the errors of a subscription's callback.
    fn errors_of(&self, topic: &str) -> Result<ErrorLog, Error> {
        Ok(ErrorLog::new(self.logger(), format_args!("callback of topic {}", self.topic_name(topic)?)))
    }

    /// Creates a subscription whose callback gets messages by reference. Metadata is recorded only if `info` is set.
    fn subscribe_to_values<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        info: bool,
        mut callback: impl FnMut(&M, Option<&MessageInfo>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let (topic, takes) =
            (self.topic_of::<M>(topic)?, Takes { by_reference: Some(TypeId::of::<M>()), info });
        let mut owned = M::default();
        self.subscribe(&topic, options, takes, move |delivery| {
            let info = info_of(&delivery, info);
            match delivery {
                Delivery::Shared { message, .. } => {
                    if let Some(message) = message.downcast_ref() {
                        callback(message, info.as_ref());
                    }
                }
                Delivery::Bytes { bytes, from, .. } => {
                    from.read_into(&mut owned, bytes.bytes())?;
                    callback(&owned, info.as_ref());
                }
            }
            Ok(())
        })
    }

    fn subscribe_to_views<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        info: bool,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>, Option<&MessageInfo>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let (topic, takes) =
            (self.topic_of::<M>(topic)?, Takes { by_reference: Some(TypeId::of::<M>()), info });
        self.subscribe(&topic, options, takes, move |delivery| {
            let info = info_of(&delivery, info);
            match delivery {
                Delivery::Shared { message, .. } => {
                    if let Some(message) = message.downcast_ref::<M>() {
                        callback(message.view(), info.as_ref());
                    }
                }
                Delivery::Bytes { bytes, from, .. } => {
                    callback(from.read_view::<M>(bytes.bytes())?, info.as_ref());
                }
            }
            Ok(())
        })
    }

    fn subscribe_to_dynamic(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        (options, info): (SubscriptionOptions, bool),
        mut callback: impl FnMut(&DynamicMessage, Option<&MessageInfo>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mapping = TypeMapping::of(schema);
        let topic = self.topic_of_mapping(topic, &mapping)?;
        self.subscribe(&topic, options, Takes { by_reference: None, info }, move |delivery| {
            let info = info_of(&delivery, info);
            if let Delivery::Bytes { bytes, from, .. } = delivery {
                callback(&mapping.decode(bytes.bytes(), from.encoding)?, info.as_ref());
            }
            Ok(())
        })
    }
}

/// Returns a message's metadata if it is wanted.
fn info_of(delivery: &Delivery<'_>, is_wanted: bool) -> Option<MessageInfo> {
    if !is_wanted {
        return None;
    }
    match delivery {
        Delivery::Shared { info, .. } => info.map(|(from, info)| MessageInfo::new(from, info, true)),
        Delivery::Bytes { bytes, from, info, .. } => {
            Some(MessageInfo::new(from, *info, bytes.is_intra_process()))
        }
    }
}
