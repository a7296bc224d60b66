//! Mark of the endpoints of bridges in the ROS 2 graph. Bridges pass nothing on from each other, and leave nodes alone that
//! are in both graphs.

use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::Guid;
use runnel_rtps::{EndpointOptions, Participant};

use super::dual_node_id::dual_node_id_in;
use super::{Rtps, TOPIC};
use crate::sync::lock;

/// Key in the user data; see the one of dual nodes.
const KEY: &str = "runnelbridge=";

/// A bridge as its endpoints announce it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BridgeMark {
    /// Its number, as in the name of its nodes.
    pub bridge: u64,
    /// Identifies the ROS 1 graph that it joins: bridges to different ROS 1 graphs carry different topics.
    pub ros1_graph: u64,
}

/// What an endpoint of the ROS 2 graph is besides an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointMark {
    /// It belongs to a node that is in both graphs.
    DualNode,
    /// It belongs to a bridge.
    Bridge(BridgeMark),
}

impl BridgeMark {
    fn user_data_entry(self) -> String {
        format!("{KEY}{:016x}{:016x};", self.bridge, self.ros1_graph)
    }

    fn find(user_data: &[u8]) -> Option<Self> {
        let mut words = user_data.split(|byte| *byte == b';');
        let digits = words.find_map(|word| word.strip_prefix(KEY.as_bytes()))?;
        let (bridge, ros1_graph) = str::from_utf8(digits).ok()?.split_at_checked(16)?;
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16);
        Some(Self { bridge: number(bridge)?, ros1_graph: number(ros1_graph)? })
    }
}

impl EndpointMark {
    pub(crate) fn find(user_data: &[u8]) -> Option<Self> {
        let bridge = BridgeMark::find(user_data).map(Self::Bridge);
        bridge.or_else(|| dual_node_id_in(user_data).map(|_| Self::DualNode))
    }
}

/// Whether an endpoint belongs to a node that is in ROS 2 only.
fn is_only_in_ros2(endpoint: &Endpoint) -> bool {
    EndpointMark::find(&endpoint.user_data).is_none()
}

impl Rtps {
    /// Marks the endpoints that are created from now on. Their writers serve only nodes that are in ROS 2 only. The first
    /// mark stays.
    pub(crate) fn mark_as_bridge(&self, mark: BridgeMark) {
        // A second call has the same process as its source.
        let _ = self.bridge_mark.set(mark);
    }

    /// Whether an endpoint belongs to a bridge.
    pub(crate) fn is_of_bridge(&self, endpoint: Guid) -> bool {
        let core = lock(&self.core);
        let user_data = core.participant.endpoint(endpoint).map(|endpoint| endpoint.user_data.as_slice());
        user_data.is_some_and(|user_data| BridgeMark::find(user_data).is_some())
    }

    /// The options with the mark of this process, if they are for a ROS topic.
    pub(super) fn marked(&self, mut options: EndpointOptions) -> EndpointOptions {
        if let Some(mark) = self.bridge_mark.get().filter(|_| options.topic.starts_with(TOPIC)) {
            options.user_data.extend_from_slice(mark.user_data_entry().as_bytes());
        }
        options
    }

    /// The entry with the mark of this process in the user data of the endpoints of services.
    pub(super) fn bridge_mark_entry(&self) -> String {
        self.bridge_mark.get().map(|mark| mark.user_data_entry()).unwrap_or_default()
    }

    /// Which readers a new writer serves, if not all.
    pub(super) fn audience(&self) -> Option<runnel_rtps::Audience> {
        self.bridge_mark.get().map(|_| is_only_in_ros2 as runnel_rtps::Audience)
    }
}

/// The endpoints of dual nodes and bridges in other processes.
pub(crate) fn marked_endpoints(participant: &Participant) -> Vec<(Guid, EndpointMark)> {
    let endpoints = participant.peers().flat_map(|peer| peer.endpoints());
    endpoints.filter_map(|endpoint| Some((endpoint.guid, EndpointMark::find(&endpoint.user_data)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtps::dual_node_id::user_data_entry;

    #[test]
    fn mark_is_found_in_user_data() {
        let mark = BridgeMark { bridge: 0xab, ros1_graph: u64::MAX };
        let bridge = Some(EndpointMark::Bridge(mark));
        for (user_data, expected) in [
            (mark.user_data_entry(), bridge),
            (format!("typehash=RIHS01_0;{}", mark.user_data_entry()), bridge),
            (user_data_entry(5), Some(EndpointMark::DualNode)),
            ("runnelbridge=12;".into(), None),
            (format!("runnelbridge={};", "0".repeat(33)), None),
            (String::new(), None),
        ] {
            assert_eq!(EndpointMark::find(user_data.as_bytes()), expected, "{user_data}");
        }
        assert_eq!(EndpointMark::find(&[0xff; 40]), None);
    }
}
