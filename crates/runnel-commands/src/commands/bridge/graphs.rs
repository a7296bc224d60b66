//! Both graphs as a bridge sees them: the ends of each topic, without those of dual nodes and bridges. Servers of services
//! and actions: see [`servers`](super::servers).

use std::collections::{BTreeMap, BTreeSet};

use runnel::bridge::{EndpointMark, bridge_of_node};
use runnel::core::names::DdsTopic;
use runnel::{EndpointInfo, EndpointType, Gid, Ros2Graph};
use runnel_bridge::AnnouncedType;
use runnel_bridge::decision::{BridgeId, TopicView};

use crate::graph::SystemState;

/// The ROS 1 graph as the master describes it.
#[derive(Clone, Debug, Default)]
pub struct Ros1View {
    /// Publishers and subscribers.
    pub state: SystemState,
    /// Types of topics.
    pub types: BTreeMap<String, String>,
}

/// The ROS 2 graph as this process has discovered it.
#[derive(Clone, Debug, Default)]
pub struct Ros2View {
    /// The graph.
    pub graph: Ros2Graph,
    /// The endpoints of dual nodes and of other bridges.
    pub marks: BTreeMap<Gid, EndpointMark>,
    /// The number of this bridge's ROS 1 graph.
    pub ros1_graph: u64,
}

/// The ends of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The ends by which it is decided what to carry.
    pub view: TopicView,
    /// The type according to the master.
    pub ros1_type: Option<AnnouncedType>,
    /// The types of publishers in ROS 2.
    pub ros2_published: Vec<AnnouncedType>,
    /// The types of subscriptions in ROS 2.
    pub ros2_subscribed: Vec<AnnouncedType>,
}

/// The ends of all topics that are in either graph.
pub fn ends(ros1: &Ros1View, ros2: &Ros2View) -> BTreeMap<String, Ends> {
    let mut topics: BTreeMap<String, Ends> = BTreeMap::new();
    let dual_nodes = ros2.dual_nodes();
    let count = |nodes: &[String]| {
        let is_other = |node: &&String| bridge_of_node(node).is_none() && !dual_nodes.contains(node.as_str());
        nodes.iter().filter(is_other).count()
    };
    for (topic, nodes) in &ros1.state.publishers {
        topics.entry(topic.clone()).or_default().view.ros1_publishers = count(nodes);
    }
    for (topic, nodes) in &ros1.state.subscribers {
        topics.entry(topic.clone()).or_default().view.ros1_subscribers = count(nodes);
    }
    for (topic, ends) in &mut topics {
        let known = ros1.types.get(topic).filter(|name| !matches!(name.as_str(), "" | "*"));
        ends.ros1_type = known.map(|name| AnnouncedType { name: name.clone(), ..AnnouncedType::default() });
    }
    for endpoint in ros2.other_endpoints() {
        if let Some(DdsTopic::Topic(topic)) = endpoint.ros_topic() {
            topics.entry(topic.to_owned()).or_default().add(endpoint, ros2);
        }
    }
    topics
}

impl Ros2View {
    /// The names of nodes that are in both graphs of this bridge.
    pub fn dual_nodes(&self) -> BTreeSet<&str> {
        let participants = self.dual_participants();
        let announced = self.graph.nodes.iter().filter(|node| participants.contains(&node.participant));
        let of_endpoints =
            self.graph.endpoints.iter().filter(|end| participants.contains(&end.gid.participant()));
        let announced = announced.map(|node| node.full_name.as_str());
        announced.chain(of_endpoints.filter_map(|end| end.node.as_deref())).collect()
    }

    /// The participants of nodes that are in both graphs of this bridge. Those of another ROS 1 graph are only in ROS 2, as this
    /// bridge sees them.
    pub fn dual_participants(&self) -> BTreeSet<Gid> {
        let dual = self.marks.iter().filter(|(_, mark)| mark.is_dual_in(self.ros1_graph));
        dual.map(|(gid, _)| gid.participant()).collect()
    }

    /// The endpoints in other processes.
    pub fn other_endpoints(&self) -> impl Iterator<Item = &EndpointInfo> {
        let own: BTreeSet<Gid> =
            self.graph.participants.iter().filter(|one| one.is_own).map(|one| one.gid).collect();
        self.graph.endpoints.iter().filter(move |end| !own.contains(&end.gid.participant()))
    }
}

impl Ends {
    fn add(&mut self, endpoint: &EndpointInfo, ros2: &Ros2View) {
        match ros2.marks.get(&endpoint.gid) {
            Some(mark) if mark.is_dual_in(ros2.ros1_graph) => {}
            Some(EndpointMark::Bridge(mark)) if mark.ros1_graph == ros2.ros1_graph => {
                let other = match endpoint.endpoint_type {
                    EndpointType::Publisher => &mut self.view.other_to_ros2,
                    EndpointType::Subscription => &mut self.view.other_to_ros1,
                };
                let bridge = BridgeId(mark.bridge);
                *other = Some(other.map_or(bridge, |other| other.min(bridge)));
            }
            Some(EndpointMark::Bridge(_)) => {}
            Some(EndpointMark::DualNode(_)) | None => self.add_end(endpoint),
        }
    }

