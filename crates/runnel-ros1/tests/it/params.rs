//! Parameters that a node sets, and parameter subscriptions.

use runnel_ros1::node::{NodeEvent, Port};
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, MASTER_PORT, Net, secs};

fn scene() -> (Net, App, App, App) {
    let mut net = Net::new(1);
    let master = net.master("hub");
    let node = net.node("/node", "a");
    let other = net.fake("other", "b");
    (net, master, node, other)
}

/// Calls the master; returns the value of its answer.
fn ask(net: &mut Net, other: App, method: &str, params: &[Value]) -> Value {
    let params = [&[Value::from("/other")], params].concat();
    let answer = net.call(other, &format!("http://hub:{MASTER_PORT}/"), method, &params).expect("an answer");
    answer.as_array().expect("three elements")[2].clone()
}

fn set(net: &mut Net, other: App, key: &str, value: impl Into<Value>) {
    ask(net, other, "setParam", &[key.into(), value.into()]);
    net.run_for(secs(1));
}

/// The changes reported to the node since the last request.
fn reported_changes(net: &Net, node: App, seen: &mut usize) -> Vec<(String, Option<Value>)> {
    let changes = net.events(node).iter().filter_map(|event| match event {
        NodeEvent::ParameterChanged { key, value } => Some((key.clone(), value.clone())),
        _ => None,
    });
    let all: Vec<_> = changes.collect();
    all[std::mem::replace(seen, all.len())..].to_vec()
}

#[test]
fn parameter_stays_and_is_set_at_new_master() {
    let (mut net, master, node, other) = scene();
    net.with_node(node, |node, now| node.set_parameter(now, "/node/rate", Value::from(5)));
    net.run_for(secs(1));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(5));
    net.kill(master);
    net.run_for(secs(2));
    net.master("hub");
    net.run_for(secs(5));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(5));
    net.stop(node);
    net.run_for(secs(2));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(5));
}

#[test]
fn parameter_of_others_survives_reconnect() {
    let (mut net, master, node, other) = scene();
    net.with_node(node, |node, now| node.set_parameter(now, "/node/rate", Value::from(5)));
    net.advertise(node, "/chatter");
    net.run_for(secs(1));
    set(&mut net, other, "/node/rate", 7);
    assert!(net.break_links(node, master, Port::Rpc) > 0);
    net.run_for(secs(30));
    let back = net.events(node).iter().any(|event| matches!(event, NodeEvent::MasterReconnected));
    assert!(back, "it has registered everything again");
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(7));
}

#[test]
fn current_value_is_reported_before_changes() {
    let (mut net, _, node, other) = scene();
    let mut seen = 0;
    set(&mut net, other, "/robot/name", "adam");
    net.with_node(node, |node, now| node.watch_parameter(now, "/robot/name"));
    net.run_for(secs(1));
    let adam = ("/robot/name".to_owned(), Some(Value::from("adam")));
    assert_eq!(reported_changes(&net, node, &mut seen), [adam]);
    set(&mut net, other, "/robot/name", "eve");
    let eve = ("/robot/name".to_owned(), Some(Value::from("eve")));
    assert_eq!(reported_changes(&net, node, &mut seen), [eve]);
    ask(&mut net, other, "deleteParam", &["/robot/name".into()]);
    net.run_for(secs(1));
    assert_eq!(reported_changes(&net, node, &mut seen), [("/robot/name".to_owned(), None)]);
    net.with_node(node, |node, now| node.unwatch_parameter(now, "/robot/name"));
    net.run_for(secs(1));
    set(&mut net, other, "/robot/name", "cain");
    assert_eq!(reported_changes(&net, node, &mut seen), []);
}

#[test]
fn missing_parameter_is_reported_as_none() {
    let (mut net, master, node, other) = scene();
    let mut seen = 0;
    net.with_node(node, |node, now| node.watch_parameter(now, "/robot"));
    net.run_for(secs(1));
    assert_eq!(reported_changes(&net, node, &mut seen), [("/robot".to_owned(), None)]);
    set(&mut net, other, "/robot/speed", 0.5);
    assert_eq!(
        reported_changes(&net, node, &mut seen),
        [("/robot/speed".to_owned(), Some(Value::Double(0.5)))]
    );
    net.kill(master);
    net.run_for(secs(2));
    net.master("hub");
    net.run_for(secs(5));
    assert_eq!(
        reported_changes(&net, node, &mut seen),
        [("/robot".to_owned(), None)],
        "the new master has none"
    );
    set(&mut net, other, "/robot/speed", 1.5);
    assert_eq!(
        reported_changes(&net, node, &mut seen),
        [("/robot/speed".to_owned(), Some(Value::Double(1.5)))]
    );
}

