//! Bridges between the two recorded graphs. What they publish is recorded where it comes from.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use runnel::Ros2Graph;
use runnel::bridge::bridge_of_node;

use super::master_query::Ros1Graph;

/// The bridges of both graphs. Those to another master or another domain bring messages that are recorded nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Bridges(Arc<RwLock<Foreign>>);

/// Bridges that are in one of the recorded graphs.
#[derive(Debug, Default)]
struct Foreign {
    /// By now.
    seen: BTreeSet<u64>,
    /// By now and the time before: a bridge enters the graphs one after the other.
    confirmed: BTreeSet<u64>,
}

impl Bridges {
    /// Takes both graphs as they are now.
    pub fn update(&self, ros1: &Ros1Graph, ros2: &Ros2Graph) {
        let state = &ros1.state;
        let holders = [&state.publishers, &state.subscribers, &state.services];
        let nodes = holders.into_iter().flat_map(|holders| holders.values().flatten());
        let in_ros1: BTreeSet<u64> = nodes.filter_map(|node| bridge_of_node(node)).collect();
        let in_ros2: BTreeSet<u64> =
            ros2.nodes.iter().filter_map(|node| bridge_of_node(&node.full_name)).collect();
        let seen = &in_ros1 ^ &in_ros2;
        let mut foreign = self.0.write().unwrap_or_else(PoisonError::into_inner);
        foreign.confirmed = &seen & &foreign.seen;
        foreign.seen = seen;
    }

    /// Whether a node repeats messages of the other recorded graph.
    pub fn repeats(&self, node: &str) -> bool {
        let foreign = || self.0.read().unwrap_or_else(PoisonError::into_inner);
        bridge_of_node(node).is_some_and(|bridge| !foreign().confirmed.contains(&bridge))
    }
}

#[cfg(test)]
mod tests {
    use runnel::bridge::bridge_node_name;
    use runnel::{Gid, NodeInfo};

    use super::*;
    use crate::graph::SystemState;

    #[test]
    fn bridges_of_one_graph_repeat_no_messages() {
        let name = |bridge| format!("/{}", bridge_node_name(bridge));
        let publishers = [("/a".to_owned(), vec![name(1), name(2), "/talker".to_owned()])].into();
        let state = SystemState { publishers, ..SystemState::default() };
        let ros1 = Ros1Graph { state, types: [].into() };
        let nodes = [2, 3].map(|bridge| NodeInfo { full_name: name(bridge), participant: Gid([0; 16]) });
        let ros2 = Ros2Graph { nodes: nodes.into(), ..Ros2Graph::default() };
        let bridges = Bridges::default();
        let repeating = || (1..=3).filter(|bridge| bridges.repeats(&name(*bridge))).collect::<Vec<u64>>();
        bridges.update(&ros1, &ros2);
        assert_eq!(repeating(), [1, 2, 3], "they may be about to enter the other graph");
        bridges.update(&ros1, &ros2);
        assert_eq!(repeating(), [2]);
        assert!(!bridges.repeats("/talker"));
    }
}
