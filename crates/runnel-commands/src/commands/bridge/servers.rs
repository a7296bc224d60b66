//! Servers of services and actions in both graphs, without those of dual nodes and bridges.

use std::collections::{BTreeMap, BTreeSet};

use runnel::EndpointType;
use runnel::bridge::{EndpointMark, bridge_of_node};
use runnel::core::names::DdsTopic;
use runnel_bridge::AnnouncedServer;
use runnel_bridge::decision::{BridgeId, ServerView};

use super::graphs::{Ros1View, Ros2View};

/// Last part of the names of the services by which each ROS 1 node changes its log levels.
const ROS1_NODE_SERVICES: [&str; 2] = ["get_loggers", "set_logger_level"];

/// Packages of the services that each ROS 2 node offers.
const ROS2_NODE_PACKAGES: [&str; 2] = ["rcl_interfaces/", "type_description_interfaces/"];

/// What follows the name of an action in the name of the service that sends a goal.
const SEND_GOAL: &str = "/_action/send_goal";

/// The type of an action's topic `status` in ROS 1.
const STATUS_LIST: &str = "actionlib_msgs/GoalStatusArray";

/// The servers of one service or action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// By which it is decided what to carry.
    pub view: ServerView,
    /// The nodes of the servers in ROS 1.
    pub ros1_nodes: Vec<String>,
    /// The type in ROS 1, if the master knows it: not for services.
    pub ros1_type: Option<AnnouncedServer>,
    /// The type of a server in ROS 2.
    pub ros2_type: Option<AnnouncedServer>,
}

/// The services of both graphs, without those of actions.
pub fn services(ros1: &Ros1View, ros2: &Ros2View) -> BTreeMap<String, Servers> {
    let mut found: BTreeMap<String, Servers> = BTreeMap::new();
    let dual_nodes = ros2.dual_nodes();
    for (service, nodes) in &ros1.state.services {
        let servers = found.entry(service.clone()).or_default();
        nodes.iter().for_each(|node| servers.add_ros1(node, &dual_nodes));
    }
    add_ros2(&mut found, ros2, |name| (!is_hidden(name)).then_some(name));
    found
}

/// The actions of both graphs.
pub fn actions(ros1: &Ros1View, ros2: &Ros2View) -> BTreeMap<String, Servers> {
    let mut found: BTreeMap<String, Servers> = BTreeMap::new();
    let dual_nodes = ros2.dual_nodes();
    for (topic, nodes) in &ros1.state.publishers {
        let Some(action) = topic.strip_suffix("/status") else { continue };
        if ros1.types.get(topic).is_none_or(|name| name != STATUS_LIST) {
            continue;
        }
        for node in nodes.iter().filter(|node| is_action_server(ros1, action, node)) {
            let servers = found.entry(action.to_owned()).or_default();
            servers.add_ros1(node, &dual_nodes);
            servers.ros1_type = ros1_action_type(ros1, action);
        }
    }
    add_ros2(&mut found, ros2, |name| name.strip_suffix(SEND_GOAL));
    found
}

/// Whether a service belongs to what each node offers, such as its parameters.
pub fn is_node_service(service: &str, servers: &Servers) -> bool {
    let last = service.rsplit_once('/').map_or(service, |(_, last)| last);
    let is_of_ros2 =
        |server: &AnnouncedServer| ROS2_NODE_PACKAGES.iter().any(|package| server.name.starts_with(package));
    ROS1_NODE_SERVICES.contains(&last) && servers.ros2_type.is_none()
        || servers.ros2_type.as_ref().is_some_and(is_of_ros2)
}

/// ROS 2 hides names of which a part begins with an underscore.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}

fn is_action_server(ros1: &Ros1View, action: &str, node: &str) -> bool {
    let has = |holders: &BTreeMap<String, Vec<String>>, suffix: &str| {
        holders.get(&format!("{action}/{suffix}")).is_some_and(|nodes| nodes.iter().any(|one| one == node))
    };
    ["feedback", "result"].iter().all(|suffix| has(&ros1.state.publishers, suffix))
        && ["goal", "cancel"].iter().all(|suffix| has(&ros1.state.subscribers, suffix))
}

