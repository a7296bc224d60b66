//! What a publisher or a subscription can be told of its quality of service: statuses with the names and fields that they
//! have in ROS 2.

use runnel_core::qos::Policy;

/// Statuses that count how often something happened.
macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// How often so far.
            pub total_count: u64,
            /// How often since the callback was last told.
            pub total_count_change: u64,
        }

        impl $name {
            pub(crate) fn add(&mut self, count: u64) {
                self.total_count = self.total_count.saturating_add(count);
                self.total_count_change = self.total_count_change.saturating_add(count);
            }

            /// The status as it is to be told, after which nothing has changed since.
            pub(crate) fn told(&mut self) -> Self {
                let told = *self;
                self.total_count_change = 0;
                told
            }
        }
    )*};
}

counted! {
    /// No message came within the deadline that a subscription asks for, or none was published within the one that a
    /// publisher offers. Each deadline that passes counts, and none before the first message.
    DeadlineMissed
    /// A publisher whose liveliness is manual neither published nor said that it lives within its lease.
    LivelinessLost
    /// Messages of publishers did not come, and will not.
    MessageLost
}

/// Publishers that a subscription has met have come, gone, or fallen silent for longer than their lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivelinessChanged {
    /// Publishers that live.
    pub alive_count: i64,
    /// Publishers that are there and do not say that they live.
    pub not_alive_count: i64,
    /// By how many the first has changed since the callback was last told.
    pub alive_count_change: i64,
    /// By how many the second has.
    pub not_alive_count_change: i64,
}

impl LivelinessChanged {
    pub(crate) fn change(&mut self, alive: i64, not_alive: i64) {
        self.alive_count += alive;
        self.alive_count_change += alive;
        self.not_alive_count += not_alive;
        self.not_alive_count_change += not_alive;
    }

    pub(crate) fn told(&mut self) -> Self {
        let told = *self;
        (self.alive_count_change, self.not_alive_count_change) = (0, 0);
        told
    }
}

/// A publisher and a subscription to the same topic do not meet, since less is offered than is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncompatibleQoS {
    /// How often so far.
    pub total_count: u64,
    /// How often since the callback was last told.
    pub total_count_change: u64,
    /// The policy that stood in the way the last time; `None` if that never was. Of several it is the one of the highest number
    /// in DDS (durability, deadline, liveliness, reliability, data representation), as with ROS 2's default implementation,
    /// which does not tell a lease from the kind of liveliness.
    pub last_policy_kind: Option<Policy>,
}

impl IncompatibleQoS {
    /// So many more, the last time because of this.
    pub(crate) fn add(&mut self, count: u64, policy: Option<Policy>) {
        self.total_count = self.total_count.saturating_add(count);
        self.total_count_change = self.total_count_change.saturating_add(count);
        self.last_policy_kind = policy.or(self.last_policy_kind);
    }

    pub(crate) fn told(&mut self) -> Self {
        let told = *self;
        self.total_count_change = 0;
        told
    }
}

/// Publishers and subscriptions have met, or parted: those of this process, of ROS 1 and of ROS 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// How many were met so far.
    pub total_count: u64,
    /// How many were since the callback was last told.
    pub total_count_change: u64,
    /// How many are met now.
    pub current_count: i64,
    /// By how many that has changed since the callback was last told.
    pub current_count_change: i64,
}

impl Matched {
    pub(crate) fn change(&mut self, by: i64) {
        self.total_count += u64::try_from(by).unwrap_or(0);
        self.total_count_change += u64::try_from(by).unwrap_or(0);
        self.current_count += by;
        self.current_count_change += by;
    }

    pub(crate) fn told(&mut self) -> Self {
        let told = *self;
        (self.total_count_change, self.current_count_change) = (0, 0);
        told
    }
}

/// A kind of event of the quality of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum QosEventKind {
    /// [`DeadlineMissed`].
    Deadline,
    /// [`LivelinessLost`].
    LivelinessLost,
    /// [`LivelinessChanged`].
    LivelinessChanged,
    /// [`IncompatibleQoS`].
    Incompatible,
    /// [`MessageLost`].
    MessageLost,
    /// [`Matched`].
    Matched,
}

/// All that has happened of one kind since it was last taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosEvent {
    /// See [`DeadlineMissed`].
    DeadlineMissed(DeadlineMissed),
    /// See [`LivelinessLost`].
    LivelinessLost(LivelinessLost),
    /// See [`LivelinessChanged`].
    LivelinessChanged(LivelinessChanged),
    /// See [`IncompatibleQoS`].
    IncompatibleQoS(IncompatibleQoS),
    /// See [`MessageLost`].
    MessageLost(MessageLost),
    /// See [`Matched`].
    Matched(Matched),
}