/// The values that the node has read.
fn read_values(net: &Net, node: App) -> Vec<(String, u64, Option<Value>)> {
    let reads = net.events(node).iter().filter_map(|event| match event {
        NodeEvent::ParameterRead { key, token, value } => Some((key.clone(), *token, value.clone())),
        _ => None,
    });
    reads.collect()
}

#[test]
fn read_follows_writes_of_node() {
    let (mut net, _, node, other) = scene();
    let key = "/node/rate";
    net.with_node(node, |node, now| {
        node.set_parameter(now, key, 1.into());
        node.set_parameter(now, key, 2.into());
        node.read_parameter(now, key, 7);
    });
    net.run_for(secs(1));
    assert_eq!(read_values(&net, node), [(key.to_owned(), 7, Some(Value::Int(2)))]);
    set(&mut net, other, key, 3);
    net.with_node(node, |node, now| {
        node.read_parameter(now, key, 8);
        node.read_parameter(now, "/node/none", 9);
    });
    net.run_for(secs(1));
    let expected = [(key.to_owned(), 8, Some(Value::Int(3))), ("/node/none".to_owned(), 9, None)];
    assert_eq!(read_values(&net, node)[1..], expected);
}

#[test]
fn temporary_parameters_end_with_node() {
    let (mut net, _, node, other) = scene();
    net.with_node(node, |node, now| {
        node.set_parameter(now, "/node/given", 1.into());
        node.set_temporary_parameter(now, "/node/given", 2.into());
        node.set_temporary_parameter(now, "/node/own", 3.into());
        node.set_temporary_parameter(now, "/node/adopted", 4.into());
        node.adopt_parameter("/node/adopted", 5.into());
    });
    net.run_for(secs(1));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/own".into()]), Value::Int(3));
    net.stop(node);
    net.run_for(secs(2));
    assert_eq!(ask(&mut net, other, "hasParam", &["/node/own".into()]), Value::Bool(false));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/given".into()]), Value::Int(2));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/adopted".into()]), Value::Int(4));
}

/// A newer node of the same name has set its parameters when the older one is asked to end.
#[test]
fn node_that_is_shut_down_keeps_parameters() {
    let (mut net, _, node, other) = scene();
    net.with_node(node, |node, now| node.set_temporary_parameter(now, "/node/own", 3.into()));
    net.run_for(secs(1));
    let uri = net.node_of(node).uri();
    let params = [Value::from("/master"), "new node registered with same name".into()];
    net.call(other, &uri, "shutdown", &params).expect("an answer");
    net.stop(node);
    net.run_for(secs(2));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/own".into()]), Value::Int(3));
}

#[test]
fn deleted_parameter_is_deleted_at_master() {
    let (mut net, _, node, other) = scene();
    net.with_node(node, |node, now| node.set_parameter(now, "/node/rate", 5.into()));
    net.run_for(secs(1));
    net.with_node(node, |node, now| {
        node.delete_parameter(now, "/node/rate");
        assert!(node.is_deleting_parameter("/node/rate"));
    });
    net.run_for(secs(1));
    assert_eq!(ask(&mut net, other, "hasParam", &["/node/rate".into()]), Value::Bool(false));
    net.with_node(node, |node, now| {
        assert!(!node.is_deleting_parameter("/node/rate"));
        node.set_parameter(now, "/node/rate", 6.into());
    });
    net.run_for(secs(1));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(6));
}

#[test]
fn new_master_gets_adopted_value() {
    let (mut net, master, node, other) = scene();
    net.with_node(node, |node, now| node.set_parameter(now, "/node/rate", 5.into()));
    net.run_for(secs(1));
    set(&mut net, other, "/node/rate", 7);
    net.with_node(node, |node, _| {
        node.adopt_parameter("/node/rate", 7.into());
        node.adopt_parameter("/node/of_launch", 8.into());
    });
    net.kill(master);
    net.run_for(secs(2));
    net.master("hub");
    net.run_for(secs(5));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/rate".into()]), Value::Int(7));
    assert_eq!(ask(&mut net, other, "getParam", &["/node/of_launch".into()]), Value::Int(8));
}
