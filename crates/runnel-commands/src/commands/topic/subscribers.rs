//! The subscribers of a topic that is published.

use runnel::core::names::DdsTopic;
use runnel::{Context, EndpointInfo, EndpointType, Reliability, Ros2Graph};

use super::mismatch::{Reason, reason};
use crate::error::CliError;
use crate::graphs::{GraphSnapshot, Topic, publishes};

/// Whether a best-effort ROS 2 subscription exists. Those get no retransmissions, so `pub` waits before the first
/// message.
pub fn has_best_effort_subscription(context: &Context, topic: &str) -> Result<bool, CliError> {
    let graph = context.ros2_graph()?.unwrap_or_default();
    let is_best_effort = |end: &EndpointInfo| end.qos.reliability == Reliability::BestEffort;
    Ok(graph.endpoints.iter().any(|end| subscribes(end, topic) && is_best_effort(end)))
}

fn subscribes(end: &EndpointInfo, topic: &str) -> bool {
    end.endpoint_type == EndpointType::Subscription && end.ros_topic() == Some(DdsTopic::Topic(topic))
}

/// Whether any node subscribes, with any type and QoS.
pub fn has_subscriber(snapshot: &GraphSnapshot, topic: &str) -> Result<bool, CliError> {
    let graph = snapshot.context().ros2_graph()?.unwrap_or_default();
    let in_ros2 = graph.endpoints.iter().any(|end| subscribes(end, topic));
    let ros1_state = snapshot.ros1().and_then(|graph| graph.system_state().ok());
    Ok(in_ros2 || ros1_state.is_some_and(|state| state.subscribers.contains_key(topic)))
}

/// The number of ROS 2 subscriptions that do not match this program's publisher of a topic.
pub fn mismatch_count(context: &Context, topic: &str) -> Result<usize, CliError> {
    let graph = context.ros2_graph()?.unwrap_or_default();
    Ok(own_mismatches(&graph, topic).len())
}

fn own_mismatches(graph: &Ros2Graph, topic: &str) -> Vec<Reason> {
    let is_own = |end: &EndpointInfo| graph.participant(end.gid).is_some_and(|one| one.is_own);
    let own: Vec<_> = graph.endpoints.iter().filter(|end| publishes(end, topic) && is_own(end)).collect();
    let others = graph.endpoints.iter().filter(|end| subscribes(end, topic));
    others.flat_map(|other| own.iter().filter_map(move |one| reason(one, other))).collect()
}

/// Number of ROS 1 subscribers that are not dual nodes. A dual node connects once.
pub fn ros1_only_count(topic: &Topic) -> usize {
    let ros2 = topic.ros2.as_ref().map_or(&[][..], |side| &side.subscribers);
    let ros1 = topic.ros1.iter().flat_map(|side| &side.subscribers);
    ros1.filter(|node| !ros2.contains(node)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::core::qos::QoS;

    #[test]
    fn only_own_publisher_is_compared() {
        let mut graph =
            graph(&[("rt/a", 1, true), ("rt/a", 2, false), ("rt/a", 3, true), ("rt/b", 4, false)]);
        graph.participants[0].is_own = true;
        assert_eq!(own_mismatches(&graph, "/a"), []);
        graph.endpoints[1].qos = QoS::keep_last(1).transient_local();
        let reasons = own_mismatches(&graph, "/a");
        let [reason] = &reasons[..] else { panic!("{reasons:?}") };
        let expected = "No messages from publisher /node1 to subscription /node2: incompatible QoS: durability VOLATILE \
                        is offered, TRANSIENT_LOCAL is requested";
        assert_eq!(reason.what, expected);
    }
}