/// The type of an action, from the type of its results.
fn ros1_action_type(ros1: &Ros1View, action: &str) -> Option<AnnouncedServer> {
    let name = ros1.types.get(&format!("{action}/result"))?.strip_suffix("ActionResult")?;
    Some(AnnouncedServer { name: name.to_owned(), sums: Vec::new() })
}

/// Adds the servers and the bridges' clients in ROS 2. `of` returns the name under which those of a service are added.
fn add_ros2<'a>(
    found: &mut BTreeMap<String, Servers>,
    ros2: &'a Ros2View,
    of: impl Fn(&'a str) -> Option<&'a str>,
) {
    let dual = ros2.dual_participants();
    for endpoint in ros2.other_endpoints() {
        let Some(DdsTopic::ServiceRequest(service)) = endpoint.ros_topic() else { continue };
        let Some(name) = of(service) else { continue };
        let is_server = endpoint.endpoint_type == EndpointType::Subscription;
        match ros2.marks.get(&endpoint.gid) {
            Some(EndpointMark::Bridge(mark)) if mark.ros1_graph == ros2.ros1_graph => {
                let view = &mut found.entry(name.to_owned()).or_default().view;
                let other = if is_server { &mut view.other_to_ros2 } else { &mut view.other_to_ros1 };
                add_bridge(other, mark.bridge);
            }
            Some(EndpointMark::Bridge(_)) => {}
            _ if !is_server => {}
            _ if dual.contains(&endpoint.gid.participant()) => {
                found.entry(name.to_owned()).or_default().view.has_dual_server = true;
            }
            _ => {
                // A server without its writer of responses is about to appear or to end.
                let participant = endpoint.gid.participant();
                let Some(response) = ros2.graph.endpoints.iter().find(|end| {
                    end.ros_topic() == Some(DdsTopic::ServiceReply(service))
                        && end.endpoint_type == EndpointType::Publisher
                        && end.gid.participant() == participant
                }) else {
                    continue;
                };
                let servers = found.entry(name.to_owned()).or_default();
                servers.view.ros2_servers += 1;
                let sums = [endpoint, response].map(|end| end.type_hash.clone().unwrap_or_default());
                let type_name = endpoint.ros_type();
                let type_name = type_name.strip_suffix("_SendGoal").unwrap_or(&type_name).to_owned();
                servers.ros2_type.get_or_insert(AnnouncedServer { name: type_name, sums: sums.into() });
            }
        }
    }
}

fn add_bridge(other: &mut Option<BridgeId>, bridge: u64) {
    let bridge = BridgeId(bridge);
    *other = Some(other.map_or(bridge, |other| other.min(bridge)));
}

