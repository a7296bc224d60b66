//! What publishers and subscriptions are created with.

use std::fmt;

use runnel_core::qos::QoS;

use crate::data::Callbacks;
use crate::qos_events::{
    DeadlineMissed, IncompatibleQoS, LivelinessChanged, LivelinessLost, Matched, MessageLost,
};

/// What a publisher is created with: its [`QoS`], or a depth alone, and callbacks for what becomes of it. They run while
/// the context spins, in turn with other callbacks, and are told once of what happened several times meanwhile.
///
/// ```no_run
/// # use std::time::Duration;
/// # use runnel::{PublisherOptions, QoS, msgs::std_msgs::String as Text};
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
}

/// What both have.
macro_rules! common_options {
    ($name:ident) => {
        impl<Q: Into<QoS>> From<Q> for $name {
            fn from(qos: Q) -> Self {
                Self { qos: qos.into(), ..Self::default() }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("qos", &self.qos).finish_non_exhaustive()
            }
        }
    };
}

common_options!(PublisherOptions);
common_options!(SubscriptionOptions);

impl PublisherOptions {
    /// Is told when nothing was published within the deadline of the QoS.
    #[must_use]
    pub fn deadline_callback(mut self, callback: impl FnMut(DeadlineMissed) + Send + 'static) -> Self {
        self.callbacks.deadline = Some(Box::new(callback));
        self
    }

    /// Is told when the publisher, whose liveliness is manual, neither published nor said that it lives within its lease:
    /// see [`Publisher::assert_liveliness`](crate::Publisher::assert_liveliness).
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
