//! Subscriptions.

mod callback;
mod raw_message;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::qos::QoS;
use runnel_core::schema::Schema;
use runnel_core::wire::{Bytes, DecodeError, Wire};
use runnel_ros1::node::Role;

use crate::announced::Topic;
use crate::borrowed::Borrowed;
use crate::callback_group::CallbackGroup;
use crate::data::{Delivery, Kept, QosEvents, SubscriptionCore, SubscriptionSpec, Taken, Unreadable};
use crate::driver::Inputs;
use crate::error::Error;
use crate::message_info::MessageInfo;
use crate::node::{Node, NodeInner};
use crate::options::SubscriptionOptions;
use crate::qos_events::{DeadlineMissed, IncompatibleQoS, LivelinessChanged, Matched};
use crate::ready::{Waitable, When};
use crate::type_mapping::TypeMapping;
pub use callback::SubscriptionCallback;
pub use raw_message::RawMessage;

/// Messages taken in one call, so that a publisher that never stops does not block the caller.
const MOST_AT_ONCE: usize = 1000;

/// Parts of a message that a subscription gets besides its bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Takes {
    /// The type of messages that it gets from this process by reference.
    pub(crate) by_reference: Option<TypeId>,
    /// Reception times and, for messages by reference, publishers.
    pub(crate) info: bool,
}

/// A subscription to a topic. It ends when dropped, together with the messages that wait for its callback.
#[must_use = "a subscription ends when it is dropped: bind it to a name, `let _chatter = ...`, not `let _ = ...`"]
pub struct Subscription {
    node: Arc<NodeInner>,
    topic: String,
    qos: QoS,
    core: Arc<SubscriptionCore>,
    inputs: Inputs,
}

impl Subscription {
    pub(crate) fn new(
        node: Arc<NodeInner>,
        topic: String,
        qos: QoS,
        core: Arc<SubscriptionCore>,
        inputs: Inputs,
    ) -> Self {
        Self { node, topic, qos, core, inputs }
    }

    /// The topic's absolute name.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Connected publishers, including those of this process.
    pub fn publisher_count(&self) -> usize {
        let ros2 = self.inputs.ros2.as_ref().map_or(0, |input| input.link_count_without(&self.inputs.ros1));
        self.inputs.ros1.link_count() + ros2 + self.node.count_publishers_of_this_process(&self.core)
    }

    /// The requested QoS, with best-available policies resolved.
    pub fn qos(&self) -> QoS {
        self.qos
    }

    /// Counts of matched publishers.
    pub fn matched_status(&self) -> Matched {
        self.core.events().statuses().matched
    }

    /// Count of deadlines within which no message arrived.
    pub fn deadline_missed_status(&self) -> DeadlineMissed {
        self.core.events().statuses().deadline
    }

    /// ROS 2 publishers that are alive and not alive.
    pub fn liveliness_changed_status(&self) -> LivelinessChanged {
        self.core.events().statuses().liveliness_changed
    }

    /// Count of publishers that offer less than requested.
    pub fn incompatible_qos_status(&self) -> IncompatibleQoS {
        self.core.events().statuses().incompatible_qos
    }

    /// Publishers in other processes of this host whose messages come by shared memory.
    pub fn shared_memory_count(&self) -> usize {
        let ros2 = self.inputs.ros2.as_ref().map_or(0, |input| input.shared_memory_count());
        self.inputs.ros1.shared_memory_count() + ros2
    }

    /// Whether a node of this name is among the publishers.
    pub(crate) fn has_publisher(&self, node: &str) -> bool {
        let output = self.node.driver().nodes.output_of(node, &self.topic);
        output.is_some_and(|output| output.has_local(&self.core)) || self.inputs.ros1.has_publisher(node)
    }

    /// True if a message waits.
    pub(crate) fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    pub(crate) fn core(&self) -> &Arc<SubscriptionCore> {
        &self.core
    }

    /// Takes the waiting messages in place of the callback, and calls `handle` with the name of the publisher. A
    /// message that it cannot read counts as malformed.
    pub(crate) fn take_each(&self, handle: impl Fn(&str, Bytes<'_>) -> Result<(), DecodeError>) {
        for message in std::iter::from_fn(|| self.core.take()).take(MOST_AT_ONCE) {
            if let Taken::Bytes(message) = message
                && let Err(error) = handle(&message.from().publisher, message.bytes())
            {
                self.core.refuse(&message, error);
            }
        }
    }

    /// Received messages, including dropped ones.
    pub fn received(&self) -> u64 {
        self.core.received()
    }

    /// Received messages that could not be read. They are logged with their publisher and field.
    pub fn malformed(&self) -> u64 {
        self.core.malformed()
    }

    /// Lost messages, of which at least a part never arrived: in ROS 1 those sent as datagrams (see
    /// [`SubscriptionOptions::udpros`]), in ROS 2 best-effort ones and those that a publisher did not hold any more. A
    /// loss of datagrams shows when a later message arrives, and 256 lost in a row do not show, so this is a lower
    /// bound.
    pub fn lost(&self) -> u64 {
        self.core.lost()
    }

    /// Messages dropped because the callback was slower than the publishers.
    pub fn dropped(&self) -> u64 {
        self.core.dropped()
    }
}

impl Node {
    /// Creates a subscription to a topic. `callback` gets a reference: to the publisher's own message if that is from
    /// this process, otherwise to one whose memory is reused for the next message. A second parameter gets the
    /// message's metadata: see [`SubscriptionCallback`].
    ///
    /// # Errors
    /// If the name is not valid, the node subscribes to the topic with another type, or the ROS 1 master refuses.
    pub fn create_subscription<M: Message, Args>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        callback: impl SubscriptionCallback<M, Args>,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        let takes = Takes { by_reference: Some(TypeId::of::<M>()), info: takes_info(&callback) };
        self.subscribe(&topic, options, takes, reading(callback))
    }

