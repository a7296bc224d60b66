//! Updates that nodes get.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::{MasterEvent, UpdateFault};
use super::network::{Network, strings};
use crate::rpc::CallError;
use crate::xmlrpc::Value;

const A_SECOND: Duration = Duration::from_secs(1);

fn update(key: &str, value: Value) -> (String, Vec<Value>) {
    ("paramUpdate".to_owned(), vec!["/master".into(), key.into(), value])
}

fn empty() -> Value {
    Value::Struct(BTreeMap::new())
}

#[test]
fn subscribers_get_every_publisher_change() {
    let mut net = Network::new(3);
    net.register(0, "registerSubscriber", "/t");
    let reply = net.register(1, "registerPublisher", "/t");
    assert_eq!(
        reply,
        vec![1.into(), "Registered [/n1] as publisher of [/t]".into(), strings(&[&net.uri(0)]).into()].into()
    );
    let (first, second) = (net.uri(1), net.uri(2));
    assert_eq!(
        net.got(0),
        [("publisherUpdate".to_owned(), vec!["/master".into(), "/t".into(), strings(&[&first]).into()])]
    );
    net.register(2, "registerPublisher", "/t");
    assert_eq!(net.publishers(0, "/t"), [strings(&[&first, &second]).into()]);
    net.call(1, "unregisterPublisher", &strings(&["/n1", "/t", &first]));
    assert_eq!(net.publishers(0, "/t"), [strings(&[&second]).into()]);
    net.call(2, "unregisterPublisher", &strings(&["/n2", "/t", &second]));
    assert_eq!(net.publishers(0, "/t"), [Value::from(Vec::new())]);
    net.call(0, "unregisterSubscriber", &strings(&["/n0", "/t", &net.uri(0)]));
    net.register(1, "registerPublisher", "/t");
    assert_eq!(net.got(0), []);
}

#[test]
fn slow_node_gets_newest_list_once() {
    let mut net = Network::new(6);
    net.register(0, "registerSubscriber", "/t");
    net.register(1, "registerSubscriber", "/t");
    net.nodes[0].stopped = true;
    for publisher in 2..6 {
        net.register(publisher, "registerPublisher", "/t");
    }
    assert_eq!(net.publishers(1, "/t").len(), 4);
    assert_eq!(net.publishers(0, "/t"), [strings(&[&net.uri(2)]).into()]);
    net.resume(0);
    let all: Vec<String> = (2..6).map(|node| net.uri(node)).collect();
    let all: Vec<Value> = all.into_iter().map(Value::from).collect();
    assert_eq!(net.publishers(0, "/t"), [all.into()]);
}

#[test]
fn node_gets_next_update_after_timeout() {
    let mut net = Network::new(3);
    for topic in ["/t", "/u"] {
        net.register(0, "registerSubscriber", topic);
    }
    net.pass(2 * A_SECOND);
    net.nodes[0].stopped = true;
    for topic in ["/t", "/u"] {
        net.register(1, "registerPublisher", topic);
    }
    net.pass(14 * A_SECOND);
    assert_eq!(net.got(0).len(), 1);
    net.pass(2 * A_SECOND);
    assert_eq!(net.publishers(0, "/u"), [strings(&[&net.uri(1)]).into()]);
    let failed: Vec<MasterEvent> =
        net.events().into_iter().filter(|event| matches!(event, MasterEvent::UpdateFailed { .. })).collect();
    let [MasterEvent::UpdateFailed { uri, why }] = failed.as_slice() else { panic!("{failed:?}") };
    assert_eq!(*uri, net.uri(0));
    assert!(matches!(why, UpdateFault::Call(CallError::TimedOut { .. })), "{why}");
}

#[test]
fn unneeded_update_is_not_sent() {
    let mut net = Network::new(2);
    let me = net.uri(0);
    for topic in ["/t", "/u"] {
        net.register(0, "registerSubscriber", topic);
    }
    net.nodes[0].stopped = true;
    for topic in ["/t", "/u"] {
        net.register(1, "registerPublisher", topic);
    }
    net.call(0, "unregisterSubscriber", &strings(&["/n0", "/u", &me]));
    net.resume(0);
    assert_eq!(net.got(0).len(), 1);
}

