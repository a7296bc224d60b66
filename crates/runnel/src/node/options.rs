//! Options of publishers, subscriptions, timers, servers and watched parameters.

use std::fmt;
use std::time::Duration;

use runnel_core::qos::QoS;

use crate::callback_group::CallbackGroup;
use crate::data::Callbacks;
use crate::error::Error;
use crate::node::Node;
use crate::qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEventKind,
};

/// Options of a publisher: its [`QoS`] or only a depth, and callbacks for QoS events. They run while the context
/// spins, like other callbacks. Events that happen before a callback runs are reported in one call.
///
/// ```no_run
/// # use std::time::Duration;
/// # use runnel::{PublisherOptions, QoS, msgs::std_msgs::msg::String as Text};
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let options = PublisherOptions::from(QoS::keep_last(10).deadline(Duration::from_millis(100)))
///     .deadline_callback(|missed| println!("{} deadlines missed", missed.total_count))
///     .matched_callback(|matched| println!("{} subscribers", matched.current_count));
/// let publisher = node.create_publisher::<Text>("chatter", options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct PublisherOptions {
    pub(crate) qos: QoS,
    pub(crate) callbacks: Callbacks,
    pub(crate) group: Option<CallbackGroup>,
    pub(crate) overriding: Option<QosOverriding>,
    pub(crate) keeps_header_seq: bool,
}

/// Returns the QoS of an endpoint of a topic with overrides by parameters. Only programs that use them link it.
pub(crate) type QosOverriding = Box<dyn FnOnce(&Node, &str, QoS) -> Result<QoS, Error> + Send>;

/// Options of a subscription: its [`QoS`] or only a depth, and callbacks for QoS events, as in [`PublisherOptions`].
#[derive(Default)]
pub struct SubscriptionOptions {
    pub(crate) qos: QoS,
    pub(crate) callbacks: Callbacks,
    pub(crate) strict_qos: bool,
    pub(crate) udpros: bool,
    pub(crate) group: Option<CallbackGroup>,
    pub(crate) waitable_events: Vec<QosEventKind>,
    pub(crate) overriding: Option<QosOverriding>,
}

impl SubscriptionOptions {
    /// Sets the callback group of the message callback and of the callbacks for QoS events.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Lets the program [take](crate::Subscription::take_event) events of these kinds, in place of callbacks. For
    /// [`Node::create_waitable_subscription`](crate::Node::create_waitable_subscription).
    #[must_use]
    pub fn waitable_events(mut self, kinds: &[QosEventKind]) -> Self {
        self.waitable_events = kinds.to_vec();
        self
    }

    /// Requests the complete QoS from every publisher. Without this, a subscription of any type requests from a
    /// publisher that offers less only what it offers: see
    /// [`Node::create_raw_subscription`](crate::Node::create_raw_subscription). Best-available policies are then
    /// resolved for each publisher.
    #[must_use]
    pub fn strict_qos(mut self) -> Self {
        self.strict_qos = true;
        self
    }

    /// Requests UDPROS from each ROS 1 publisher first, and TCPROS if it does not support that, like roscpp's
    /// `TransportHints().unreliable().reliable()`. It has no effect in ROS 2.
    ///
    /// Use it only for frequent small messages over a radio that loses packets, where the next message is better than
    /// a late one. Lost datagrams are not retransmitted, and a message of several datagrams is lost with any one of
    /// them. So [`QoS::best_effort`] does not imply it. Subscriptions of one node to one topic share their
    /// connections, which use UDPROS only while all of them request it.
    ///
    /// ```no_run
    /// # use runnel::{QoS, SubscriptionOptions, msgs::geometry_msgs::msg::PoseStamped};
    /// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
    /// let options = SubscriptionOptions::from(QoS::keep_last(1)).udpros();
    /// let _poses = node.create_subscription("pose", options, |pose: &PoseStamped| println!("{:?}", pose.pose))?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn udpros(mut self) -> Self {
        self.udpros = true;
        self
    }
}

/// Options of something that runs callbacks: its name or period, and optionally the callback group.
#[derive(Clone, Debug)]
pub struct GroupOptions<T> {
    pub(crate) of: T,
    pub(crate) group: Option<CallbackGroup>,
}

/// Options of a timer: its period, and optionally the callback group.
pub type TimerOptions = GroupOptions<Duration>;

/// Options of a service or an action server: its name, and optionally the callback group.
pub type ServerOptions = GroupOptions<String>;

