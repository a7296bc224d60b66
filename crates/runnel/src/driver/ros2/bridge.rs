//! Bridges in the ROS 2 graph.

use super::Ros2;
use crate::ros2_graph::Gid;
use crate::rtps::{BridgeMark, EndpointMark, marked_endpoints};

impl Ros2 {
    /// Marks the endpoints of this process that are created from now on as those of a bridge.
    pub(crate) fn mark_as_bridge(&self, mark: BridgeMark) {
        self.rtps.iter().for_each(|rtps| rtps.mark_as_bridge(mark));
    }

    /// The endpoints of bridges and dual nodes in other processes.
    pub(crate) fn marked_endpoints(&self) -> Vec<(Gid, EndpointMark)> {
        let marked = self.rtps.as_ref().map(|rtps| rtps.read(marked_endpoints));
        marked.into_iter().flatten().map(|(guid, mark)| (Gid(guid.to_bytes()), mark)).collect()
    }
}
