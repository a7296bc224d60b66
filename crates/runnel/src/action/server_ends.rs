//! What an action server publishes in each graph.

use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{Encoding, Wire, cdr};
use runnel_msgs::actionlib_msgs::msg::GoalStatusArray;

use super::content::Content;
use super::goal_registry::{Entry, GoalRegistry};
use super::goal_requests::ClientRequest;
use super::header::{header, wire_status, write_status_head};
use super::ros2_message::{status_list, write_with_uuid};
use super::types::{ActionTypes, Ros1ActionTypes, Type, ros2_name, ros2_status};
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};
use crate::node::Node;
use crate::topics::publisher::BytesPublisher;
use crate::types::announced::{Ros2Type, Topic};

/// Queue depth of results and feedback for a slow ROS 1 client.
const DEPTH: usize = 1000;

/// Queue depth of ROS 1 status lists: each replaces those before it.
const LISTS: usize = 50;

/// Queue depth of feedback in ROS 2, that of the original.
const ROS2_DEPTH: usize = 10;

/// The publishers of a server in the graphs of its node.
pub(super) struct ServerEnds {
    pub(super) ros1: Option<Ros1ServerEnd>,
    pub(super) ros2: Option<Ros2ServerEnd>,
}

/// The topics of actionlib.
pub(super) struct Ros1ServerEnd {
    lists: BytesPublisher,
    feedback: BytesPublisher,
    results: BytesPublisher,
}

/// The topics of a ROS 2 action.
pub(super) struct Ros2ServerEnd {
    status: BytesPublisher,
    feedback: BytesPublisher,
}

/// A goal, and its status for messages about it.
pub(super) struct GoalReport<'a> {
    pub(super) id: &'a GoalId,
    pub(super) stamp: Time,
    pub(super) status: GoalStatus,
    pub(super) text: &'a str,
}

impl ServerEnds {
    pub(super) fn new(node: &Node, action: &str, types: ActionTypes) -> Result<Self, Error> {
        let ros1 = types.ros1.filter(|_| node.inner.is_in_ros1());
        let ros2 = types.ros2.filter(|_| node.inner.is_in_ros2());
        Ok(Self {
            ros1: ros1.map(|types| Ros1ServerEnd::new(node, action, types)).transpose()?,
            ros2: ros2.map(|types| Ros2ServerEnd::new(node, action, types.feedback)).transpose()?,
        })
    }

    /// Publishes feedback in the graph of the goal's client.
    pub(super) fn publish_feedback(
        &self,
        goal: &GoalReport<'_>,
        now: Time,
        feedback: &dyn Content,
    ) -> Result<(), Error> {
        match (goal.id.uuid(), &self.ros1, &self.ros2) {
            (Some(uuid), _, Some(Ros2ServerEnd { feedback: topic, .. })) => {
                topic.publish_encoded(|encoding, out| write_with_uuid(uuid, feedback, encoding, out))
            }
            (None, Some(Ros1ServerEnd { feedback: topic, .. }), _) => publish(topic, goal, now, feedback),
            _ => Ok(()),
        }
    }
}

impl Ros1ServerEnd {
    fn new(node: &Node, action: &str, types: Ros1ActionTypes) -> Result<Self, Error> {
        let topic = |of: Type, suffix: &str, qos: QoS| {
            Ok::<_, Error>(BytesPublisher::new(node.publishing(&of.topic(node, action, suffix)?, qos)?))
        };
        Ok(Self {
            results: topic(types.result, "result", QoS::keep_last(DEPTH))?,
            feedback: topic(types.feedback, "feedback", QoS::keep_last(DEPTH))?,
            lists: topic(Type::status(), "status", QoS::keep_last(LISTS).transient_local())?,
        })
    }

    /// Publishes the result of a goal that ends with this status.
    pub(super) fn publish_end(
        &self,
        goal: &GoalReport<'_>,
        now: Time,
        result: &dyn Content,
    ) -> Result<(), Error> {
        publish(&self.results, goal, now, result)
    }

    /// Publishes the list of the goals of ROS 1 clients.
    pub(super) fn publish_list<H, R>(&self, goals: &[Entry<H, R>], now: Time) -> Result<(), Error> {
        let of_ros1 = goals.iter().filter(|entry| entry.id.uuid().is_none());
        let sent =
            |Entry { id, stamp, status, text, .. }: &Entry<_, _>| wire_status(id, *stamp, *status, text);
        let list = GoalStatusArray { header: header(now), status_list: of_ros1.map(sent).collect() };
        self.lists.publish(|out| list.write(out))
    }
}

impl Ros2ServerEnd {
    fn new(node: &Node, action: &str, feedback: Ros2Type) -> Result<Self, Error> {
        let topic = |of, suffix: &str, qos: QoS| {
            let topic = Topic::of_ros2(ros2_name(node, action, suffix)?, of);
            Ok::<_, Error>(BytesPublisher::new(node.publishing(&topic, qos)?))
        };
        Ok(Self {
            feedback: topic(feedback, "feedback", QoS::keep_last(ROS2_DEPTH))?,
            status: topic(ros2_status(), "status", QoS::keep_last(1).transient_local())?,
        })
    }

    /// Publishes the list of the goals of ROS 2 clients.
    pub(super) fn publish_list<H: Clone, R: ClientRequest>(
        &self,
        goals: &GoalRegistry<H, R>,
    ) -> Result<(), Error> {
        let list = status_list(goals.ros2_list());
        self.status.publish_encoded(|encoding, out| Ok(cdr::encode_into(&list, encoding, out)?))
    }
}

/// Publishes a ROS 1 message of content behind a goal's status.
fn publish(
    topic: &BytesPublisher,
    goal: &GoalReport<'_>,
    now: Time,
    content: &dyn Content,
) -> Result<(), Error> {
    let GoalReport { id, stamp, status, text } = *goal;
    let status = wire_status(id, stamp, status, text);
    topic.publish_encoded(|_, out| {
        content.encode(Encoding::Ros1, &|out| write_status_head(out, now, &status), out)
    })
}
