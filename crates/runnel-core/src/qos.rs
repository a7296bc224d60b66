//! Quality of service: offered by a publisher, requested by a subscription.
//!
//! ROS 1 has queue sizes and latching only: [`History`] and depth are the queue, [`Durability::TransientLocal`] is a
//! latched topic, which sends its last message to late subscribers. Reliability, deadline, lifespan and liveliness are ROS 2
//! policies without effect in ROS 1, where every TCPROS connection is reliable.

mod available;

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

pub use available::BestAvailable;

/// Messages that are kept in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum History {
    /// The last [`QoS::depth`] messages.
    #[default]
    KeepLast,
    /// All messages, up to the queue's bound.
    KeepAll,
}

/// Whether lost messages are sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reliability {
    /// Sent once.
    BestEffort,
    /// Sent until acknowledged.
    #[default]
    Reliable,
}

/// Whether late subscribers get earlier messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// They do not.
    #[default]
    Volatile,
    /// They get the samples in the publisher's history. In ROS 1: a latched topic.
    TransientLocal,
}

/// How a publisher shows that it lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveliness {
    /// Its process lives.
    #[default]
    Automatic,
    /// It asserts its liveliness explicitly, or publishes.
    ManualByTopic,
}

/// A set of policies, made by a constructor and narrowed by methods:
/// `QoS::keep_last(10).reliable().transient_local()`.
///
/// A number is a depth: `create_publisher("x", 10)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QoS {
    /// Which messages wait.
    pub history: History,
    /// Capacity of the queue with [`History::KeepLast`]; at least 1.
    pub depth: usize,
    /// Whether lost messages are sent again.
    pub reliability: Reliability,
    /// Whether late subscribers get earlier messages.
    pub durability: Durability,
    /// The longest time between two messages; `None` for any.
    pub deadline: Option<Duration>,
    /// Time after which a message is no longer delivered; `None` is infinite.
    pub lifespan: Option<Duration>,
    /// How a publisher shows that it lives.
    pub liveliness: Liveliness,
    /// Lease duration of the liveliness; `None` is infinite.
    pub liveliness_lease: Option<Duration>,
    /// Which of these are settled when the endpoint is made, see [`QoS::best_available`].
    pub best_available: BestAvailable,
}

impl Default for QoS {
    /// Keep the last 10, reliable, volatile.
    fn default() -> Self {
        Self::keep_last(10)
    }
}

impl From<usize> for QoS {
    fn from(depth: usize) -> Self {
        Self::keep_last(depth)
    }
}

impl QoS {
    /// Keeps the last `depth` messages (0 counts as 1); reliable and volatile.
    pub const fn keep_last(depth: usize) -> Self {
        Self {
            history: History::KeepLast,
            depth: if depth == 0 { 1 } else { depth },
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            deadline: None,
            lifespan: None,
            liveliness: Liveliness::Automatic,
            liveliness_lease: None,
            best_available: BestAvailable::NONE,
        }
    }

    /// Keeps all messages; reliable and volatile.
    pub const fn keep_all() -> Self {
        Self { history: History::KeepAll, ..Self::keep_last(1) }
    }

    /// For sensors, where the newest counts: the last 5, best effort.
    pub const fn sensor_data() -> Self {
        Self::keep_last(5).best_effort()
    }

    /// The default of ROS 2's middlewares: keep last 1, reliable.
    pub const fn system_default() -> Self {
        Self::keep_last(1)
    }

    /// For services: the last 10, reliable.
    pub const fn services_default() -> Self {
        Self::keep_last(10)
    }

    /// For the parameter services: the last 1000, reliable.
    pub const fn parameters() -> Self {
        Self::keep_last(1000)
    }

    /// For `/parameter_events`: the last 1000, reliable.
    pub const fn parameter_events() -> Self {
        Self::keep_last(1000)
    }

    /// For `/clock`: the last 1, best effort.
    pub const fn clock() -> Self {
        Self::keep_last(1).best_effort()
    }

    /// For `/rosout`: the last 1000, reliable, for late subscribers as well as long as lines are worth it, 10 s.
    pub const fn rosout() -> Self {
        Self::keep_last(1000).transient_local().lifespan(Duration::from_secs(10))
    }

