//! Tests of a node's own parameters at the parameter server of ROS 1.

use runnel::{
    Context, ContextOptions, Graphs, Node, Parameter, ParameterDeclaration, ParameterValue, XmlRpcValue,
};
use runnel_testkit::process::free_port;

use crate::common::{Graph, spin_until, wait_until};
use crate::domains::new_domain;
use crate::logged;

/// A node in both graphs.
fn dual_node(graph: &Graph, arguments: &[&str]) -> (Context, Node) {
    let master = format!("__master:={}", graph.uri);
    let arguments = [master.as_str()].into_iter().chain(arguments.iter().copied());
    let options = ContextOptions::default().signals(false).arguments(arguments);
    let context = Context::with_options(options.graphs(Graphs::Both).domain_id(new_domain())).unwrap();
    let node = context.create_node("/robot/arm").unwrap();
    (context, node)
}

fn at_master(graph: &Graph, key: &str) -> XmlRpcValue {
    graph.ask("getParam", &["/test".into(), key.into()])
}

#[test]
fn ros1_sees_declared_parameters_of_dual_node() {
    let graph = Graph::new();
    graph.ask("setParam", &["/launch".into(), "/robot/arm/limits/low".into(), 3.into()]);
    let (_context, node) = dual_node(&graph, &["_rate:=5"]);
    assert_eq!(node.declare_parameter("limits.low", 1.5).unwrap(), 3.0, "as a launch file has set it");
    assert_eq!(node.declare_parameter("rate", 10).unwrap(), 5);
    assert_eq!(node.declare_parameter("name", "left").unwrap(), "left");
    let is_at_master = |key: &str, value: XmlRpcValue| wait_until(key, || at_master(&graph, key) == value);
    is_at_master("/robot/arm/limits/low", 3.0.into());
    is_at_master("/robot/arm/name", "left".into());
    for name in ["right", "middle", "left"] {
        node.set_parameter("name", name).unwrap();
    }
    node.set_param("~rate", 7).unwrap();
    is_at_master("/robot/arm/rate", 7.into());
    is_at_master("/robot/arm/name", "left".into());
    assert_eq!(node.get_parameter::<i64>("rate").unwrap(), 7);
    node.undeclare_parameter("name").unwrap();
    is_at_master("/robot/arm/name", 0.into());
}

#[test]
fn ros1_changes_declared_parameters_of_dual_node() {
    logged::keep_log();
    let graph = Graph::new();
    let (context, node) = dual_node(&graph, &[]);
    node.declare_parameter("rate", ParameterDeclaration::new(10.0).range(1.0..=100.0)).unwrap();
    node.declare_parameter("limits.low", 1).unwrap();
    node.declare_parameter("limits.high", 2).unwrap();
    wait_until("the master has them", || at_master(&graph, "/robot/arm/rate") == 10.0.into());
    let set = |key: &str, value: XmlRpcValue| graph.ask("setParam", &["/tool".into(), key.into(), value]);
    // Whether the value arrives can only be known once the node watches its parameters.
    spin_until(&context, "an integer for a double", || {
        set("/robot/arm/rate", 20.into());
        node.get_parameter::<f64>("rate").unwrap() == 20.0
    });
    let limits = [("low".to_owned(), 5.into()), ("high".to_owned(), 9.into())];
    set("/robot/arm/limits", XmlRpcValue::Struct(limits.into()));
    spin_until(&context, "parameters below a name", || {
        node.get_parameters_by_prefix("limits").into_values().collect::<Vec<_>>() == [9.into(), 5.into()]
    });
    set("/robot/arm/rate", 500.into());
    let key = "/robot/arm/rate";
    spin_until(&context, "the refused value is replaced", || at_master(&graph, key) == 20.0.into());
    let line = "the parameter server's value of /robot/arm/rate is refused: parameter rate: 500.0 does not comply with floating point range";
    assert_eq!(logged::count_logged(&["WARN", line]), 1);
    assert_eq!(node.get_parameter::<f64>("rate").unwrap(), 20.0);
}

