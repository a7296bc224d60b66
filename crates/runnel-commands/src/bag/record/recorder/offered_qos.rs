//! The QoS that publishers offer.

use std::collections::BTreeMap;

use runnel::core::names::DdsTopic;
use runnel::{QoS, Ros2Graph};

use crate::graphs::is_publisher;

/// The QoS that the publishers of each topic offer, each with whether its history is known.
pub fn of_topics(graph: &Ros2Graph) -> BTreeMap<&str, Vec<(QoS, bool)>> {
    let mut offered: BTreeMap<&str, Vec<(QoS, bool)>> = BTreeMap::new();
    for end in graph.endpoints.iter().filter(|end| is_publisher(end)) {
        if let Some(DdsTopic::Topic(topic)) = end.ros_topic() {
            offered.entry(topic).or_default().push((end.qos, end.has_history));
        }
    }
    offered
}