impl Servers {
    fn add_ros1(&mut self, node: &str, dual_nodes: &BTreeSet<&str>) {
        if dual_nodes.contains(node) {
            self.view.has_dual_server = true;
        } else if bridge_of_node(node).is_none() {
            self.view.ros1_servers += 1;
            self.ros1_nodes.push(node.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::SystemState;
    use crate::graphs::tests::graph;
    use runnel::bridge::{BridgeMark, bridge_node_name};

    fn ros1(services: &[(&str, &str)]) -> Ros1View {
        let services = services.iter().map(|(name, node)| ((*name).to_owned(), vec![(*node).to_owned()]));
        let state = SystemState { services: services.collect(), ..SystemState::default() };
        Ros1View { state, ..Ros1View::default() }
    }

    /// A server of `/add` in ROS 2, or a client, with a mark at its reader or writer of requests.
    fn ros2(is_server: bool, mark: Option<EndpointMark>) -> Ros2View {
        let graph = graph(&[("rq/addRequest", 1, !is_server), ("rr/addReply", 1, is_server)]);
        let marks = mark.map(|mark| (graph.endpoints[0].gid, mark)).into_iter().collect();
        Ros2View { graph, marks, ros1_graph: 1 }
    }

    fn view(ros1: &Ros1View, ros2: &Ros2View) -> ServerView {
        services(ros1, ros2).remove("/add").unwrap_or_default().view
    }

    #[test]
    fn servers_of_single_graphs_are_counted() {
        let expected = ServerView { ros1_servers: 1, ros2_servers: 1, ..ServerView::default() };
        assert_eq!(view(&ros1(&[("/add", "/a")]), &ros2(true, None)), expected);
        assert_eq!(view(&ros1(&[]), &ros2(false, None)), ServerView::default(), "a client is no server");
        let mut half = ros2(true, None);
        half.graph.endpoints.pop();
        assert_eq!(view(&ros1(&[]), &half), ServerView::default(), "it has no writer of responses");
    }

    #[test]
    fn servers_of_dual_nodes_and_bridges_do_not_count() {
        let dual = ros2(true, Some(EndpointMark::DualNode(None)));
        let found = view(&ros1(&[("/add", "/node1")]), &dual);
        assert_eq!(found, ServerView { has_dual_server: true, ..ServerView::default() });
        let mark = EndpointMark::Bridge(BridgeMark { bridge: 7, ros1_graph: 1 });
        let other = Some(BridgeId(7));
        let node = format!("/{}", bridge_node_name(7));
        let found = view(&ros1(&[("/add", &node)]), &ros2(true, Some(mark)));
        assert_eq!(found, ServerView { other_to_ros2: other, ..ServerView::default() });
        let found = view(&ros1(&[]), &ros2(false, Some(mark)));
        assert_eq!(found, ServerView { other_to_ros1: other, ..ServerView::default() });
        let elsewhere = EndpointMark::Bridge(BridgeMark { bridge: 7, ros1_graph: 2 });
        assert_eq!(view(&ros1(&[]), &ros2(true, Some(elsewhere))), ServerView::default());
    }

    #[test]
    fn services_of_nodes_are_recognized() {
        let server = |name: &str| Servers {
            ros2_type: Some(AnnouncedServer { name: name.into(), sums: Vec::new() }),
            ..Servers::default()
        };
        assert!(is_node_service("/a/get_loggers", &Servers::default()));
        assert!(is_node_service("/a/get_parameters", &server("rcl_interfaces/srv/GetParameters")));
        assert!(!is_node_service("/a/get_loggers", &server("own_msgs/srv/GetLoggers")));
        assert!(!is_node_service("/add", &Servers::default()));
    }

    #[test]
    fn action_server_has_all_its_topics() {
        let holders = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), vec!["/a".to_owned()])).collect::<BTreeMap<_, _>>()
        };
        let mut ros1 = Ros1View {
            state: SystemState {
                publishers: holders(&["/fib/status", "/fib/feedback", "/fib/result"]),
                subscribers: holders(&["/fib/goal", "/fib/cancel"]),
                ..SystemState::default()
            },
            types: [("/fib/status", STATUS_LIST), ("/fib/result", "a/FibActionResult")]
                .map(|(topic, name)| (topic.to_owned(), name.to_owned()))
                .into(),
        };
        let found = actions(&ros1, &Ros2View::default()).remove("/fib").unwrap();
        assert_eq!((found.view.ros1_servers, found.ros1_type.unwrap().name.as_str()), (1, "a/Fib"));
        ros1.state.subscribers.remove("/fib/goal");
        assert!(actions(&ros1, &Ros2View::default()).is_empty());
    }

    #[test]
    fn ros2_action_is_found_by_its_service() {
        let names =
            [("rq/fib/_action/send_goalRequest", 1, false), ("rr/fib/_action/send_goalReply", 1, true)];
        let ros2 = Ros2View { graph: graph(&names), ..Ros2View::default() };
        assert_eq!(actions(&Ros1View::default(), &ros2)["/fib"].view.ros2_servers, 1);
        assert!(services(&Ros1View::default(), &ros2).is_empty());
    }
}