#[test]
fn dual_node_declares_without_master() {
    let arguments = ["__master:=http://127.0.0.1:1/", "_rate:=7.5"];
    let options = ContextOptions::default().signals(false).arguments(arguments);
    let context = Context::with_options(options.graphs(Graphs::Both).domain_id(new_domain())).unwrap();
    let node = context.create_node("node").unwrap();
    assert_eq!(node.declare_parameter("rate", 1.0).unwrap(), 7.5);
    assert_eq!(node.declare_parameter("gain", 2.0).unwrap(), 2.0);
    assert_eq!(node.param("~gain", 1.0).unwrap(), 2.0);
}

fn set(graph: &Graph, key: &str, value: impl Into<XmlRpcValue>) {
    graph.ask("setParam", &["/tool".into(), key.into(), value.into()]);
}

/// Sets a parameter of another program until the node has the value: before, its subscription may not be registered.
fn wait_for_mirror(graph: &Graph, context: &Context, node: &Node) {
    let mut value = 0;
    spin_until(context, "changes arrive", || {
        value += 1;
        set(graph, &format!("{}/marker", node.full_name()), value);
        node.get_parameter::<i32>("marker").unwrap() > 0
    });
}

/// The notification of a change waits for a spinning thread while the node sets a newer value.
#[test]
fn notified_value_does_not_replace_newer_own_value() {
    let graph = Graph::new();
    let (context, node) = dual_node(&graph, &[]);
    node.declare_parameter("marker", 0).unwrap();
    node.declare_parameter("rate", 0).unwrap();
    wait_for_mirror(&graph, &context, &node);
    for round in 1..=20 {
        set(&graph, "/robot/arm/rate", 1000 + round);
        node.set_parameter("rate", round).unwrap();
        set(&graph, "/robot/arm/marker", 1_000_000 + round);
        spin_until(&context, "the later change", || {
            node.get_parameter::<i32>("marker").unwrap() == 1_000_000 + round
        });
        assert_eq!(node.get_parameter::<i32>("rate").unwrap(), round);
        wait_until("the master has the node's value", || {
            at_master(&graph, "/robot/arm/rate") == round.into()
        });
    }
    set(&graph, "/robot/arm/rate", 5000);
    spin_until(&context, "a value that is newer than the node's", || {
        node.get_parameter::<i32>("rate").unwrap() == 5000
    });
    assert_eq!(at_master(&graph, "/robot/arm/rate"), 5000.into());
}

#[test]
fn new_master_gets_latest_value_of_other_programs() {
    let port = free_port();
    let graph = Graph::at(port);
    let (context, node) = dual_node(&graph, &[]);
    node.declare_parameter("marker", 0).unwrap();
    node.declare_parameter("rate", 1).unwrap();
    wait_for_mirror(&graph, &context, &node);
    set(&graph, "/robot/arm/rate", 7);
    spin_until(&context, "the change", || node.get_parameter::<i32>("rate").unwrap() == 7);
    drop(graph);
    let graph = Graph::at(port);
    spin_until(&context, "the new master has it", || at_master(&graph, "/robot/arm/rate") == 7.into());
    assert_eq!(node.get_parameter::<i32>("rate").unwrap(), 7);
}

/// The default of the next version of a program counts, not the one that its last run has left.
#[test]
fn defaults_end_with_node_at_master() {
    let graph = Graph::new();
    set(&graph, "/robot/arm/given", 3);
    let (context, node) = dual_node(&graph, &["_argument:=4"]);
    for name in ["given", "argument", "plain", "changed", "marker"] {
        node.declare_parameter(name, 0).unwrap();
    }
    node.set_parameter("plain", 5).unwrap();
    wait_for_mirror(&graph, &context, &node);
    set(&graph, "/robot/arm/changed", 9);
    spin_until(&context, "the change", || node.get_parameter::<i32>("changed").unwrap() == 9);
    wait_until("the master has it", || at_master(&graph, "/robot/arm/plain") == 5.into());
    drop(node);
    let has = |key: &str| graph.ask("hasParam", &["/test".into(), key.into()]) == true.into();
    wait_until("the node's own value is deleted", || !has("/robot/arm/plain"));
    for (key, value) in [("given", 3), ("argument", 4), ("changed", 9)] {
        assert_eq!(at_master(&graph, &format!("/robot/arm/{key}")), value.into(), "{key}");
    }
    let again = context.create_node("/robot/arm").unwrap();
    assert_eq!(again.declare_parameter("plain", 6).unwrap(), 6);
    assert_eq!(again.declare_parameter("changed", 1).unwrap(), 9);
}

