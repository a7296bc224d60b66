//! QoS event statuses of publishers and subscriptions, with the names and fields that ROS 2 has.

use runnel_core::qos::Policy;

/// Statuses that count occurrences.
macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// Count since creation.
            pub total_count: u64,
            /// Count since the last callback.
            pub total_count_change: u64,
        }

        impl $name {
            pub(crate) fn add(&mut self, count: u64) {
                self.total_count = self.total_count.saturating_add(count);
                self.total_count_change = self.total_count_change.saturating_add(count);
            }

            /// Takes the status for a callback, and resets the changes.
            pub(crate) fn take_changes(&mut self) -> Self {
                let status = *self;
                self.total_count_change = 0;
                status
            }
        }
    )*};
}

counted! {
    /// No message arrived within the deadline that a subscription requests, or none was published within the one that
    /// a publisher offers. Each missed deadline counts, but none before the first message.
    DeadlineMissed
    /// A publisher with manual liveliness neither published nor asserted its liveliness within its lease.
    LivelinessLost
    /// Messages of publishers were lost.
    MessageLost
}

/// Matched publishers of a subscription have come, gone, or fallen silent for longer than their lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivelinessChanged {
    /// Publishers that are alive.
    pub alive_count: i64,
    /// Publishers that are matched but not alive.
    pub not_alive_count: i64,
    /// Change of `alive_count` since the last callback.
    pub alive_count_change: i64,
    /// Change of `not_alive_count` since the last callback.
    pub not_alive_count_change: i64,
}

impl LivelinessChanged {
    pub(crate) fn change(&mut self, alive: i64, not_alive: i64) {
        self.alive_count += alive;
        self.alive_count_change += alive;
        self.not_alive_count += not_alive;
        self.not_alive_count_change += not_alive;
    }

    pub(crate) fn take_changes(&mut self) -> Self {
        let status = *self;
        (self.alive_count_change, self.not_alive_count_change) = (0, 0);
        status
    }
}

/// A publisher and a subscription to the same topic do not match, since the publisher offers less than the
/// subscription requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IncompatibleQoS {
    /// Count since creation.
    pub total_count: u64,
    /// Count since the last callback.
    pub total_count_change: u64,
    /// The incompatible policy of the last time; `None` if there was none. Of several policies it is the one with the
    /// highest number in DDS (durability, deadline, liveliness, reliability, data representation), as in ROS 2's
    /// default implementation, which does not distinguish a lease from the kind of liveliness.
    pub last_policy_kind: Option<Policy>,
}

impl IncompatibleQoS {
    /// Counts more occurrences, the last one because of `policy`.
    pub(crate) fn add(&mut self, count: u64, policy: Option<Policy>) {
        self.total_count = self.total_count.saturating_add(count);
        self.total_count_change = self.total_count_change.saturating_add(count);
        self.last_policy_kind = policy.or(self.last_policy_kind);
    }

    pub(crate) fn take_changes(&mut self) -> Self {
        let status = *self;
        self.total_count_change = 0;
        status
    }
}

/// Publishers and subscriptions have matched or unmatched: those of this process, of ROS 1 and of ROS 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Matches since creation.
    pub total_count: u64,
    /// Matches since the last callback.
    pub total_count_change: u64,
    /// Current matches.
    pub current_count: i64,
    /// Change of `current_count` since the last callback.
    pub current_count_change: i64,
}

impl Matched {
    pub(crate) fn change(&mut self, by: i64) {
        self.total_count += u64::try_from(by).unwrap_or(0);
        self.total_count_change += u64::try_from(by).unwrap_or(0);
        self.current_count += by;
        self.current_count_change += by;
    }

    pub(crate) fn take_changes(&mut self) -> Self {
        let status = *self;
        (self.total_count_change, self.current_count_change) = (0, 0);
        status
    }
}

/// A kind of QoS event.
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

/// All events of one kind since it was last taken.
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
