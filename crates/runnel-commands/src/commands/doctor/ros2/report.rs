//! Report of the ROS 2 graph: participants, nodes, topics, endpoints with QoS, and services.

use std::collections::BTreeMap;

use runnel::core::names::DdsTopic;
use runnel::{EndpointInfo, EndpointType, NodeInfo, ParticipantInfo, Ros2Graph};
use serde_json::{Value as Json, json};

use super::found::Ros2Found;
use crate::commands::topic::qos;
use crate::graphs::{Ros2Service, Services, Side, Topics, holder, is_hidden, is_publisher};
use crate::output::{table, text_table};

/// Tables, each with an empty line after it. Hidden topics and services are left out.
pub fn text(found: &Ros2Found) -> String {
    [nodes(found), topics(&found.graph), endpoints(&found.graph), services(&found.graph)]
        .into_iter()
        .map(|table| table + "\n")
        .collect()
}

fn nodes(found: &Ros2Found) -> String {
    let row = |node: &NodeInfo| {
        let participant = found.graph.participant(node.participant);
        let ends = ends_of(&found.graph, node);
        let count = |is_counted: fn(&EndpointInfo) -> bool| {
            ends.iter().filter(|end| is_counted(end)).count().to_string()
        };
        vec![
            node.full_name.clone(),
            participant.map_or_else(|| "-".to_owned(), host),
            found.pids.get(&node.participant).map_or_else(|| "-".to_owned(), ToString::to_string),
            participant.map(|one| one.vendor.clone()).unwrap_or_default(),
            count(|end| topic(end).is_some() && is_publisher(end)),
            count(|end| topic(end).is_some() && !is_publisher(end)),
            count(is_server),
        ]
    };
    let rows: Vec<Vec<String>> = found.graph.nodes.iter().map(row).collect();
    table(&["ROS 2 node", "host", "pid", "RMW", "pubs", "subs", "services"], &rows)
}