/// In ROS 1 a name has a value or names below it, in ROS 2 both.
#[test]
fn value_with_names_below_stays_in_ros2() {
    logged::keep_log();
    let graph = Graph::new();
    let (context, node) = dual_node(&graph, &[]);
    node.declare_parameter("marker", 0).unwrap();
    node.declare_parameter("limits.low", 1).unwrap();
    assert_eq!(node.declare_parameter("limits", "none").unwrap(), "none");
    wait_for_mirror(&graph, &context, &node);
    node.set_parameter("limits", "some").unwrap();
    node.set_parameter("limits.low", 2).unwrap();
    wait_until("the master has it", || at_master(&graph, "/robot/arm/limits/low") == 2.into());
    set(&graph, "/robot/arm/limits/low", 3);
    spin_until(&context, "the change", || node.get_parameter::<i32>("limits.low").unwrap() == 3);
    assert_eq!(node.get_parameter::<String>("limits").unwrap(), "some");
    let line = "parameter limits is not at the parameter server, where /robot/arm/limits/low is";
    assert_eq!(logged::count_logged(&["WARN", line]), 1);
}

#[test]
fn deleted_parameter_is_deleted_at_master() {
    let graph = Graph::new();
    let (_context, node) = dual_node(&graph, &[]);
    let any = ParameterDeclaration::new(ParameterValue::from(1)).dynamic_typing();
    node.declare_parameter("any", any).unwrap();
    let has = || graph.ask("hasParam", &["/test".into(), "/robot/arm/any".into()]) == true.into();
    wait_until("the master has it", has);
    // As another program deletes it in ROS 2.
    assert_eq!(node.set_parameters([Parameter::not_set("any")]), [Ok(())]);
    wait_until("it is deleted at the master", || !has());
    assert_eq!(node.declare_parameter("any", 5).unwrap(), 5);
}

#[test]
fn integers_beyond_32_bits_cross_the_master() {
    let graph = Graph::new();
    let (context, node) = dual_node(&graph, &[]);
    node.declare_parameter("marker", 0).unwrap();
    assert_eq!(node.declare_parameter("id", 5_000_000_000).unwrap(), 5_000_000_000);
    wait_until("the master has it", || at_master(&graph, "/robot/arm/id") == 5e9.into());
    wait_for_mirror(&graph, &context, &node);
    set(&graph, "/robot/arm/id", 6e9);
    spin_until(&context, "the change", || node.get_parameter::<i64>("id").unwrap() == 6_000_000_000);
}

/// At the master `use_sim_time` is that of all nodes.
#[test]
fn sim_time_of_master_stays_on_in_dual_node() {
    let graph = Graph::new();
    set(&graph, "/use_sim_time", true);
    let (context, node) = dual_node(&graph, &["--ros-args", "-p", "rate:=1"]);
    assert!(context.ros_time_is_active(), "the parameter of the node is false by default");
    assert!(!node.get_parameter::<bool>("use_sim_time").unwrap());
    node.set_parameter("use_sim_time", true).unwrap();
    wait_until("the argument is at the master", || at_master(&graph, "/robot/arm/rate") == 1.into());
    let names = graph.ask("getParamNames", &["/test".into()]);
    let names: Vec<_> = names.as_array().unwrap().iter().filter_map(XmlRpcValue::as_str).collect();
    assert!(names.contains(&"/use_sim_time"), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with("arm/use_sim_time")), "{names:?}");
}
