//! Decision about one direction of a topic, a service or an action: whether this bridge carries it, and with which QoS.

use runnel_core::qos::{Liveliness, QoS};
use runnel_core::schema::Generation;

/// The direction of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From ROS 1 to ROS 2.
    ToRos2,
    /// From ROS 2 to ROS 1.
    ToRos1,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::ToRos2, Self::ToRos1];

    /// The generation of the publishers or the server.
    pub fn source(self) -> Generation {
        match self {
            Self::ToRos2 => Generation::Ros1,
            Self::ToRos1 => Generation::Ros2,
        }
    }
}

/// Number of a bridge. Of two bridges that carry the same, the one with the lower number goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BridgeId(pub u64);

/// A topic as both graphs show it, without the ends of dual nodes and of bridges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicView {
    /// Publishers in ROS 1.
    pub ros1_publishers: usize,
    /// Subscribers in ROS 1.
    pub ros1_subscribers: usize,
    /// QoS that publishers offer in ROS 2.
    pub ros2_publishers: Vec<QoS>,
    /// QoS that subscriptions request in ROS 2.
    pub ros2_subscriptions: Vec<QoS>,
    /// Another bridge of the same two graphs that carries the topic to ROS 2, with the lowest number.
    pub other_to_ros2: Option<BridgeId>,
    /// The same to ROS 1.
    pub other_to_ros1: Option<BridgeId>,
}

/// A service or an action as both graphs show it, without the servers of dual nodes and of bridges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerView {
    /// Servers in ROS 1.
    pub ros1_servers: usize,
    /// Servers in ROS 2.
    pub ros2_servers: usize,
    /// A dual node serves both graphs.
    pub has_dual_server: bool,
    /// As [`TopicView::other_to_ros2`]: another bridge with a server in ROS 2.
    pub other_to_ros2: Option<BridgeId>,
    /// As [`TopicView::other_to_ros1`]: another bridge with a server in ROS 1.
    pub other_to_ros1: Option<BridgeId>,
}

/// What this bridge does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its number.
    pub id: BridgeId,
    /// It carries the direction already.
    pub carries: bool,
}

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// One side has no end.
    NotNeeded,
    /// Another bridge carries it.
    CarriedBy(BridgeId),
    /// This bridge carries it.
    Carry,
}

/// Which topics are carried of those that have a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Those with a subscriber in the other graph.
    Subscribed,
    /// All of them, so that the other graph's tools list them.
    Any,
}

impl TopicView {
    fn is_needed(&self, direction: Direction, demand: Demand) -> bool {
        self.is_published(direction) && (demand == Demand::Any || self.is_subscribed(direction))
    }

    /// Whether messages in this direction have a publisher.
    pub fn is_published(&self, direction: Direction) -> bool {
        match direction {
            Direction::ToRos2 => self.ros1_publishers > 0,
            Direction::ToRos1 => !self.ros2_publishers.is_empty(),
        }
    }

    /// Whether messages in this direction have a subscriber.
    pub fn is_subscribed(&self, direction: Direction) -> bool {
        match direction {
            Direction::ToRos2 => !self.ros2_subscriptions.is_empty(),
            Direction::ToRos1 => self.ros1_subscribers > 0,
        }
    }

    /// Whether no bridge carries messages in this direction, since they have a publisher and no subscriber.
    pub fn is_waiting(&self, direction: Direction) -> bool {
        self.is_published(direction) && !self.is_subscribed(direction) && self.other(direction).is_none()
    }

    fn other(&self, direction: Direction) -> Option<BridgeId> {
        match direction {
            Direction::ToRos2 => self.other_to_ros2,
            Direction::ToRos1 => self.other_to_ros1,
        }
    }
}

impl ServerView {
    /// One graph has a server and the other one has none. The direction is that in which the server becomes available.
    fn is_needed(&self, direction: Direction) -> bool {
        let (has_ros1, has_ros2) = (self.ros1_servers > 0, self.ros2_servers > 0);
        let is_missing = match direction {
            Direction::ToRos2 => has_ros1 && !has_ros2,
            Direction::ToRos1 => has_ros2 && !has_ros1,
        };
        is_missing && !self.has_dual_server
    }
}

/// Decides about one direction of a topic.
///
/// A bridge that carries it keeps it when another one starts. If two bridges start at the same time, both see the
/// other, and the one with the higher number stops.
pub fn decide(view: &TopicView, direction: Direction, demand: Demand, own: Own) -> Verdict {
    arbitrate(view.is_needed(direction, demand), view.other(direction), own)
}

/// Decides about one direction of a service or an action, as [`decide`] does. It needs a server, but no client.
pub fn decide_server(view: &ServerView, direction: Direction, own: Own) -> Verdict {
    let other = match direction {
        Direction::ToRos2 => view.other_to_ros2,
        Direction::ToRos1 => view.other_to_ros1,
    };
    arbitrate(view.is_needed(direction), other, own)
}

fn arbitrate(is_needed: bool, other: Option<BridgeId>, own: Own) -> Verdict {
    match other {
        _ if !is_needed => Verdict::NotNeeded,
        Some(other) if !own.carries || other < own.id => Verdict::CarriedBy(other),
        _ => Verdict::Carry,
    }
}

/// QoS of the publisher in ROS 2 that carries ROS 1 messages. `latched` is the number of latched publishers in ROS 1,
/// each of which keeps one message for late subscribers; `depth` is the length of queues.
///
/// It is reliable, which best-effort subscriptions accept, and offers whatever the present subscriptions request.
pub fn ros2_publisher_qos(subscriptions: &[QoS], latched: usize, depth: usize) -> QoS {
    let mut qos = if latched > 0 {
        QoS::keep_last(latched).transient_local()
    } else if subscriptions.iter().any(QoS::is_latching) {
        QoS::keep_last(depth).transient_local()
    } else {
        QoS::keep_last(depth)
    };
    if let Some(deadline) = subscriptions.iter().filter_map(|wanted| wanted.deadline).min() {
        qos = qos.deadline(deadline);
    }
    let lease = subscriptions.iter().filter_map(|wanted| wanted.liveliness_lease).min();
    let liveliness = subscriptions.iter().map(|wanted| wanted.liveliness).max();
    qos.liveliness(liveliness.unwrap_or(Liveliness::Automatic), lease)
}

/// QoS of the publisher in ROS 1 that carries ROS 2 messages: it is latched if a publisher is transient local.
pub fn ros1_publisher_qos(publishers: &[QoS], depth: usize) -> QoS {
    let qos = QoS::keep_last(depth);
    if publishers.iter().any(QoS::is_latching) { qos.transient_local() } else { qos }
}

/// True if a publisher with this QoS has to be replaced, because the subscriptions request more, or because it has to keep
/// more messages for late subscribers.
pub fn is_outdated(current: &QoS, wanted: &QoS, subscriptions: &[QoS]) -> bool {
    let refuses = |subscription: &QoS| !subscription.incompatible_with(current).is_empty();
    let keeps_too_few = current.is_latching() && wanted.is_latching() && wanted.depth > current.depth;
    subscriptions.iter().any(refuses) || wanted.durability > current.durability || keeps_too_few
}

#[cfg(test)]
mod tests;
