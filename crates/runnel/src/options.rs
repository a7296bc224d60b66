//! What publishers and subscriptions are created with.

use std::fmt;
use std::time::Duration;

use runnel_core::qos::QoS;

use crate::callback_group::CallbackGroup;
use crate::data::Callbacks;
use crate::qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost, QosEventKind,
};

/// What a publisher is created with: its [`QoS`], or a depth alone, and callbacks for what becomes of it. They run while
/// the context spins, in turn with other callbacks, and are told once of what happened several times meanwhile.
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
}

/// What a subscription is created with: its [`QoS`], or a depth alone, and callbacks for what becomes of it, as
/// [`PublisherOptions`] has them.
#[derive(Default)]
pub struct SubscriptionOptions {
    pub(crate) qos: QoS,
    pub(crate) callbacks: Callbacks,
    pub(crate) exactly: bool,
    pub(crate) udpros: bool,
    pub(crate) group: Option<CallbackGroup>,
    pub(crate) waitable_events: Vec<QosEventKind>,
}

impl SubscriptionOptions {
    /// Runs the callback for messages in this group.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }

    /// Has events of these kinds [taken](crate::Subscription::take_event), in place of callbacks: for
    /// [`Node::create_waitable_subscription`](crate::Node::create_waitable_subscription).
    #[must_use]
    pub fn waitable_events(mut self, kinds: &[QosEventKind]) -> Self {
        self.waitable_events = kinds.to_vec();
        self
    }

    /// Asks every publisher for all of the QoS. Otherwise a subscription to a topic of any type asks a publisher that offers
    /// less for no more than it offers: see [`Node::create_raw_subscription`](crate::Node::create_raw_subscription). What is
    /// best available is then settled for each publisher.
    #[must_use]
    pub fn exactly(mut self) -> Self {
        self.exactly = true;
        self
    }

    /// Asks each ROS 1 publisher for datagrams (UDPROS) first, and for a connection (TCPROS) where it has none, as roscpp's
    /// `TransportHints().unreliable().reliable()` does. In ROS 2 it has no effect.
    ///
    /// It pays only for small messages that come often over a radio that loses packets, where the next message is better than
    /// the last one late: what is lost is not sent again, and a message of several datagrams is lost with any one of them. So
    /// [`QoS::best_effort`] does not ask for it. Subscriptions of one node to one topic share their links, which are of datagrams
    /// only while all of them ask for it.
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

/// What a timer is created with: its period, or that and the group of its callback.
#[derive(Clone, Debug)]
pub struct TimerOptions {
    pub(crate) period: Duration,
    pub(crate) group: Option<CallbackGroup>,
}

impl TimerOptions {
    /// Runs the callback in this group.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }
}

impl From<Duration> for TimerOptions {
    fn from(period: Duration) -> Self {
        Self { period, group: None }
    }
}

/// What a service or an action server is created with: its name, or that and the group of its callbacks.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    pub(crate) name: String,
    pub(crate) group: Option<CallbackGroup>,
}

impl ServerOptions {
    /// Runs the callbacks in this group.
    #[must_use]
    pub fn callback_group(mut self, group: &CallbackGroup) -> Self {
        self.group = Some(group.clone());
        self
    }
}

impl<N: AsRef<str> + ?Sized> From<&N> for ServerOptions {
    fn from(name: &N) -> Self {
        Self { name: name.as_ref().to_owned(), group: None }
    }
}

impl PublisherOptions {
    /// Is told when nothing was published within the deadline of the QoS.
    #[must_use]
    pub fn deadline_callback(mut self, callback: impl FnMut(DeadlineMissed) + Send + 'static) -> Self {
        self.callbacks.deadline = Some(Box::new(callback));
        self
    }

    /// Is told when the publisher, whose liveliness is manual, neither published nor said that it lives within its lease:
    /// see [`PublisherBase::assert_liveliness`](crate::PublisherBase::assert_liveliness).
    #[must_use]
    pub fn liveliness_callback(mut self, callback: impl FnMut(LivelinessLost) + Send + 'static) -> Self {
        self.callbacks.liveliness_lost = Some(Box::new(callback));
        self
    }

    /// Is told when a subscription asks for more than the publisher offers. Without it, that is logged as a warning.
    #[must_use]
    pub fn incompatible_qos_callback(
        mut self,
        callback: impl FnMut(IncompatibleQoS) + Send + 'static,
    ) -> Self {
        self.callbacks.incompatible_qos = Some(Box::new(callback));
        self
    }

    /// Is told when subscriptions are met, or parted from.
    #[must_use]
    pub fn matched_callback(mut self, callback: impl FnMut(Matched) + Send + 'static) -> Self {
        self.callbacks.matched = Some(Box::new(callback));
        self
    }
}

impl SubscriptionOptions {
    /// Is told when no message came within the deadline of the QoS.
    #[must_use]
    pub fn deadline_callback(mut self, callback: impl FnMut(DeadlineMissed) + Send + 'static) -> Self {
        self.callbacks.deadline = Some(Box::new(callback));
        self
    }

    /// Is told when publishers of ROS 2 come, go, or do not say any more that they live.
    #[must_use]
    pub fn liveliness_callback(mut self, callback: impl FnMut(LivelinessChanged) + Send + 'static) -> Self {
        self.callbacks.liveliness_changed = Some(Box::new(callback));
        self
    }

    /// Is told when a publisher offers less than the subscription asks for. Without it, that is logged as a warning.
    #[must_use]
    pub fn incompatible_qos_callback(
        mut self,
        callback: impl FnMut(IncompatibleQoS) + Send + 'static,
    ) -> Self {
        self.callbacks.incompatible_qos = Some(Box::new(callback));
        self
    }

    /// Is told when messages did not arrive, and will not.
    #[must_use]
    pub fn message_lost_callback(mut self, callback: impl FnMut(MessageLost) + Send + 'static) -> Self {
        self.callbacks.message_lost = Some(Box::new(callback));
        self
    }

    /// Is told when publishers are met, or parted from.
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
