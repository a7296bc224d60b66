//! A node as of Humble, by a program of our own on Cyclone DDS: nodes are announced by ids of 24 bytes, and endpoints have no
//! type hash. It exchanges texts and calls with Runnel nodes, and with ROS 1 nodes by `runnel bridge`.

use std::time::Duration;

use interop::ros2::{Origin, Ros2Graph};
use interop::ros2_checks::expect_line;
use interop::{Server, TIMEOUT, ready, wait_until};
use runnel::bridge::bridge_of_node;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Error, Graphs};
use runnel_testkit::process::{Peer, deadline_in};

use crate::bridge_scene::{End, TwoGraphs, publish, publish_until};

const NAME: &str = "humble";

const SERVICE: &str = "/power";

/// It publishes texts on `/from_humble`, and receives those of `/to_humble`.
fn humble(graph: &Ros2Graph) -> Peer {
    ready(graph.node(Origin::Cyclone, "humble", NAME, &[NAME, "/from_humble", "/to_humble"]))
}

/// Checks that texts arrive in both directions.
fn exchange_texts(humble: &Peer, end: &End) {
    let (publisher, collected) = (end.publisher("/to_humble"), end.collect("/from_humble"));
    publish_until(
        "texts have arrived at both ends",
        || publish(&publisher, "from Runnel"),
        || humble.lines().iter().any(|line| line == "got from Runnel") && !collected.of("humble ").is_empty(),
    );
}

/// Waits until a node of this name has been announced to the peer by ids of 24 bytes, with all its endpoints.
fn expect_announced(humble: &mut Peer, is_name: impl Fn(&str) -> bool) {
    let is_node = |line: &str| {
        let mut words = line.split(' ');
        let (kind, name) = (words.next(), words.next().unwrap_or_default());
        let counts: Vec<u32> = words.filter_map(|count| count.parse().ok()).collect();
        kind == Some("node") && is_name(name) && counts.len() == 2 && counts.iter().all(|count| *count > 0)
    };
    humble.wait_for_line(is_node, deadline_in(TIMEOUT)).unwrap();
    assert!(!humble.output().contains("wrong id"), "{}", humble.output());
}

#[test]
fn node_exchanges_texts_with_runnel_node() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let mut humble = humble(&graphs.ros2);
    let two = graphs.end(Graphs::Ros2, "two");
    exchange_texts(&humble, &two);
    expect_announced(&mut humble, |name| name == "/two");
    wait_until("its node and endpoints are known by name", deadline_in(TIMEOUT), || {
        let graph = two.node.context().ros2_graph().unwrap().unwrap();
        let named = graph.endpoints.iter().filter(|end| end.node.as_deref() == Some("/humble"));
        let topics: Vec<_> = named.map(|end| (end.ros_topic().is_some(), end.type_hash.clone())).collect();
        topics == [(true, None), (true, None)]
    });
}

#[test]
fn node_exchanges_texts_with_ros1_node_by_bridge() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let mut humble = humble(&graphs.ros2);
    exchange_texts(&humble, &graphs.end(Graphs::Ros1, "one"));
    expect_announced(&mut humble, |name| bridge_of_node(name).is_some());
}

#[test]
fn server_without_type_hash_is_called_from_ros1() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let _server = ready(graphs.ros2.cyclone_service(&[SERVICE, "server"]));
    let one = graphs.end(Graphs::Ros1, "one");
    let client = one.node.create_client::<SetBool>(SERVICE).unwrap();
    assert!(client.wait_for_service(Duration::from_secs(TIMEOUT)).unwrap());
    for number in 1..=3 {
        let response =
            client.call_timeout(&SetBoolRequest { data: true }, Duration::from_secs(TIMEOUT)).unwrap();
        assert_eq!((response.success, response.message), (true, format!("call {number}")));
    }
}

#[test]
fn client_without_type_hash_calls_ros1_server() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let one = graphs.end(Graphs::Ros1, "one");
    let answer = |request: &SetBoolRequest| {
        Ok::<_, Error>(SetBoolResponse { success: request.data, message: "of ROS 1".into() })
    };
    let _server = one.node.create_service::<SetBool, _>(SERVICE, answer).unwrap();
    let mut client = graphs.ros2.cyclone_service(&[SERVICE, "client", "2"]);
    for line in ["answered true of ROS 1", "answered true of ROS 1", "answered false of ROS 1", "done"] {
        expect_line(&mut client, line);
    }
}
