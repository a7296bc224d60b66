//! The ROS 2 part of `runnel node info`.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::{EndpointInfo, EndpointType, Ros2Graph};
use serde_json::{Value as Json, json};

use crate::graphs::{is_hidden, place};
use crate::output::{lines, shown};

/// Names with their types.
type Typed = BTreeSet<(String, String)>;

/// Endpoints of a ROS 2 node. Nodes of the same name are joined.
#[derive(Default)]
pub struct Ros2Info {
    subscribers: Typed,
    publishers: Typed,
    service_servers: Typed,
    service_clients: Typed,
    action_servers: Typed,
    action_clients: Typed,
    /// Addresses of its processes.
    places: Vec<String>,
}

impl Ros2Info {
    /// The endpoints of a node, with hidden ones on request; `None` if there is no such node.
    pub fn of(graph: &Ros2Graph, node: &str, with_hidden: bool) -> Option<Self> {
        let here: Vec<_> = graph.nodes.iter().filter(|known| known.full_name == node).collect();
        if here.is_empty() {
            return None;
        }
        let mut info = Self::default();
        let participants = here.iter().filter_map(|node| graph.participant(node.participant));
        info.places = participants.map(place).collect();
        let ends = graph.endpoints.iter().filter(|end| end.node.as_deref() == Some(node));
        ends.for_each(|end| info.add(end));
        info.find_actions();
        if !with_hidden {
            info.remove_hidden();
        }
        Some(info)
    }

    fn add(&mut self, end: &EndpointInfo) {
        use EndpointType::{Publisher, Subscription};
        let Some(topic) = end.ros_topic() else { return };
        // A subscription to requests is a service, a subscription to replies is a client.
        let (list, name) = match (topic, end.endpoint_type) {
            (DdsTopic::Topic(name), Publisher) => (&mut self.publishers, name),
            (DdsTopic::Topic(name), Subscription) => (&mut self.subscribers, name),
            (DdsTopic::ServiceRequest(name), Subscription) => (&mut self.service_servers, name),
            (DdsTopic::ServiceReply(name), Subscription) => (&mut self.service_clients, name),
            (DdsTopic::ServiceRequest(_) | DdsTopic::ServiceReply(_), Publisher) => return,
        };
        list.insert((name.to_owned(), end.ros_type()));
    }

    /// Actions are identified by their goal service.
    fn find_actions(&mut self) {
        let goals = |services: &Typed| services.iter().filter_map(action_of).collect::<Typed>();
        self.action_servers = goals(&self.service_servers);
        self.action_clients = goals(&self.service_clients);
    }

    /// The topics and services of actions are hidden too.
    fn remove_hidden(&mut self) {
        let lists = [
            &mut self.publishers,
            &mut self.subscribers,
            &mut self.service_servers,
            &mut self.service_clients,
            &mut self.action_servers,
            &mut self.action_clients,
        ];
        lists.into_iter().for_each(|list| list.retain(|(name, _)| !is_hidden(name)));
    }

    fn lists(&self) -> [(&'static str, &'static str, &Typed); 6] {
        [
            ("Subscribers", "subscribers", &self.subscribers),
            ("Publishers", "publishers", &self.publishers),
            ("Service Servers", "service_servers", &self.service_servers),
            ("Service Clients", "service_clients", &self.service_clients),
            ("Action Servers", "action_servers", &self.action_servers),
            ("Action Clients", "action_clients", &self.action_clients),
        ]
    }

    /// As `ros2 node info` prints it, with the process first.
    pub fn text(&self, node: &str) -> String {
        let places = self.places.iter().map(|place| format!("  Participant: {}\n", shown(place)));
        format!("{}\n{}{}", shown(node), places.collect::<String>(), self.lists_text())
    }

    /// As the original ros2 prints it.
    pub fn original_text(&self, node: &str) -> String {
        format!("{}\n{}", shown(node), self.lists_text())
    }

    fn lists_text(&self) -> String {
        let mut text = String::new();
        for (head, _, list) in self.lists() {
            let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            list.iter().for_each(|(name, type_name)| names.entry(name).or_default().push(type_name));
            text += &format!("  {head}:\n");
            text += &lines(names.iter().map(|(name, types)| format!("    {name}: {}", types.join(", "))));
            text += if list.is_empty() { "\n" } else { "" };
        }
        text
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let mut json = json!({ "participants": self.places });
        for (_, key, list) in self.lists() {
            let entry = |(name, type_name): &(String, String)| json!({ "name": name, "type": type_name });
            json[key] = list.iter().map(entry).collect();
        }
        json
    }
}

/// The action whose goals a service takes, with its type.
fn action_of((service, type_name): &(String, String)) -> Option<(String, String)> {
    let name = service.strip_suffix("/_action/send_goal")?;
    let type_name = type_name.strip_suffix("_SendGoal").unwrap_or(type_name);
    Some((name.to_owned(), type_name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::{graph, participant};
    use runnel::NodeInfo;

    #[test]
    fn node_info_reads_as_in_ros2() {
        let mut graph = graph(&[
            ("rt/chatter", 1, true),
            ("rt/parameter_events", 1, false),
            ("rq/addRequest", 1, false),
            ("rr/addReply", 1, true),
            ("rq/fibonacci/_action/send_goalRequest", 1, false),
            ("rt/fibonacci/_action/status", 1, true),
            ("rt/other", 2, true),
        ]);
        graph.nodes = vec![NodeInfo { full_name: "/node1".into(), participant: participant(1).gid }];
        graph.endpoints[2].dds_type = "example_interfaces::srv::dds_::AddTwoInts_Request_".into();
        graph.endpoints[4].dds_type = "example_interfaces::action::dds_::Fibonacci_SendGoal_Request_".into();
        let info = Ros2Info::of(&graph, "/node1", false).expect("it is there");
        let expected = "/node1\n  Participant: Fast DDS at 10.0.0.1:7410\n  Subscribers:\n    \
                        /parameter_events: std_msgs/msg/String\n  Publishers:\n    /chatter: std_msgs/msg/String\n  \
                        Service Servers:\n    /add: example_interfaces/srv/AddTwoInts\n  Service Clients:\n\n  \
                        Action Servers:\n    /fibonacci: example_interfaces/action/Fibonacci\n  Action Clients:\n\n";
        assert_eq!(info.text("/node1"), expected);
        let all = Ros2Info::of(&graph, "/node1", true).expect("it is there").original_text("/node1");
        assert!(all.contains("    /fibonacci/_action/status: ") && !all.contains("Participant"), "{all}");
        assert_eq!(info.to_json()["service_servers"][0]["name"], "/add");
        assert!(Ros2Info::of(&graph, "/node2", false).is_none());
    }
}
