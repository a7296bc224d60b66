//! Tests of options of a node.

use runnel::{Context, ContextOptions, EndpointType, Graphs, NodeOptions, QoS};

use crate::common::{Graph, spin_until};
use crate::domains::new_domain;

fn options(domain: u16, arguments: &[&str]) -> ContextOptions {
    let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
    options.graphs(Graphs::Ros2).domain_id(domain)
}

/// The QoS of the `/rosout` publishers of a domain, once this many nodes are there.
fn rosout_publishers(domain: u16, nodes: usize) -> Vec<QoS> {
    let watcher = Context::with_options(options(domain, &[]).rosout(false)).unwrap();
    let _node = watcher.create_node("watcher").unwrap();
    let graph = || watcher.ros2_graph().unwrap().unwrap();
    spin_until(&watcher, "the nodes are discovered", || graph().nodes.len() > nodes);
    let publishers = graph().endpoints.into_iter();
    let is_rosout = |topic: &str, kind| topic == "rt/rosout" && kind == EndpointType::Publisher;
    publishers.filter(|end| is_rosout(&end.dds_topic, end.endpoint_type)).map(|end| end.qos).collect()
}

#[test]
fn rosout_is_switched_off_per_node() {
    let domain = new_domain();
    let context = Context::with_options(options(domain, &[])).unwrap();
    let quiet = NodeOptions::default().enable_rosout(false);
    let silent = context.create_node_with_options("silent", quiet).unwrap();
    let _loud = context.create_node("loud").unwrap();
    runnel::log_info!(silent, "to the console only");
    assert_eq!(rosout_publishers(domain, 2), [QoS::rosout()]);
}

#[test]
fn rosout_qos_is_that_of_options() {
    let domain = new_domain();
    let context = Context::with_options(options(domain, &[])).unwrap();
    let qos = QoS::keep_last(5).reliable();
    let _node = context.create_node_with_options("node", NodeOptions::default().rosout_qos(qos)).unwrap();
    assert_eq!(rosout_publishers(domain, 1), [qos]);
}

#[test]
fn argument_disables_rosout_of_all_nodes() {
    let domain = new_domain();
    let arguments = ["--ros-args", "--disable-rosout-logs"];
    let context = Context::with_options(options(domain, &arguments)).unwrap();
    let _nodes = ["one", "two"].map(|name| context.create_node(name).unwrap());
    assert_eq!(rosout_publishers(domain, 2), []);
}

#[test]
fn node_without_rosout_has_no_logger_services_in_ros1() {
    let graph = Graph::new();
    let context = graph.context();
    let _silent =
        context.create_node_with_options("silent", NodeOptions::default().enable_rosout(false)).unwrap();
    let _loud = context.create_node("loud").unwrap();
    let has_loggers = |node: &str| {
        let name = format!("{node}/get_loggers");
        let asker = graph.tool().create_node("asker").unwrap();
        asker
            .create_client::<runnel::msgs::roscpp::srv::GetLoggers>(&name)
            .unwrap()
            .service_is_ready()
            .unwrap()
    };
    assert!(has_loggers("/loud") && !has_loggers("/silent"));
}

#[test]
fn node_without_global_arguments_keeps_its_names() {
    let arguments =
        ["--ros-args", "-r", "__node:=renamed", "-r", "__ns:=/robot", "-r", "a:=b", "-p", "rate:=5"];
    let context = Context::with_options(options(new_domain(), &arguments)).unwrap();
    let global = context.create_node("camera").unwrap();
    let own = NodeOptions::default().use_global_arguments(false);
    let own = context.create_node_with_options("camera", own).unwrap();
    assert_eq!([global.full_name(), own.full_name()], ["/robot/renamed", "/camera"]);
    assert_eq!([global.resolve("a").unwrap(), own.resolve("a").unwrap()], ["/robot/b", "/a"]);
    let rate = |node: &runnel::Node| node.get_param::<i64>("rate").unwrap();
    assert_eq!([rate(&global), rate(&own)], [Some(5), None]);
}

#[test]
fn node_that_ignores_clock_keeps_wall_time() {
    let arguments = ["--ros-args", "-p", "use_sim_time:=true"];
    let context = Context::with_options(options(new_domain(), &arguments)).unwrap();
    let _node = context.create_node_with_options("tool", NodeOptions::default().sim_time(false)).unwrap();
    assert!(!context.ros_time_is_active());
    let _follower = context.create_node("follower").unwrap();
    assert!(context.ros_time_is_active());
}