    /// A latched ROS 1 topic: late subscribers get the last message.
    pub const fn latched() -> Self {
        Self::keep_last(1).transient_local()
    }

    /// Sends lost messages again.
    ///
    /// Without effect in ROS 1.
    #[must_use]
    pub const fn reliable(self) -> Self {
        let best_available = BestAvailable { reliability: false, ..self.best_available };
        Self { reliability: Reliability::Reliable, best_available, ..self }
    }

    /// Sends each message once.
    ///
    /// Without effect in ROS 1.
    #[must_use]
    pub const fn best_effort(self) -> Self {
        let best_available = BestAvailable { reliability: false, ..self.best_available };
        Self { reliability: Reliability::BestEffort, best_available, ..self }
    }

    /// Sends the kept samples to late subscribers.
    #[must_use]
    pub const fn transient_local(self) -> Self {
        let best_available = BestAvailable { durability: false, ..self.best_available };
        Self { durability: Durability::TransientLocal, best_available, ..self }
    }

    /// Gives late subscribers new messages only.
    #[must_use]
    pub const fn volatile(self) -> Self {
        let best_available = BestAvailable { durability: false, ..self.best_available };
        Self { durability: Durability::Volatile, best_available, ..self }
    }

    /// Sets the longest time between two messages; zero, or more than 68 years, is any time, as with rmw.
    ///
    /// Without effect in ROS 1.
    #[must_use]
    pub const fn deadline(self, deadline: Duration) -> Self {
        let best_available = BestAvailable { deadline: false, ..self.best_available };
        Self { deadline: finite(deadline), best_available, ..self }
    }

    /// Sets how long a message is worth delivering; zero, or more than 68 years, is for ever,
    /// as with rmw.
    ///
    /// Without effect in ROS 1.
    #[must_use]
    pub const fn lifespan(self, lifespan: Duration) -> Self {
        Self { lifespan: finite(lifespan), ..self }
    }

    /// Sets the kind of liveliness and the lease duration: unlimited if `None`, zero or more than 68 years.
    ///
    /// Without effect in ROS 1.
    #[must_use]
    pub const fn liveliness(self, kind: Liveliness, lease: Option<Duration>) -> Self {
        let best_available =
            BestAvailable { liveliness: false, liveliness_lease: false, ..self.best_available };
        let liveliness_lease = match lease {
            Some(lease) => finite(lease),
            None => None,
        };
        Self { liveliness: kind, liveliness_lease, best_available, ..self }
    }

    /// Whether late subscribers get earlier messages: `latching=1` in a ROS 1 connection header.
    pub fn is_latching(&self) -> bool {
        self.durability == Durability::TransientLocal
    }

    /// The policies in which an offer is incompatible with this request; empty if it is compatible. They are in the order of
    /// their ids in DDS: events name the last one, as in ROS 2's default implementation. History, depth and lifespan are
    /// always compatible. Source: DDS 1.4, section 2.2.3, requested against offered.
    pub fn incompatible_with(&self, offered: &QoS) -> Vec<Policy> {
        let checks = [
            (Policy::Durability, offered.durability >= self.durability),
            (Policy::Deadline, within(offered.deadline, self.deadline)),
            (Policy::Liveliness, offered.liveliness >= self.liveliness),
            (Policy::LivelinessLease, within(offered.liveliness_lease, self.liveliness_lease)),
            (Policy::Reliability, offered.reliability >= self.reliability),
        ];
        checks.iter().filter(|(_, fits)| !fits).map(|(policy, _)| *policy).collect()
    }
}

/// Whether the offered time is not longer than the requested time; `None` is infinite.
fn within(offered: Option<Duration>, requested: Option<Duration>) -> bool {
    match (offered, requested) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(offered), Some(requested)) => offered <= requested,
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Reliable { "reliable" } else { "best effort" })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::TransientLocal { "transient local" } else { "volatile" })
    }
}

impl fmt::Display for Liveliness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::ManualByTopic { "manual by topic" } else { "automatic" })
    }
}

