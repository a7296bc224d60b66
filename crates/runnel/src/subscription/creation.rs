//! Subscriptions of each kind, by what their callbacks get.

use std::any::TypeId;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::Schema;
use runnel_core::wire::Wire;

use super::{RawMessage, Subscription, Takes};
use crate::announced::Topic;
use crate::borrowed::Borrowed;
use crate::data::{Delivery, Kept};
use crate::error::Error;
use crate::forms::Forms;
use crate::message_info::MessageInfo;
use crate::node::Node;
use crate::options::SubscriptionOptions;

impl Node {
    /// Subscribes to a topic. `callback` gets a reference: to the publisher's own message if that is of this process,
    /// and otherwise to one whose memory is used again for the next.
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
    /// When the name is not valid, the node subscribes to the topic with another type, or the master of ROS 1 refuses.
    pub fn create_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&M) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_values(topic, options, false, move |message, _| callback(message))
    }

    /// As [`Node::create_subscription`]. The callback also gets what is known of each message: when it was published, when it came, and
    /// from which node.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_subscription_with_info<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&M, &MessageInfo) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_values(topic, options, true, move |message, info| {
            if let Some(info) = info {
                callback(message, info);
            }
        })
    }

    /// Subscribes to a topic with a callback that gets a view: arrays borrowed from the received bytes, and so is text unless
    /// another process could write it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_views::<M>(topic, options, false, move |message, _| callback(message))
    }

    /// As [`Node::create_view_subscription`]. The callback also gets what is known of each message.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription_with_info<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>, &MessageInfo) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_views::<M>(topic, options, true, move |message, info| {
            if let Some(info) = info {
                callback(message, info);
            }
        })
    }

    /// Subscribes to a topic with a callback that gets each message to keep, where it lies: see [`Borrowed`].
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it. One of this process is
    /// serialized, as for other processes, and is not copied after that.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_borrowing_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(Borrowed<M>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            if let Delivery::Bytes { bytes, from, info, queue } = delivery {
                from.read_view::<M>(bytes.bytes())?;
                callback(Borrowed::new(Kept::take(bytes, (from, info), queue)));
            }
            Ok(())
        })
    }

    /// Subscribes to a topic of any type, or of the type of `schema`. `callback` gets the bytes, and what the
    /// publisher says of their type: see [`RawMessage::decode`].
    ///
    /// Without a schema, publishers of ROS 2 are heard as they come, of several types if there are several, and a publisher
    /// that offers less than is asked for is heard with what it offers, unless it is asked for
    /// [exactly](SubscriptionOptions::exactly).
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_raw_subscription(
        &self,
        topic: &str,
        schema: Option<&Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&RawMessage<'_>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let options = options.into();
        let topic = match schema {
            Some(schema) => self.topic_of_forms(topic, &Forms::of(&Arc::new(schema.clone())))?,
            None => {
                let exactly = options.exactly.then_some(options.qos);
                Topic { exactly, ..Topic::of_any(self.resolve(topic)?) }
            }
        };
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            if let Delivery::Bytes { bytes, from, info, .. } = delivery {
                callback(&RawMessage::new(bytes, from, info));
            }
            Ok(())
        })
    }

    /// Subscribes to a topic of a type that is known only while the program runs. `callback` gets each message in the form of
    /// `schema`, whichever generation of ROS it came from.
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_dynamic_subscription(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&DynamicMessage) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_dynamic(topic, schema, (options.into(), false), move |message, _| callback(message))
    }

    /// As [`Node::create_dynamic_subscription`]. The callback also gets what is known of each message.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_dynamic_subscription_with_info(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(&DynamicMessage, &MessageInfo) + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_to_dynamic(topic, schema, (options.into(), true), move |message, info| {
            if let Some(info) = info {
                callback(message, info);
            }
        })
    }

    /// Nothing is noted of messages unless `info` asks for it.
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
            let known = info_of(&delivery, info);
            match delivery {
                Delivery::Shared { message, .. } => {
                    if let Some(message) = message.downcast_ref() {
                        callback(message, known.as_ref());
                    }
                }
                Delivery::Bytes { bytes, from, .. } => {
                    from.read_into(&mut owned, bytes.bytes())?;
                    callback(&owned, known.as_ref());
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
            let known = info_of(&delivery, info);
            match delivery {
                Delivery::Shared { message, .. } => {
                    if let Some(message) = message.downcast_ref::<M>() {
                        callback(message.view(), known.as_ref());
                    }
                }
                Delivery::Bytes { bytes, from, .. } => {
                    callback(from.read_view::<M>(bytes.bytes())?, known.as_ref());
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
        let forms = Forms::of(schema);
        let topic = self.topic_of_forms(topic, &forms)?;
        self.subscribe(&topic, options, Takes { by_reference: None, info }, move |delivery| {
            let known = info_of(&delivery, info);
            if let Delivery::Bytes { bytes, from, .. } = delivery {
                callback(&forms.decode(bytes.bytes(), from.encoding)?, known.as_ref());
            }
            Ok(())
        })
    }
}

/// What is known of a message, for callbacks that get it.
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
