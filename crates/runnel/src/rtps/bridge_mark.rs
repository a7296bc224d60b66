//! Marks of the endpoints of bridges and of dual nodes in the ROS 2 graph. Bridges pass nothing on from each other, and leave
//! nodes alone that are in both graphs which they join.

use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::Guid;
use runnel_rtps::{Audience, EndpointOptions, Participant};

use super::dual_node_id::dual_node_id_in;
use super::{Rtps, TOPIC};
use crate::sync::lock;

/// Key in the user data; see the one of dual nodes.
const KEY: &str = "runnelbridge=";

/// Key of the ROS 1 graph of a dual node.
const GRAPH_KEY: &str = "runnelmaster=";

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
    /// It belongs to a node that is also in ROS 1: in the graph of this number, if it announces that.
    DualNode(Option<u64>),
    /// It belongs to a bridge.
    Bridge(BridgeMark),
}

impl BridgeMark {
    fn user_data_entry(self) -> String {
        format!("{KEY}{:016x}{:016x};", self.bridge, self.ros1_graph)
    }

    fn find(user_data: &[u8]) -> Option<Self> {
        let (bridge, ros1_graph) = value_of(KEY, user_data)?.split_at_checked(16)?;
        Some(Self { bridge: number(bridge)?, ros1_graph: number(ros1_graph)? })
    }
}

/// The value of a key in an endpoint's user data.
fn value_of<'a>(key: &str, user_data: &'a [u8]) -> Option<&'a str> {
    let mut words = user_data.split(|byte| *byte == b';');
    str::from_utf8(words.find_map(|word| word.strip_prefix(key.as_bytes()))?).ok()
}

/// A number of 16 hexadecimal digits.
fn number(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16)
}

fn graph_entry(ros1_graph: u64) -> String {
    format!("{GRAPH_KEY}{ros1_graph:016x};")
}

impl EndpointMark {
    pub(crate) fn find(user_data: &[u8]) -> Option<Self> {
        let bridge = BridgeMark::find(user_data).map(Self::Bridge);
        let dual = || {
            dual_node_id_in(user_data)?;
            Some(Self::DualNode(value_of(GRAPH_KEY, user_data).and_then(number)))
        };
        bridge.or_else(dual)
    }

    /// Whether it belongs to a node that is also in this ROS 1 graph. One that announces none may be in it.
    #[must_use]
    pub fn is_dual_in(self, ros1_graph: u64) -> bool {
        matches!(self, Self::DualNode(graph) if graph.is_none_or(|graph| graph == ros1_graph))
    }

    /// Whether it belongs to a node that is also in ROS 1, but in another graph than this one.
    fn is_dual_outside(self, ros1_graph: u64) -> bool {
        matches!(self, Self::DualNode(_)) && !self.is_dual_in(ros1_graph)
    }
}

/// Whether a bridge to this ROS 1 graph serves the node of an endpoint.
fn is_served(endpoint: &Endpoint, ros1_graph: u64) -> bool {
    EndpointMark::find(&endpoint.user_data).is_none_or(|mark| mark.is_dual_outside(ros1_graph))
}

impl Rtps {
    /// Sets the ROS 1 graph of this process's dual nodes. Their endpoints that are created from now on announce it.
    pub(crate) fn set_ros1_graph(&self, ros1_graph: u64) {
        // All nodes of a context have one master, so a second number is the same.
        let _ = self.ros1_graph.set(ros1_graph);
    }

    /// Whether that graph is known.
    pub(crate) fn has_ros1_graph(&self) -> bool {
        self.ros1_graph.get().is_some()
    }

    /// Marks the endpoints that are created from now on. Their writers serve only nodes that are not in the ROS 1 graph. The
    /// first mark stays.
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

    /// Whether this process is a bridge, and an endpoint belongs to a node that is in another ROS 1 graph than the bridge's.
    pub(super) fn is_of_other_graph(&self, user_data: &[u8]) -> bool {
        let (mark, endpoint) = (self.bridge_mark.get(), EndpointMark::find(user_data));
        mark.zip(endpoint).is_some_and(|(mark, endpoint)| endpoint.is_dual_outside(mark.ros1_graph))
    }

    /// The options with the mark of this process, if they are for a ROS topic.
    pub(super) fn marked(&self, mut options: EndpointOptions) -> EndpointOptions {
        if !options.topic.starts_with(TOPIC) {
            return options;
        }
        if let Some(mark) = self.bridge_mark.get() {
            options.user_data.extend_from_slice(mark.user_data_entry().as_bytes());
        }
        let is_dual = dual_node_id_in(&options.user_data).is_some();
        if let Some(ros1_graph) = self.ros1_graph.get().filter(|_| is_dual) {
            options.user_data.extend_from_slice(graph_entry(*ros1_graph).as_bytes());
        }
        options
    }

    /// The entry with the mark of this process in the user data of the endpoints of services.
    pub(super) fn bridge_mark_entry(&self) -> String {
        self.bridge_mark.get().map(|mark| mark.user_data_entry()).unwrap_or_default()
    }

    /// Which readers a new writer serves, if not all.
    pub(super) fn audience(&self) -> Option<Audience> {
        let ros1_graph = self.bridge_mark.get()?.ros1_graph;
        Some(Audience::new(move |reader| is_served(reader, ros1_graph)))
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
            (user_data_entry(5), Some(EndpointMark::DualNode(None))),
            (format!("{};{}", user_data_entry(5), graph_entry(7)), Some(EndpointMark::DualNode(Some(7)))),
            (graph_entry(7), None),
            ("runnelbridge=12;".into(), None),
            (format!("runnelbridge={};", "0".repeat(33)), None),
            (String::new(), None),
        ] {
            assert_eq!(EndpointMark::find(user_data.as_bytes()), expected, "{user_data}");
        }
        assert_eq!(EndpointMark::find(&[0xff; 40]), None);
    }

    #[test]
    fn dual_node_of_another_ros1_graph_is_not_in_ours() {
        for (graph, is_in) in [(None, true), (Some(1), true), (Some(2), false)] {
            let mark = EndpointMark::DualNode(graph);
            assert_eq!((mark.is_dual_in(1), mark.is_dual_outside(1)), (is_in, !is_in), "{graph:?}");
        }
        let bridge = EndpointMark::Bridge(BridgeMark { bridge: 1, ros1_graph: 2 });
        assert!(!bridge.is_dual_in(1) && !bridge.is_dual_outside(1));
    }
}
