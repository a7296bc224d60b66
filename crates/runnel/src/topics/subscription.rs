//! Subscriptions.

mod bytes;
mod creation;
mod publishers;
mod raw_message;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::wire::Bytes;
use runnel_ros1::node::Role;

use crate::callback_group::{CallbackGroup, ExclusiveGroup};
use crate::data::{Delivery, LinkInfo, QosEvents, SubscriptionCore, SubscriptionSpec, Taken, Unreadable};
use crate::driver::Inputs;
use crate::error::Error;
use crate::node::options::SubscriptionOptions;
use crate::node::{Node, NodeInner};
use crate::qos_events::{DeadlineMissed, IncompatibleQoS, LivelinessChanged, Matched};
use crate::ready::{Dispatch, Waitable};
use crate::types::announced::Topic;
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

/// A subscription to a topic. Dropping it unregisters it, and drops the messages that wait for its callback.
#[must_use = "a subscription is unregistered when it is dropped: bind it to a name, `let _chatter = ...`, not `let _ = ...`"]
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

    /// The number of connected publishers, including those of this process.
    pub fn publisher_count(&self) -> usize {
        publishers::count(&self.node, &self.inputs, &self.core)
    }

    /// The requested QoS, with best-available policies resolved.
    pub fn qos(&self) -> QoS {
        self.qos
    }

    /// Counts of matched publishers.
    pub fn matched_status(&self) -> Matched {
        self.core.events().statuses().matched
    }

    /// Number of deadline periods in which nothing was received.
    pub fn deadline_missed_status(&self) -> DeadlineMissed {
        self.core.events().statuses().deadline
    }

    /// Numbers of ROS 2 publishers that are alive and that are not.
    pub fn liveliness_changed_status(&self) -> LivelinessChanged {
        self.core.events().statuses().liveliness_changed
    }

    /// Count of publishers that offer less than requested.
    pub fn incompatible_qos_status(&self) -> IncompatibleQoS {
        self.core.events().statuses().incompatible_qos
    }

    /// The number of publishers in other processes of this host whose messages come by shared memory.
    pub fn shared_memory_count(&self) -> usize {
        let ros2 = self.inputs.ros2.as_ref().map_or(0, |input| input.shared_memory_count());
        self.inputs.ros1.shared_memory_count() + ros2
    }

    /// Whether a node of this name is among the publishers.
    pub(crate) fn has_publisher(&self, node: &str) -> bool {
        let output = self.node.driver().nodes.output_of(node, &self.topic);
        output.is_some_and(|output| output.has_local(&self.core)) || self.inputs.ros1.has_publisher(node)
    }

    /// Descriptions of the ROS 1 publishers in other processes.
    pub(crate) fn ros1_links(&self) -> Vec<Arc<LinkInfo>> {
        self.inputs.ros1.publishers()
    }

    /// True if a message waits.
    pub(crate) fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    pub(crate) fn core(&self) -> &Arc<SubscriptionCore> {
        &self.core
    }

    /// Takes the waiting messages in place of the callback, and calls `handle` with their publisher. A message that it
    /// cannot read counts as malformed.
    pub(crate) fn take_each<E: Into<Unreadable>>(
        &self,
        handle: impl Fn(&LinkInfo, Bytes<'_>) -> Result<(), E>,
    ) {
        for message in std::iter::from_fn(|| self.core.take()).take(MOST_AT_ONCE) {
            if let Taken::Bytes(message) = message
                && let Err(error) = handle(message.from(), message.bytes())
            {
                self.core.refuse(&message, error);
            }
        }
    }

    /// The number of messages that this subscription has received since creation, including dropped ones.
    pub fn received(&self) -> u64 {
        self.core.received()
    }

    /// The number of received messages that could not be read. They are logged with their publisher and field.
    pub fn malformed(&self) -> u64 {
        self.core.malformed()
    }

    /// The number of messages that did not arrive completely.
    ///
    /// - In ROS 1, messages sent as datagrams (see [`SubscriptionOptions::udpros`]). A loss shows when a later message
    ///   arrives, and 256 lost in a row do not show, so this is a lower bound.
    /// - In ROS 2, best-effort messages, and those that a publisher did not hold any more.
    pub fn lost(&self) -> u64 {
        self.core.lost()
    }

    /// The number of messages that this subscription has dropped since creation, because the callback was slower than
    /// the publishers.
    pub fn dropped(&self) -> u64 {
        self.core.dropped()
    }
}

impl Node {
    /// Creates a subscription.
    pub(crate) fn subscribe(
        &self,
        topic: &Topic,
        options: impl Into<SubscriptionOptions>,
        takes: Takes,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let options = options.into();
        let group = CallbackGroup::for_entity(options.group.as_ref());
        self.subscribe_in_group(topic, options, (takes, &group), callback)
    }

    /// Creates a subscription whose callback belongs to a callback group.
    pub(crate) fn subscribe_in_group(
        &self,
        topic: &Topic,
        options: impl Into<SubscriptionOptions>,
        (takes, group): (Takes, &Arc<ExclusiveGroup>),
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let SubscriptionOptions { qos, callbacks, udpros, group: of_events, overriding, .. } = options.into();
        let qos = overriding.map_or(Ok(qos), |overriding| overriding(self, &topic.name, qos))?;
        let dispatch = self.inner.executor_dispatch();
        let of_events = CallbackGroup::for_entity(of_events.as_ref());
        let events = QosEvents::new(callbacks, (dispatch.clone(), &of_events));
        let topic = Topic { udpros, ..topic.clone() };
        self.subscribe_as((&topic, qos, takes), (dispatch, group), events, callback)
    }

    /// Creates a subscription with any dispatch of messages and events.
    pub(crate) fn subscribe_as(
        &self,
        (topic, qos, takes): (&Topic, QoS, Takes),
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let qos = self.inner.driver().settled_for_subscription(&topic.name, qos);
        let spec = SubscriptionSpec {
            wants_info: takes.info,
            ..topic.subscription_options(qos, takes.by_reference)
        };
        let core = SubscriptionCore::in_group(spec, (dispatch, group), events, callback);
        let input = self.inner.driver().add_subscription(self.inner.key, topic, qos, &core)?;
        let subscription = Subscription::new(Arc::clone(&self.inner), topic.name.clone(), qos, core, input);
        self.inner.wait_topic_registered(Role::Subscriber, topic)?;
        Ok(subscription)
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
        // Its callback may own its own node, and would then stay in the queue for ever.
        drop(self.node.queue.take(Arc::as_ptr(&self.core).cast()));
    }
}
