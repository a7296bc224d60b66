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
    pub(crate) exactly: bool,
}

impl SubscriptionOptions {
    /// Asks every publisher for all of the QoS. Otherwise a subscription to a topic of any type asks a publisher that offers
    /// less for no more than it offers: see [`Node::create_raw_subscription`](crate::Node::create_raw_subscription). What is
    /// best available is then settled for each publisher.
    #[must_use]
    pub fn exactly(mut self) -> Self {
        self.exactly = true;
        self
    }
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

/// Methods that set what is called when something happens.
macro_rules! callbacks {
    ($of:ident { $($(#[$doc:meta])* $method:ident($event:ident) sets $which:ident;)+ }) => {
        impl $of {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $method(mut self, callback: impl FnMut($event) + Send + 'static) -> Self {
                    self.callbacks.$which = Some(Box::new(callback));
                    self
                }
            )+
        }
    };
}

callbacks!(PublisherOptions {
    /// Is told when nothing was published within the deadline of the QoS.
    deadline_callback(DeadlineMissed) sets deadline;

    /// Is told when the publisher, whose liveliness is manual, neither published nor said that it lives within its lease:
    /// see [`Publisher::assert_liveliness`](crate::Publisher::assert_liveliness).
    liveliness_callback(LivelinessLost) sets liveliness_lost;

    /// Is told when a subscription asks for more than the publisher offers. Without it, that is logged as a warning.
    incompatible_qos_callback(IncompatibleQoS) sets incompatible_qos;

    /// Is told when subscriptions are met, or parted from.
    matched_callback(Matched) sets matched;
});

callbacks!(SubscriptionOptions {
    /// Is told when no message came within the deadline of the QoS.
    deadline_callback(DeadlineMissed) sets deadline;

    /// Is told when publishers of ROS 2 come, go, or do not say any more that they live.
    liveliness_callback(LivelinessChanged) sets liveliness_changed;

    /// Is told when a publisher offers less than the subscription asks for. Without it, that is logged as a warning.
    incompatible_qos_callback(IncompatibleQoS) sets incompatible_qos;

    /// Is told when messages did not arrive, and will not.
    message_lost_callback(MessageLost) sets message_lost;

    /// Is told when publishers are met, or parted from.
    matched_callback(Matched) sets matched;
});
