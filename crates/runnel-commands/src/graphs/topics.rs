//! The topics of both graphs.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::core::schema::TypeName;
use runnel::{EndpointInfo, EndpointType, Ros2Graph};

use crate::graph::SystemState;

/// The topics of both graphs, by name.
#[derive(Clone, Debug, Default)]
pub struct Topics(pub BTreeMap<String, Topic>);

/// A topic, in one or both graphs.
#[derive(Clone, Debug, Default)]
pub struct Topic {
    /// Its data in ROS 1.
    pub ros1: Option<Side>,
    /// Its data in ROS 2.
    pub ros2: Option<Side>,
}

/// A topic in one graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Its types; several if its endpoints disagree.
    pub types: BTreeSet<String>,
    /// The nodes that publish it, once per publisher.
    pub publishers: Vec<String>,
    /// The nodes that subscribe to it, once per subscription.
    pub subscribers: Vec<String>,
}

impl Topics {
    /// Adds the topics of the master.
    pub fn add_ros1(&mut self, state: &SystemState, types: &BTreeMap<String, String>) {
        for name in state.topics() {
            let nodes =
                |holders: &BTreeMap<String, Vec<String>>| holders.get(name).cloned().unwrap_or_default();
            let known = types.get(name).filter(|name| *name != "*").cloned();
            let side = Side {
                types: known.into_iter().collect(),
                publishers: nodes(&state.publishers),
                subscribers: nodes(&state.subscribers),
            };
            self.0.entry(name.to_owned()).or_default().ros1 = Some(side);
        }
    }

    /// Adds the topics of the ROS 2 graph.
    pub fn add_ros2(&mut self, graph: &Ros2Graph) {
        for end in &graph.endpoints {
            let Some(DdsTopic::Topic(name)) = end.ros_topic() else { continue };
            let side = self.0.entry(name.to_owned()).or_default().ros2.get_or_insert_default();
            side.types.insert(end.ros_type());
            let nodes = match end.endpoint_type {
                EndpointType::Publisher => &mut side.publishers,
                EndpointType::Subscription => &mut side.subscribers,
            };
            nodes.push(holder(end));
            nodes.sort();
        }
    }

    /// The names of the topics.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Keeps only the topics of these names.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }

    /// Removes publishers or subscribers, and topics that then have no end.
    pub fn keep_ends(&mut self, publishers: bool, subscribers: bool) {
        self.0.retain(|_, topic| {
            for side in [&mut topic.ros1, &mut topic.ros2] {
                if let Some(held) = side {
                    held.publishers.truncate(if publishers { usize::MAX } else { 0 });
                    held.subscribers.truncate(if subscribers { usize::MAX } else { 0 });
                }
                side.take_if(|held| held.publishers.is_empty() && held.subscribers.is_empty());
            }
            topic.ros1.is_some() || topic.ros2.is_some()
        });
    }

    /// Publishers and subscribers of both graphs.
    pub fn state(&self) -> SystemState {
        let held = |of: fn(&Side) -> &Vec<String>| {
            let nodes =
                |topic: &Topic| topic.sides().flat_map(|(_, side)| of(side).clone()).collect::<Vec<_>>();
            let rows = self.0.iter().map(|(name, topic)| (name.clone(), nodes(topic)));
            rows.filter(|(_, nodes)| !nodes.is_empty()).collect()
        };
        SystemState {
            publishers: held(|side| &side.publishers),
            subscribers: held(|side| &side.subscribers),
            ..SystemState::default()
        }
    }

    /// True if both graphs have topics.
    pub fn are_in_both(&self) -> bool {
        let any = |there: fn(&Topic) -> bool| self.0.values().any(there);
        any(|topic| topic.ros1.is_some()) && any(|topic| topic.ros2.is_some())
    }
}

impl Topic {
    /// Its types. Types of both graphs are spelt as in ROS 2.
    pub fn types(&self) -> Vec<&str> {
        let ros2: Vec<&str> = self.ros2.iter().flat_map(|side| &side.types).map(String::as_str).collect();
        let known: Vec<_> = ros2.iter().filter_map(|name| TypeName::parse(name)).collect();
        let ros1 = self.ros1.iter().flat_map(|side| &side.types).map(String::as_str);
        let only_ros1 = ros1.filter(|name| TypeName::parse(name).is_none_or(|name| !known.contains(&name)));
        ros2.iter().copied().chain(only_ros1).collect()
    }

    /// The graphs in which it exists, with its data there.
    pub fn sides(&self) -> impl Iterator<Item = (&'static str, &Side)> {
        let sides = [("ROS 1", &self.ros1), ("ROS 2", &self.ros2)];
        sides.into_iter().filter_map(|(graph, side)| Some((graph, side.as_ref()?)))
    }
}

