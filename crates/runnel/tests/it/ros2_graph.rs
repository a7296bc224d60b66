//! Tests of ROS 2 graph queries.

use crate::common::LONG;
use crate::domains::new_domain;
use runnel::core::names::DdsTopic;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, EndpointInfo, EndpointType, Error, Graphs, QoS, Ros2Graph};
use std::sync::mpsc::channel;
use std::time::Duration;

fn context(graphs: Graphs, domain: u16) -> Context {
    context_with(graphs, domain, &[])
}

fn context_with(graphs: Graphs, domain: u16, arguments: &[&str]) -> Context {
    let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
    Context::with_options(options.graphs(graphs).domain_id(domain)).unwrap()
}

/// The endpoints of `/chatter` on one side.
fn of_chatter(graph: &Ros2Graph, side: EndpointType) -> Vec<EndpointInfo> {
    let on = |end: &&EndpointInfo| end.ros_topic() == Some(DdsTopic::Topic("/chatter"));
    let ends = graph.endpoints.iter().filter(on).filter(|end| end.endpoint_type == side);
    ends.cloned().collect()
}

#[test]
fn process_without_node_sees_all_endpoints() {
    let domain = new_domain();
    let talking = context_with(Graphs::Ros2, domain, &["--ros-args", "--enclave", "/robots/one"]);
    let looking = context(Graphs::Ros2, domain);
    let talker = talking.create_node("/robot/talker").unwrap();
    let offered = QoS::keep_last(7).transient_local().deadline(Duration::from_millis(100));
    let _publisher = talker.create_publisher::<Text>("/chatter", offered).unwrap();
    let _received = talker.create_subscription("/chatter", QoS::sensor_data(), |_: &Text| {}).unwrap();
    let is_there = |graph: &Ros2Graph| graph.participants.len() == 2 && graph.is_complete();
    assert!(looking.wait_for_ros2_graph(LONG, is_there).unwrap());
    let graph = looking.ros2_graph().unwrap().unwrap();
    let [publisher] = &of_chatter(&graph, EndpointType::Publisher)[..] else { panic!("{graph:?}") };
    assert_eq!(publisher.qos, offered);
    assert!(
        publisher.has_history && publisher.type_hash.as_ref().is_some_and(|hash| hash.starts_with("RIHS01_"))
    );
    assert_eq!(
        (publisher.ros_type().as_str(), publisher.node.as_deref()),
        ("std_msgs/msg/String", Some("/robot/talker"))
    );
    let [subscription] = &of_chatter(&graph, EndpointType::Subscription)[..] else { panic!("{graph:?}") };
    assert_eq!((subscription.qos, subscription.node.as_deref()), (QoS::sensor_data(), Some("/robot/talker")));
    let of = graph.participant(publisher.gid).unwrap();
    assert_eq!(
        (of.vendor.as_str(), of.enclave.as_deref(), of.is_own),
        ("Runnel", Some("/robots/one"), false)
    );
    assert!(of.is_same_host && of.answers && !of.addresses.is_empty());
    let nodes: Vec<_> = graph.nodes.iter().map(|node| (node.full_name.as_str(), node.participant)).collect();
    assert_eq!(nodes, [("/robot/talker", of.gid)]);
    drop((_publisher, _received, talker));
    drop(talking);
    assert!(looking.wait_for_ros2_graph(LONG, |graph| graph.participants.len() == 1).unwrap());
    let graph = looking.ros2_graph().unwrap().unwrap();
    assert!(graph.nodes.is_empty() && of_chatter(&graph, EndpointType::Publisher).is_empty());
}

#[test]
fn process_sees_its_own_nodes() {
    let domain = new_domain();
    let context = context(Graphs::Ros2, domain);
    let node = context.create_node("talker").unwrap();
    let _publisher = node.create_publisher::<Text>("/chatter", 10).unwrap();
    let graph = context.ros2_graph().unwrap().unwrap();
    let [publisher] = &of_chatter(&graph, EndpointType::Publisher)[..] else { panic!("{graph:?}") };
    assert_eq!(publisher.node.as_deref(), Some("/talker"));
    assert!(graph.participant(publisher.gid).unwrap().is_own);
}

#[test]
fn ros1_context_has_no_ros2_graph() {
    let context = context(Graphs::Ros1, new_domain());
    assert!(context.ros2_graph().unwrap().is_none());
    let refused = context.wait_for_ros2_graph(LONG, |_| true);
    assert!(matches!(refused, Err(Error::NotInGraph { .. })), "{refused:?}");
}

#[test]
fn processes_without_nodes_are_complete() {
    let domain = new_domain();
    let (one, other) = (context(Graphs::Ros2, domain), context(Graphs::Ros2, domain));
    let _joined = other.ros2_graph().unwrap();
    let is_there = |graph: &Ros2Graph| graph.participants.len() == 2 && graph.is_complete();
    assert!(one.wait_for_ros2_graph(LONG, is_there).unwrap(), "{:?}", one.ros2_graph());
    assert!(one.ros2_graph().unwrap().unwrap().nodes.is_empty());
    assert_eq!((one.domain_id(), context(Graphs::Ros1, domain).domain_id()), (Some(domain), None));
}

#[test]
fn graph_condition_may_call_the_library() {
    let domain = new_domain();
    let [talking, listening] = [0, 1].map(|_| context(Graphs::Ros2, domain));
    let talker = talking.create_node("talker").unwrap();
    let listener = listening.create_node("listener").unwrap();
    let subscription = listener.create_subscription("chatter", 10, |_: &Text| {}).unwrap();
    let (looked, has_looked) = channel();
    let (sender, results) = channel();
    std::thread::spawn(move || {
        let is_met = |_: &Ros2Graph| {
            let _ = looked.send(());
            subscription.publisher_count() == 1
        };
        let _ = sender.send(listening.wait_for_ros2_graph(LONG, is_met).unwrap());
    });
    // Starts afterwards, so that the query waits for it.
    has_looked.recv_timeout(LONG).unwrap();
    let _publisher = talker.create_publisher::<Text>("chatter", 10).unwrap();
    assert!(results.recv_timeout(LONG).expect("the condition blocks nothing"));
}