fn topics(graph: &Ros2Graph) -> String {
    let row = |(name, side): (String, Side)| {
        let counts = [side.publishers.len(), side.subscribers.len()].map(|count| count.to_string());
        [vec![name, joined(side.types)], counts.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = visible_topics(graph).into_iter().map(row).collect();
    text_table(&["ROS 2 topic", "type", "pubs", "subs"], &rows)
}

fn endpoints(graph: &Ros2Graph) -> String {
    let row = |end: &EndpointInfo| {
        let name = topic(end).filter(|topic| !is_hidden(topic))?;
        let side = if is_publisher(end) { "publisher" } else { "subscription" };
        let qos = qos::in_words(&end.qos, end.has_history);
        Some(vec![name.to_owned(), side.to_owned(), holder(end), qos])
    };
    let mut rows: Vec<Vec<String>> = graph.endpoints.iter().filter_map(row).collect();
    rows.sort();
    text_table(&["ROS 2 topic", "endpoint", "node", "QoS"], &rows)
}

fn services(graph: &Ros2Graph) -> String {
    let row = |(name, service): (String, Ros2Service)| {
        let Ros2Service { types, servers, clients } = service;
        let counts = [servers.len(), clients.len()].map(|count| count.to_string());
        [vec![name, joined(types)], counts.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = visible_services(graph).into_iter().map(row).collect();
    text_table(&["ROS 2 service", "type", "servers", "clients"], &rows)
}

/// The same for programs.
pub fn json(found: &Ros2Found) -> Json {
    let node = |node: &NodeInfo| {
        let participant = found.graph.participant(node.participant);
        json!({
            "name": node.full_name,
            "address": participant.and_then(|one| one.addresses.first()).map(|at| at.ip()),
            "pid": found.pids.get(&node.participant),
            "vendor": participant.map(|one| &one.vendor),
        })
    };
    let end = |end: &EndpointInfo| {
        let topic = topic(end).filter(|topic| !is_hidden(topic))?;
        let (node, qos) = (&end.node, qos::to_json(&end.qos, end.has_history));
        let is_publisher = is_publisher(end);
        Some(
            json!({ "topic": topic, "type": end.ros_type(), "publishes": is_publisher, "node": node, "qos": qos }),
        )
    };
    let service = |(name, service): (String, Ros2Service)| {
        let Ros2Service { types, servers, clients } = service;
        json!({ "name": name, "types": types, "servers": servers, "clients": clients })
    };
    json!({
        "nodes": found.graph.nodes.iter().map(node).collect::<Json>(),
        "endpoints": found.graph.endpoints.iter().filter_map(end).collect::<Json>(),
        "services": visible_services(&found.graph).into_iter().map(service).collect::<Json>(),
    })
}

fn host(participant: &ParticipantInfo) -> String {
    participant.addresses.first().map_or_else(|| "-".to_owned(), |address| address.ip().to_string())
}

fn ends_of<'g>(graph: &'g Ros2Graph, node: &NodeInfo) -> Vec<&'g EndpointInfo> {
    let is_of_node = |end: &&EndpointInfo| {
        end.node.as_ref() == Some(&node.full_name) && end.gid.participant() == node.participant
    };
    graph.endpoints.iter().filter(is_of_node).collect()
}

fn topic(end: &EndpointInfo) -> Option<&str> {
    match end.ros_topic() {
        Some(DdsTopic::Topic(topic)) => Some(topic),
        _ => None,
    }
}

fn is_server(end: &EndpointInfo) -> bool {
    end.endpoint_type == EndpointType::Subscription
        && matches!(end.ros_topic(), Some(DdsTopic::ServiceRequest(_)))
}

fn visible_topics(graph: &Ros2Graph) -> BTreeMap<String, Side> {
    let mut topics = Topics::default();
    topics.add_ros2(graph);
    let visible = topics.0.into_iter().filter(|(name, _)| !is_hidden(name));
    visible.filter_map(|(name, topic)| Some((name, topic.ros2?))).collect()
}

fn visible_services(graph: &Ros2Graph) -> BTreeMap<String, Ros2Service> {
    let mut services = Services::default();
    services.add_ros2(graph);
    services.remove_hidden();
    services.0.into_iter().filter_map(|(name, service)| Some((name, service.ros2?))).collect()
}

fn joined(types: impl IntoIterator<Item = String>) -> String {
    types.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::{gid, graph};

    fn found() -> Ros2Found {
        let names = ["rt/chatter", "rt/_hidden", "rq/addRequest"];
        let mut graph =
            graph(&[(names[0], 1, true), (names[0], 2, false), (names[1], 1, true), (names[2], 2, false)]);
        let node = |number: u8| NodeInfo {
            full_name: format!("/node{number}"),
            participant: gid(number, 0).participant(),
        };
        graph.nodes = vec![node(1), node(2)];
        let pids = BTreeMap::from([(gid(1, 0).participant(), 42)]);
        Ros2Found { graph, pids, ..Ros2Found::default() }
    }

    #[test]
    fn report_lists_nodes_topics_endpoints_and_services() {
        let text = text(&found());
        for line in [
            "/node1      10.0.0.1   42  Fast DDS     2     0         0\n",
            "/node2      10.0.0.2    -  Fast DDS     0     1         1\n",
            "\nROS 2 topic  type                 pubs  subs\n/chatter     std_msgs/msg/String  1     1\n\n",
            "/chatter     publisher     /node1  RELIABLE, VOLATILE\n",
            "/chatter     subscription  /node2  RELIABLE, VOLATILE\n",
            "/add           std_msgs/msg/String  1        0\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(!text.contains("hidden"), "{text}");
    }

    #[test]
    fn report_for_programs_has_the_same() {
        let json = json(&found());
        assert_eq!(json["nodes"][0]["pid"], 42);
        assert_eq!(json["nodes"][1]["pid"], Json::Null);
        assert_eq!(json["endpoints"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["endpoints"][0]["qos"]["reliability"], "RELIABLE");
        assert_eq!(json["services"][0]["servers"][0], "/node2");
    }
}