    /// Creates a subscription whose callback gets a view: arrays are borrowed from the received bytes, and so is text
    /// unless another process could write it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_view_subscription<M: Message>(
        &self,
        topic: &str,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl for<'a> FnMut(<M as Wire>::View<'a>) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let topic = self.topic_of::<M>(topic)?;
        let takes = Takes { by_reference: Some(TypeId::of::<M>()), info: false };
        self.subscribe(&topic, options, takes, move |delivery| match delivery {
            Delivery::Shared { message, .. } => {
                if let Some(message) = message.downcast_ref::<M>() {
                    callback(message.view());
                }
                Ok(())
            }
            Delivery::Bytes { bytes, from, .. } => {
                callback(from.read_view::<M>(bytes.bytes())?);
                Ok(())
            }
        })
    }

    /// Creates a subscription whose callback gets each message to keep in place: see [`Borrowed`].
    ///
    /// A message that cannot be read is counted and logged, and the callback does not get it. A message from this
    /// process is serialized, as for other processes, and not copied after that.
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

    /// Creates a subscription to a topic of any type, or of the type of `schema`. `callback` gets the bytes and the
    /// publisher's description of their type: see [`RawMessage::decode`].
    ///
    /// Without a schema, it matches ROS 2 publishers of any type, also several types on one topic. From a publisher
    /// that offers less than requested it requests only what is offered, unless the options have
    /// [`strict_qos`](SubscriptionOptions::strict_qos).
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
            Some(schema) => self.topic_of_mapping(topic, &TypeMapping::of(&Arc::new(schema.clone())))?,
            None => {
                let strict_qos = options.strict_qos.then_some(options.qos);
                Topic { strict_qos, ..Topic::of_any(self.topic_name(topic)?) }
            }
        };
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            if let Delivery::Bytes { bytes, from, info, .. } = delivery {
                callback(&RawMessage::new(bytes, from, info));
            }
            Ok(())
        })
    }

    /// Creates a subscription to a topic whose type is known only at run time. `callback` gets each message with the
    /// definition of `schema`, from either ROS generation.
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
        let mapping = TypeMapping::of(schema);
        let topic = self.topic_of_mapping(topic, &mapping)?;
        self.subscribe(&topic, options, Takes::default(), move |delivery| {
            if let Delivery::Bytes { bytes, from, .. } = delivery {
                callback(&mapping.decode(bytes.bytes(), from.encoding)?);
            }
            Ok(())
        })
    }

    /// Creates a subscription.
    pub(crate) fn subscribe(
        &self,
        topic: &Topic,
        options: impl Into<SubscriptionOptions>,
        takes: Takes,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        self.subscribe_in_group(topic, options, (takes, &Arc::new(CallbackGroup::new())), callback)
    }

    /// Creates a subscription whose callback belongs to a callback group.
    pub(crate) fn subscribe_in_group(
        &self,
        topic: &Topic,
        options: impl Into<SubscriptionOptions>,
        (takes, group): (Takes, &Arc<CallbackGroup>),
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let SubscriptionOptions { qos, callbacks, udpros, .. } = options.into();
        let when = self.inner.spun();
        let events = QosEvents::new(callbacks, when.clone());
        let topic = Topic { udpros, ..topic.clone() };
        self.subscribe_as((&topic, qos, takes), (when, group), events, callback)
    }

    /// Creates a subscription with any dispatch of messages and events.
    pub(crate) fn subscribe_as(
        &self,
        (topic, qos, takes): (&Topic, QoS, Takes),
        (when, group): (When, &Arc<CallbackGroup>),
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let qos = self.inner.driver().settled_for_subscription(&topic.name, qos);
        let spec = SubscriptionSpec {
            wants_info: takes.info,
            ..topic.subscription_options(qos, takes.by_reference)
        };
        let core = SubscriptionCore::in_group(spec, (when, group), events, callback);
        let input = self.inner.driver().add_subscription(self.inner.key, topic, qos, &core)?;
        let subscription = Subscription::new(Arc::clone(&self.inner), topic.name.clone(), qos, core, input);
        self.inner.wait_topic_registered(Role::Subscriber, topic)?;
        Ok(subscription)
    }
}

/// Whether a callback takes metadata.
fn takes_info<M, Args, C: SubscriptionCallback<M, Args>>(_: &C) -> bool {
    C::TAKES_INFO
}

/// A function that reads each message for a callback.
fn reading<M: Message, Args, C: SubscriptionCallback<M, Args>>(
    mut callback: C,
) -> impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static {
    let mut message = M::default();
    move |delivery| {
        match delivery {
            Delivery::Shared { message, info } => {
                let info = info.map(|(from, info)| MessageInfo::new(from, info, true));
                if let Some(message) = message.downcast_ref() {
                    callback.call(message, info.as_ref());
                }
            }
            Delivery::Bytes { bytes, from, info, .. } => {
                from.read_into(&mut message, bytes.bytes())?;
                let info = C::TAKES_INFO.then(|| MessageInfo::new(from, info, bytes.is_intra_process()));
                callback.call(&message, info.as_ref());
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.core.end();
        self.node.remove_subscription(&self.topic, &self.core);
        self.core.events().forget();
        // Its callback may own its own node, and would then stay in the ready queue for ever.
        drop(self.node.context.shared.ready.take(Arc::as_ptr(&self.core).cast()));
    }
}