/// Options of a watched parameter: its name, and optionally the callback group.
pub type WatchOptions = GroupOptions<String>;

impl<T> GroupOptions<T> {
    /// Sets the callback group.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }
}

impl From<Duration> for GroupOptions<Duration> {
    fn from(period: Duration) -> Self {
        Self { of: period, group: None }
    }
}

impl<N: AsRef<str> + ?Sized> From<&N> for GroupOptions<String> {
    fn from(name: &N) -> Self {
        Self { of: name.as_ref().to_owned(), group: None }
    }
}

impl PublisherOptions {
    /// Sets the callback group of the callbacks for QoS events.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// In ROS 1, leaves the `seq` of a message's header as it is, as `rosbag play` does. Otherwise the publisher numbers
    /// its messages there, as in roscpp. The first publisher of a topic in a node decides for the others.
    #[must_use]
    pub fn keep_header_seq(mut self) -> Self {
        self.keeps_header_seq = true;
        self
    }

    /// Called when nothing was published within the deadline of the QoS.
    #[must_use]
    pub fn deadline_callback(mut self, callback: impl FnMut(DeadlineMissed) + Send + 'static) -> Self {
        self.callbacks.deadline = Some(Box::new(callback));
        self
    }

    /// Called when a publisher with manual liveliness neither published nor asserted its liveliness within its lease:
    /// see [`PublisherBase::assert_liveliness`](crate::PublisherBase::assert_liveliness).
    #[must_use]
    pub fn liveliness_callback(mut self, callback: impl FnMut(LivelinessLost) + Send + 'static) -> Self {
        self.callbacks.liveliness_lost = Some(Box::new(callback));
        self
    }

    /// Called when a subscription requests more than the publisher offers. Without it, a warning is logged.
    #[must_use]
    pub fn incompatible_qos_callback(
        mut self,
        callback: impl FnMut(IncompatibleQoS) + Send + 'static,
    ) -> Self {
        self.callbacks.incompatible_qos = Some(Box::new(callback));
        self
    }

    /// Called when subscriptions match or unmatch.
    #[must_use]
    pub fn matched_callback(mut self, callback: impl FnMut(Matched) + Send + 'static) -> Self {
        self.callbacks.matched = Some(Box::new(callback));
        self
    }
}

impl SubscriptionOptions {
    /// Called when no message arrived within the deadline of the QoS.
    #[must_use]
    pub fn deadline_callback(mut self, callback: impl FnMut(DeadlineMissed) + Send + 'static) -> Self {
        self.callbacks.deadline = Some(Box::new(callback));
        self
    }

    /// Called when ROS 2 publishers come, go, or stop to assert their liveliness.
    #[must_use]
    pub fn liveliness_callback(mut self, callback: impl FnMut(LivelinessChanged) + Send + 'static) -> Self {
        self.callbacks.liveliness_changed = Some(Box::new(callback));
        self
    }

    /// Called when a publisher offers less than the subscription requests. Without it, a warning is logged.
    #[must_use]
    pub fn incompatible_qos_callback(
        mut self,
        callback: impl FnMut(IncompatibleQoS) + Send + 'static,
    ) -> Self {
        self.callbacks.incompatible_qos = Some(Box::new(callback));
        self
    }

    /// Called when messages were lost.
    #[must_use]
    pub fn message_lost_callback(mut self, callback: impl FnMut(MessageLost) + Send + 'static) -> Self {
        self.callbacks.message_lost = Some(Box::new(callback));
        self
    }

    /// Called when publishers match or unmatch.
    #[must_use]
    pub fn matched_callback(mut self, callback: impl FnMut(Matched) + Send + 'static) -> Self {
        self.callbacks.matched = Some(Box::new(callback));
        self
    }
}

impl<Q: Into<QoS>> From<Q> for PublisherOptions {
    fn from(qos: Q) -> Self {
        Self { qos: qos.into(), ..Self::default() }
    }
}

impl fmt::Debug for PublisherOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherOptions").field("qos", &self.qos).finish_non_exhaustive()
    }
}

impl<Q: Into<QoS>> From<Q> for SubscriptionOptions {
    fn from(qos: Q) -> Self {
        Self { qos: qos.into(), ..Self::default() }
    }
}

impl fmt::Debug for SubscriptionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionOptions").field("qos", &self.qos).finish_non_exhaustive()
    }
}
