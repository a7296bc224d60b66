//! Bridges in the ROS 2 graph.

use super::Ros2;
use crate::ros2_graph::Gid;
use crate::rtps::{BridgeMark, EndpointMark, marked_endpoints};

impl Ros2 {
    /// Marks the endpoints of this process that are created from now on as those of a bridge.
    pub(crate) fn mark_as_bridge(&self, mark: BridgeMark) {
        self.rtps.iter().for_each(|rtps| rtps.mark_as_bridge(mark));
    }

    /// Sets the ROS 1 graph of this process's dual nodes.
    pub(crate) fn set_ros1_graph(&self, ros1_graph: u64) {
        self.rtps.iter().for_each(|rtps| rtps.set_ros1_graph(ros1_graph));
    }

    /// Whether the ROS 1 graph of this process's dual nodes is known.
    pub(crate) fn has_ros1_graph(&self) -> bool {
        self.rtps.as_ref().is_some_and(|rtps| rtps.has_ros1_graph())
    }

    /// The endpoints of bridges and dual nodes in other processes.
    pub(crate) fn marked_endpoints(&self) -> Vec<(Gid, EndpointMark)> {
        let marked = self.rtps.as_ref().map(|rtps| rtps.read(marked_endpoints));
        marked.into_iter().flatten().map(|(guid, mark)| (Gid(guid.to_bytes()), mark)).collect()
    }
}