/// The node of an endpoint, or its GID if its participant announces no nodes.
pub fn holder(end: &EndpointInfo) -> String {
    end.node.clone().unwrap_or_else(|| end.gid.to_string())
}

pub fn is_publisher(end: &EndpointInfo) -> bool {
    end.endpoint_type == EndpointType::Publisher
}

/// Whether an endpoint publishes this topic of ROS.
pub fn publishes(end: &EndpointInfo, topic: &str) -> bool {
    is_publisher(end) && end.ros_topic() == Some(DdsTopic::Topic(topic))
}

/// True if a part of a name begins with an underscore: ROS 2 tools hide such names.
pub fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use runnel::{DataRepresentation, Gid, ParticipantInfo, QoS};

    /// A participant with this number.
    pub fn participant(number: u8) -> ParticipantInfo {
        ParticipantInfo {
            gid: gid(number, 0).participant(),
            vendor: "Fast DDS".into(),
            name: "/".into(),
            enclave: Some("/".into()),
            addresses: vec![([10, 0, 0, number], 7410).into()],
            is_same_host: false,
            answers: true,
            is_complete: true,
            is_own: false,
        }
    }

    pub fn gid(participant: u8, number: u8) -> Gid {
        Gid([1, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, participant, 0, 0, number, 3])
    }

    /// A graph of endpoints with type `std_msgs/msg/String`: topic, participant, and whether it publishes.
    pub fn graph(endpoints: &[(&str, u8, bool)]) -> Ros2Graph {
        let end = |(index, (topic, of, publishes)): (usize, &(&str, u8, bool))| EndpointInfo {
            gid: gid(*of, u8::try_from(index).unwrap()),
            endpoint_type: if *publishes { EndpointType::Publisher } else { EndpointType::Subscription },
            dds_topic: (*topic).into(),
            dds_type: "std_msgs::msg::dds_::String_".into(),
            type_hash: Some("RIHS01_ab".into()),
            qos: QoS::default(),
            has_history: false,
            representations: vec![DataRepresentation::Xcdr1],
            node: Some(format!("/node{of}")),
        };
        let endpoints: Vec<_> = endpoints.iter().enumerate().map(end).collect();
        let of: BTreeSet<u8> = endpoints.iter().map(|end| end.gid.0[11]).collect();
        Ros2Graph { participants: of.into_iter().map(participant).collect(), nodes: Vec::new(), endpoints }
    }

    /// A master's data about one topic of type `std_msgs/String`.
    fn ros1(topic: &str) -> (SystemState, BTreeMap<String, String>) {
        let publishers = BTreeMap::from([(topic.to_owned(), vec!["/old".to_owned()])]);
        let types = BTreeMap::from([(topic.to_owned(), "std_msgs/String".to_owned())]);
        (SystemState { publishers, ..SystemState::default() }, types)
    }

    #[test]
    fn topic_of_both_graphs_is_listed_once() {
        let mut topics = Topics::default();
        let (state, types) = ros1("/chatter");
        topics.add_ros1(&state, &types);
        assert_eq!(topics.0["/chatter"].types(), ["std_msgs/String"]);
        topics.add_ros2(&graph(&[
            ("rt/chatter", 2, false),
            ("rq/addRequest", 2, false),
            ("Square", 2, true),
        ]));
        assert_eq!(topics.0.len(), 1);
        assert_eq!(topics.0["/chatter"].types(), ["std_msgs/msg/String"]);
        let holders: Vec<_> = topics.0["/chatter"]
            .sides()
            .map(|(of, side)| (of, side.publishers.len(), side.subscribers.len()))
            .collect();
        assert_eq!(holders, [("ROS 1", 1, 0), ("ROS 2", 0, 1)]);
        assert!(topics.are_in_both());
        let state = topics.state();
        assert_eq!(
            (&state.publishers["/chatter"], &state.subscribers["/chatter"]),
            (&vec!["/old".to_owned()], &vec!["/node2".to_owned()])
        );
        topics.keep_ends(false, true);
        assert!(!topics.are_in_both() && topics.0["/chatter"].ros1.is_none());
    }

    #[test]
    fn differing_types_are_all_named() {
        let mut topics = Topics::default();
        let (state, mut types) = ros1("/chatter");
        types.insert("/chatter".into(), "std_msgs/Int32".into());
        topics.add_ros1(&state, &types);
        topics.add_ros2(&graph(&[("rt/chatter", 2, false)]));
        assert_eq!(topics.0["/chatter"].types(), ["std_msgs/msg/String", "std_msgs/Int32"]);
    }

    #[test]
    fn name_part_with_underscore_is_hidden() {
        assert!(is_hidden("/fibonacci/_action/status") && is_hidden("/_x") && !is_hidden("/a_b/c"));
    }
}