    fn add_end(&mut self, endpoint: &EndpointInfo) {
        let announced = AnnouncedType {
            name: endpoint.ros_type(),
            sum: endpoint.type_hash.clone().unwrap_or_default(),
            definition: String::new(),
        };
        let (qos, types) = match endpoint.endpoint_type {
            EndpointType::Publisher => (&mut self.view.ros2_publishers, &mut self.ros2_published),
            EndpointType::Subscription => (&mut self.view.ros2_subscriptions, &mut self.ros2_subscribed),
        };
        qos.push(endpoint.qos);
        if !types.contains(&announced) {
            types.push(announced);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::bridge::{BridgeMark, bridge_node_name};

    const HERE: u64 = 1;

    fn ros1(publishers: &[&str], subscribers: &[&str]) -> Ros1View {
        let holders = |nodes: &[&str]| {
            BTreeMap::from([("/t".to_owned(), nodes.iter().map(|node| (*node).to_owned()).collect())])
        };
        Ros1View {
            state: SystemState {
                publishers: holders(publishers),
                subscribers: holders(subscribers),
                ..SystemState::default()
            },
            types: BTreeMap::from([("/t".to_owned(), "std_msgs/String".to_owned())]),
        }
    }

    /// A graph of participants with one endpoint each on `/t`, and their marks.
    fn ros2(endpoints: &[(u8, bool, Option<EndpointMark>)]) -> Ros2View {
        let listed: Vec<_> = endpoints.iter().map(|(of, publishes, _)| ("rt/t", *of, *publishes)).collect();
        let graph = graph(&listed);
        let marks = graph.endpoints.iter().zip(endpoints);
        let marks = marks.filter_map(|(end, (.., mark))| Some((end.gid, (*mark)?))).collect();
        Ros2View { graph, marks, ros1_graph: HERE }
    }

    fn bridge(bridge: u64, ros1_graph: u64) -> Option<EndpointMark> {
        Some(EndpointMark::Bridge(BridgeMark { bridge, ros1_graph }))
    }

    fn topic(ros1: &Ros1View, ros2: &Ros2View) -> Ends {
        ends(ros1, ros2).remove("/t").unwrap()
    }

    #[test]
    fn ends_of_single_graphs_are_counted() {
        let ends = topic(&ros1(&["/a", "/b"], &["/c"]), &ros2(&[(1, true, None), (2, false, None)]));
        assert_eq!((ends.view.ros1_publishers, ends.view.ros1_subscribers), (2, 1));
        assert_eq!((ends.view.ros2_publishers.len(), ends.view.ros2_subscriptions.len()), (1, 1));
        assert_eq!(ends.ros2_published[0].name, "std_msgs/msg/String");
        assert_eq!(ends.ros1_type.unwrap().name, "std_msgs/String");
    }

    #[test]
    fn dual_nodes_do_not_count_in_either_graph() {
        for graph in [None, Some(HERE)] {
            let dual = Some(EndpointMark::DualNode(graph));
            let ros2 = ros2(&[(1, true, dual), (1, false, dual)]);
            let ends = topic(&ros1(&["/node1"], &["/node1", "/c"]), &ros2);
            assert_eq!((ends.view.ros1_publishers, ends.view.ros1_subscribers), (0, 1));
            assert!(ends.view.ros2_publishers.is_empty() && ends.view.ros2_subscriptions.is_empty());
        }
    }

    #[test]
    fn dual_nodes_of_another_ros1_graph_count_in_ros2() {
        let dual = Some(EndpointMark::DualNode(Some(HERE + 1)));
        let ends = topic(&ros1(&["/node1"], &["/node1", "/c"]), &ros2(&[(1, true, dual), (1, false, dual)]));
        assert_eq!((ends.view.ros1_publishers, ends.view.ros1_subscribers), (1, 2));
        assert_eq!((ends.view.ros2_publishers.len(), ends.view.ros2_subscriptions.len()), (1, 1));
    }

    #[test]
    fn other_bridges_are_seen_but_not_counted() {
        let name = format!("/{}", bridge_node_name(7));
        let found = ros2(&[
            (1, true, bridge(7, HERE)),
            (2, true, bridge(3, HERE)),
            (3, false, bridge(9, HERE)),
            (4, true, bridge(1, HERE + 1)),
        ]);
        let ends = topic(&ros1(&[&name], &[&name]), &found);
        assert_eq!((ends.view.ros1_publishers, ends.view.ros1_subscribers), (0, 0));
        assert!(ends.view.ros2_publishers.is_empty());
        assert_eq!(ends.view.other_to_ros2, Some(BridgeId(3)));
        assert_eq!(ends.view.other_to_ros1, Some(BridgeId(9)));
    }

    #[test]
    fn own_endpoints_are_left_out() {
        let mut found = ros2(&[(1, true, None)]);
        found.graph.participants[0].is_own = true;
        assert!(topic(&ros1(&["/a"], &[]), &found).view.ros2_publishers.is_empty());
    }
}
