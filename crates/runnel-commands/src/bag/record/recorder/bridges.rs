//! Bridges between the two recorded graphs. What they publish is recorded where it comes from.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use runnel::bridge::bridge_of_node;
use runnel::{Context, Error, Graphs, Ros2Graph};

use super::master_query::{MasterQuery, Ros1Graph};

/// The bridges of both graphs. Those to another master or another domain bring messages that are recorded nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Bridges(Arc<RwLock<ForeignBridges>>);

/// Bridges that are in one of the recorded graphs.
#[derive(Debug, Default)]
struct ForeignBridges {
    /// By now; `None` before the first look.
    seen: Option<BTreeSet<u64>>,
    /// By now and the time before: a bridge enters the graphs one after the other.
    confirmed: BTreeSet<u64>,
}

impl Bridges {
    /// Those of a context in both graphs.
    ///
    /// # Errors
    /// When the graph cannot be read.
    pub fn of_context(context: &Context) -> Result<Self, Error> {
        let bridges = Self::default();
        if context.graphs() == Graphs::Both
            && let Some(ros2) = context.ros2_graph()?
            && let Some(ros1) = MasterQuery::default().poll(context)
        {
            bridges.update(&ros1, &ros2);
        }
        Ok(bridges)
    }

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
        // Those of the first look run already. A later one may be about to enter the other graph.
        foreign.confirmed = foreign.seen.as_ref().map_or_else(|| seen.clone(), |before| &seen & before);
        foreign.seen = Some(seen);
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
        let repeating = || (1..=4).filter(|bridge| bridges.repeats(&name(*bridge))).collect::<Vec<u64>>();
        assert_eq!(repeating(), [1, 2, 3, 4], "nothing is known");
        bridges.update(&ros1, &ros2);
        assert_eq!(repeating(), [2, 4], "1 and 3 run already");
        let mut later = ros1.state.clone();
        later.publishers.entry("/a".to_owned()).or_default().push(name(4));
        let ros1 = Ros1Graph { state: later, types: [].into() };
        bridges.update(&ros1, &ros2);
        assert_eq!(repeating(), [2, 4], "it may be about to enter the other graph");
        bridges.update(&ros1, &ros2);
        assert_eq!(repeating(), [2]);
        assert!(!bridges.repeats("/talker"));
    }
}
