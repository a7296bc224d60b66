//! The subscribers of a topic that is published.

use runnel::core::names::DdsTopic;
use runnel::{Context, EndpointInfo, EndpointType, Reliability};

use crate::error::CliError;
use crate::graphs::{GraphSnapshot, Topic};

/// True if a best-effort subscription of ROS 2 exists, which gets lost messages only once.
pub fn has_best_effort_subscription(context: &Context, topic: &str) -> Result<bool, CliError> {
    let graph = context.ros2_graph()?.unwrap_or_default();
    let is_best_effort = |end: &EndpointInfo| end.qos.reliability == Reliability::BestEffort;
    Ok(graph.endpoints.iter().any(|end| subscribes(end, topic) && is_best_effort(end)))
}

fn subscribes(end: &EndpointInfo, topic: &str) -> bool {
    end.endpoint_type == EndpointType::Subscription && end.ros_topic() == Some(DdsTopic::Topic(topic))
}

/// True if any node subscribes, with any type and QoS.
pub fn subscribed(snapshot: &GraphSnapshot, topic: &str) -> Result<bool, CliError> {
    let graph = snapshot.context().ros2_graph()?.unwrap_or_default();
    let in_ros2 = graph.endpoints.iter().any(|end| subscribes(end, topic));
    let ros1_state = snapshot.ros1().and_then(|graph| graph.system_state().ok());
    Ok(in_ros2 || ros1_state.is_some_and(|state| state.subscribers.contains_key(topic)))
}

/// Number of ROS 1 subscribers that are not dual nodes. A dual node connects once.
pub fn ros1_only_count(topic: &Topic) -> usize {
    let ros2 = topic.ros2.as_ref().map_or(&[][..], |side| &side.subscribers);
    let ros1 = topic.ros1.iter().flat_map(|side| &side.subscribers);
    ros1.filter(|node| !ros2.contains(node)).count()
}