#[test]
fn unreachable_node_is_reported() {
    let mut net = Network::new(1);
    for (name, uri) in [("/gone", "http://node:9/"), ("/odd", "http://"), ("/rpc", "rosrpc://node:1000/")] {
        net.call(0, "registerSubscriber", &strings(&[name, "/t", "*", uri]));
    }
    net.register(0, "registerPublisher", "/t");
    let failed = net.events().into_iter().filter_map(|event| match event {
        MasterEvent::UpdateFailed { uri, .. } => Some(uri),
        _ => None,
    });
    let mut failed: Vec<String> = failed.collect();
    failed.sort_unstable();
    assert_eq!(failed, ["http://", "http://node:9/", "rosrpc://node:1000/"]);
    assert_eq!(net.master.node_count(), 4);
}

#[test]
fn parameter_update_skips_its_setter() {
    let mut net = Network::new(3);
    for (node, key) in [(0, "/n"), (1, "/n/x"), (2, "/")] {
        let reply = net.call(node, "subscribeParam", &strings(&[&format!("/n{node}"), &net.uri(node), key]));
        assert_eq!(reply, vec![1.into(), format!("Subscribed to parameter [{key}]").into(), empty()].into());
    }
    let set = |net: &mut Network, setter: &str, key: &str, value: Value| {
        net.call(0, "setParam", &[setter.into(), key.into(), value]);
        [net.got(0), net.got(1), net.got(2)]
    };
    let one = || update("/n/x/", 1.into());
    assert_eq!(set(&mut net, "/s", "/n/x", 1.into()), [vec![one()], vec![one()], vec![one()]]);
    assert_eq!(set(&mut net, "/n0", "/n/x", 1.into()), [vec![], vec![one()], vec![one()]]);
    assert_eq!(set(&mut net, "/n1", "/n/x", 1.into()), [vec![one()], vec![], vec![one()]]);
    let whole = Value::Struct(BTreeMap::from([("w".to_owned(), 2.into())]));
    let updates = set(&mut net, "/s", "/n", whole.clone());
    let around = || vec![update("/n/", whole.clone())];
    assert_eq!(updates, [around(), vec![update("/n/x/", empty())], around()]);
    let root = Value::Struct(BTreeMap::from([("n".to_owned(), whole.clone())]));
    let updates = set(&mut net, "/s", "/", root.clone());
    assert_eq!(updates, [around(), vec![update("/n/x/", empty())], vec![update("/", root)]]);
    assert_eq!(set(&mut net, "/s", "/n", 7.into())[1], [update("/n/x/", empty())]);
}

#[test]
fn deleted_namespace_is_sent_empty_to_all() {
    let mut net = Network::new(2);
    for (node, key) in [(0, "/n"), (1, "/n/x")] {
        net.call(node, "subscribeParam", &strings(&[&format!("/n{node}"), &net.uri(node), key]));
    }
    net.call(0, "setParam", &["/s".into(), "/n/x/y".into(), 1.into()]);
    assert_eq!(
        (net.got(0), net.got(1)),
        (vec![update("/n/x/y/", 1.into())], vec![update("/n/x/y/", 1.into())])
    );
    net.call(0, "deleteParam", &strings(&["/n0", "/n"]));
    assert_eq!((net.got(0), net.got(1)), (vec![update("/n/", empty())], vec![update("/n/x/", empty())]));
    net.call(0, "deleteParam", &strings(&["/n0", "/n"]));
    net.call(1, "unsubscribeParam", &strings(&["/n1", &net.uri(1), "/n/x"]));
    net.call(0, "setParam", &["/s".into(), "/n/x".into(), 1.into()]);
    assert_eq!((net.got(0), net.got(1)), (vec![update("/n/x/", 1.into())], vec![]));
}

