//! The services of both graphs.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::{EndpointType, Ros2Graph};

use super::{holder, is_hidden};
use crate::graph::SystemState;

/// The services of both graphs, by name.
#[derive(Clone, Debug, Default)]
pub struct Services(pub BTreeMap<String, Service>);

/// A service, in one or both graphs.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// In ROS 1: the nodes that provide it. Its type is known only to them.
    pub ros1: Option<Vec<String>>,
    /// In ROS 2.
    pub ros2: Option<Ros2Service>,
}

/// A service in ROS 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ros2Service {
    /// Its types; several if its servers and clients disagree.
    pub types: BTreeSet<String>,
    /// The nodes of its servers, once per server.
    pub servers: Vec<String>,
    /// The nodes of its clients, once per client.
    pub clients: Vec<String>,
}

impl Services {
    /// Adds the services of the master.
    pub fn add_ros1(&mut self, state: &SystemState) {
        for (name, nodes) in &state.services {
            self.0.entry(name.clone()).or_default().ros1 = Some(nodes.clone());
        }
    }

    /// Adds the services of the ROS 2 graph.
    pub fn add_ros2(&mut self, graph: &Ros2Graph) {
        for (name, types) in graph.service_names_and_types() {
            self.0.entry(name).or_default().ros2.get_or_insert_default().types = types;
        }
        for end in &graph.endpoints {
            let Some(DdsTopic::ServiceRequest(name)) = end.ros_topic() else { continue };
            let service = self.0.entry(name.to_owned()).or_default().ros2.get_or_insert_default();
            let nodes = match end.endpoint_type {
                EndpointType::Subscription => &mut service.servers,
                EndpointType::Publisher => &mut service.clients,
            };
            nodes.push(holder(end));
            nodes.sort();
        }
    }

    /// The names of the services.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Removes hidden ROS 2 services.
    pub fn remove_hidden(&mut self) {
        self.0.retain(|name, service| service.ros1.is_some() || !is_hidden(name));
    }

    /// True if both graphs have services.
    pub fn are_in_both(&self) -> bool {
        let any = |there: fn(&Service) -> bool| self.0.values().any(there);
        any(|service| service.ros1.is_some()) && any(|service| service.ros2.is_some())
    }
}

impl Service {
    /// The nodes that provide it. A dual node counts once.
    pub fn servers(&self) -> Vec<&str> {
        let ros2: Vec<&str> = self.ros2.iter().flat_map(|side| &side.servers).map(String::as_str).collect();
        let ros1 = self.ros1.iter().flatten().map(String::as_str).filter(|node| !ros2.contains(node));
        ros1.chain(ros2.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn service_of_both_graphs_is_listed_once() {
        let services = [("/power", "/old"), ("/_ros1", "/old")];
        let services = services.map(|(name, node)| (name.to_owned(), vec![node.to_owned()]));
        let state = SystemState { services: services.into_iter().collect(), ..SystemState::default() };
        let mut found = Services::default();
        found.add_ros1(&state);
        assert!(!found.are_in_both());
        found.add_ros2(&graph(&[
            ("rq/powerRequest", 2, false),
            ("rr/powerReply", 2, true),
            ("rq/powerRequest", 3, true),
            ("rr/powerReply", 3, false),
            ("rq/f/_action/send_goalRequest", 2, false),
            ("rt/power", 2, true),
        ]));
        assert!(found.are_in_both());
        assert_eq!(found.0["/power"].servers(), ["/old", "/node2"]);
        let ros2 = found.0["/power"].ros2.as_ref().expect("it is in ROS 2");
        assert_eq!((ros2.servers.len(), &ros2.clients), (1, &vec!["/node3".to_owned()]));
        found.remove_hidden();
        assert_eq!(found.0.keys().collect::<Vec<_>>(), ["/_ros1", "/power"]);
    }
}
