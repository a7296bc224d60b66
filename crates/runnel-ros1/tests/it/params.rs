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