#[test]
fn slow_parameter_subscriber_gets_whole_namespaces() {
    let mut config = super::super::MasterConfig::new("http://master:11311/", 1);
    config.limits.queued_updates = 8;
    let mut net = Network::with(config, 1);
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/n"]));
    net.nodes[0].stopped = true;
    for number in 0..20 {
        net.call(0, "setParam", &["/s".into(), format!("/n/p{number}").into(), number.into()]);
    }
    net.resume(0);
    let all = (0..20).map(|number| (format!("p{number}"), number.into())).collect();
    assert!(net.got(0).contains(&update("/n/", Value::Struct(all))));
    assert_eq!(net.master.lost_updates(), 0);
}

#[test]
fn newer_node_replaces_older_of_same_name() {
    let mut net = Network::new(3);
    let (old, new) = (net.uri(0), net.uri(1));
    net.register(2, "registerSubscriber", "/t");
    net.call(0, "registerPublisher", &strings(&["/a", "/t", "x/Y", &old]));
    net.call(0, "registerService", &strings(&["/a", "/s", "rosrpc://node:1", &old]));
    net.call(0, "subscribeParam", &strings(&["/a", &old, "/p"]));
    net.got(2);
    net.events();
    net.call(1, "registerPublisher", &strings(&["/a", "/u", "x/Y", &new]));
    let reason = "[/a] Reason: new node registered with same name";
    assert_eq!(net.got(0), [("shutdown".to_owned(), strings(&["/master", reason]))]);
    assert_eq!(net.publishers(2, "/t"), [Value::from(Vec::new())]);
    let taken = MasterEvent::TakenOver { name: "/a".into(), old_uri: old.clone(), new_uri: new };
    assert!(net.events().contains(&taken));
    assert_eq!(net.master.registration_count(), 2);
    net.call(2, "setParam", &["/s".into(), "/p".into(), 1.into()]);
    net.call(0, "unregisterPublisher", &strings(&["/a", "/t", &old]));
    assert_eq!((net.got(0), net.got(1)), (vec![], vec![]));
}

#[test]
fn replaced_node_cannot_take_name_back() {
    let mut net = Network::new(2);
    let (old, new) = (net.uri(0), net.uri(1));
    net.call(0, "registerPublisher", &strings(&["/a", "/t", "x/Y", &old]));
    net.call(1, "registerPublisher", &strings(&["/a", "/t", "x/Y", &new]));
    net.got(0);
    net.call(0, "subscribeParam", &strings(&["/a", &old, "/p"]));
    assert_eq!(
        (net.got(1), net.master.registration_count()),
        (vec![], 1),
        "the newer node keeps its registration"
    );
    net.pass(Duration::from_secs(10));
    net.call(0, "subscribeParam", &strings(&["/a", &old, "/p"]));
    assert_eq!(net.got(1).len(), 1, "after the grace period it counts as a new node");
}

#[test]
fn exit_after_unregistering_is_no_failure() {
    let mut net = Network::new(2);
    let me = net.uri(0);
    net.register(0, "registerSubscriber", "/t");
    net.nodes[0].stopped = true;
    net.register(1, "registerPublisher", "/t");
    net.call(0, "unregisterSubscriber", &strings(&["/n0", "/t", &me]));
    net.kill(0);
    assert!(!net.events().iter().any(|event| matches!(event, MasterEvent::UpdateFailed { .. })));
}

#[test]
fn exit_without_shutdown_answer_is_no_failure() {
    let mut net = Network::new(2);
    let (old, new) = (net.uri(0), net.uri(1));
    net.call(0, "registerPublisher", &strings(&["/a", "/t", "x/Y", &old]));
    net.nodes[0].stopped = true;
    net.call(1, "registerPublisher", &strings(&["/a", "/t", "x/Y", &new]));
    assert_eq!(net.got(0).len(), 1);
    net.kill(0);
    assert!(!net.events().iter().any(|event| matches!(event, MasterEvent::UpdateFailed { .. })));
}

#[test]
fn shutdown_is_left_to_driver() {
    let mut net = Network::new(1);
    net.call(0, "shutdown", &strings(&["/x", "enough"]));
    assert_eq!(
        net.events(),
        [MasterEvent::ShutdownRequested { caller: "/x".into(), reason: "enough".into() }]
    );
    assert_eq!(net.call(0, "getPid", &strings(&["/x"])), vec![1.into(), "".into(), 1.into()].into());
}