/// A policy in which a publisher and a subscription can be incompatible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// See [`QoS::reliability`].
    Reliability,
    /// See [`QoS::durability`].
    Durability,
    /// See [`QoS::deadline`].
    Deadline,
    /// See [`QoS::liveliness`].
    Liveliness,
    /// See [`QoS::liveliness_lease`].
    LivelinessLease,
    /// Serialization of the messages, which one side writes and the other does not read. Not part of [`QoS`].
    DataRepresentation,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reliability => "reliability",
            Self::Durability => "durability",
            Self::Deadline => "deadline",
            Self::Liveliness => "liveliness",
            Self::LivelinessLease => "liveliness lease duration",
            Self::DataRepresentation => "data representation",
        })
    }
}

/// A time as announced to peers: `None` (infinite) if it is zero, as in rmw, or exceeds the wire format.
const fn finite(time: Duration) -> Option<Duration> {
    if time.is_zero() || time.as_secs() >= i32::MAX as u64 { None } else { Some(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn number_is_a_depth() {
        let qos: QoS = 10.into();
        assert_eq!(qos, QoS::keep_last(10).reliable().volatile());
        assert_eq!(QoS::from(0).depth, 1);
    }

    #[test]
    fn latched_is_transient_local_with_depth_one() {
        assert_eq!(QoS::latched(), QoS::keep_last(1).reliable().transient_local());
        assert!(QoS::latched().is_latching());
        assert!(!QoS::default().is_latching());
    }

    #[test]
    fn presets_are_those_of_ros_2() {
        assert_eq!((QoS::sensor_data().depth, QoS::sensor_data().reliability), (5, Reliability::BestEffort));
        assert_eq!((QoS::services_default().depth, QoS::parameters().depth), (10, 1000));
        assert_eq!(QoS::default(), QoS::services_default());
        assert_eq!(QoS::parameter_events(), QoS::keep_last(1000).reliable().volatile());
        assert_eq!(QoS::clock(), QoS::keep_last(1).best_effort());
        let rosout = QoS::keep_last(1000).reliable().transient_local();
        assert_eq!(QoS::rosout(), rosout.lifespan(Duration::from_secs(10)));
    }

    #[test]
    fn offer_may_exceed_request() {
        let best_effort = QoS::keep_last(1).best_effort();
        assert_eq!(best_effort.incompatible_with(&QoS::latched()), []);
        let requested = QoS::latched();
        assert_eq!(requested.incompatible_with(&best_effort), [Policy::Durability, Policy::Reliability]);
    }

    #[test]
    fn offered_times_must_not_exceed_requested_times() {
        let requested = QoS::default().deadline(MS(100)).liveliness(Liveliness::ManualByTopic, Some(MS(50)));
        let short = QoS::default().deadline(MS(100)).liveliness(Liveliness::ManualByTopic, Some(MS(49)));
        let long = QoS::default().deadline(MS(101)).liveliness(Liveliness::Automatic, Some(MS(51)));
        assert_eq!(requested.incompatible_with(&short), []);
        let all = [Policy::Deadline, Policy::Liveliness, Policy::LivelinessLease];
        assert_eq!(requested.incompatible_with(&long), all);
        assert_eq!(requested.incompatible_with(&QoS::default()), all);
        assert_eq!(QoS::default().incompatible_with(&requested), []);
    }

    #[test]
    fn history_depth_and_lifespan_never_conflict() {
        let offers = QoS::keep_all().lifespan(MS(1));
        assert_eq!(QoS::keep_last(7).incompatible_with(&offers), []);
        assert_eq!(offers.incompatible_with(&QoS::keep_last(7)), []);
    }

    #[test]
    fn zero_and_unrepresentable_times_are_unset() {
        for time in [Duration::ZERO, Duration::MAX, Duration::from_secs(i32::MAX as u64)] {
            let qos = QoS::default().deadline(time).lifespan(time);
            let qos = qos.liveliness(Liveliness::ManualByTopic, Some(time));
            assert_eq!((qos.deadline, qos.lifespan, qos.liveliness_lease), (None, None, None));
        }
    }
}
