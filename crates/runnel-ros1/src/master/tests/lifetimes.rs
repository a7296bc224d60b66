//! Nodes that die, and nodes that only seem dead.

use std::time::Duration;

use super::super::{MasterConfig, MasterEvent};
use super::network::{Network, strings};
use crate::xmlrpc::Value;

const A_SECOND: Duration = Duration::from_secs(1);

fn lost(net: &mut Network) -> Vec<String> {
    let lost = net.events().into_iter().filter_map(|event| match event {
        MasterEvent::NodeLost { name, .. } => Some(name),
        _ => None,
    });
    lost.collect()
}

fn questions(net: &mut Network, node: usize) -> usize {
    let got = std::mem::take(&mut net.nodes[node].got);
    got.iter().filter(|(method, _)| method == "getPid").count()
}

/// A publisher, node 0, and a subscriber, node 1. Both have answered their first probe.
fn pair() -> Network {
    let mut net = Network::new(2);
    net.register(1, "registerSubscriber", "/t");
    net.register(0, "registerPublisher", "/t");
    net.pass(2 * A_SECOND);
    assert_eq!((questions(&mut net, 0), questions(&mut net, 1)), (1, 1));
    net
}

#[test]
fn killed_node_is_dropped_and_subscribers_notified() {
    let mut net = pair();
    net.kill(0);
    net.pass(Duration::from_millis(4400));
    assert_eq!(lost(&mut net), [""; 0]);
    net.pass(Duration::from_millis(200));
    assert_eq!(lost(&mut net), ["/n0"]);
    assert_eq!(net.publishers(1, "/t"), [Value::from(Vec::new())]);
    assert_eq!((net.master.node_count(), net.master.registration_count()), (1, 1));
    net.pass(60 * A_SECOND);
    assert_eq!(net.master.poll_timeout(), None);
}

#[test]
fn living_node_is_kept_after_one_probe() {
    let mut net = pair();
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 1);
    assert_eq!(lost(&mut net), [""; 0]);
    net.register(0, "registerPublisher", "/t");
    net.kill(0);
    net.pass(5 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn calling_node_is_not_probed() {
    let mut net = pair();
    net.disconnect(0);
    net.pass(A_SECOND / 4);
    net.call(0, "hasParam", &strings(&["/n0", "/k"]));
    net.pass(60 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 0);
    net.kill(0);
    net.pass(5 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn other_process_at_port_is_detected() {
    let mut net = pair();
    net.nodes[0].pid = 999;
    net.disconnect(0);
    net.pass(5 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 3);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn stopped_node_is_kept() {
    let mut net = pair();
    net.nodes[0].stopped = true;
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!(lost(&mut net), [""; 0]);
    assert_eq!(net.master.node_count(), 2);
}

#[test]
fn node_back_between_probes_is_kept() {
    let mut net = pair();
    net.nodes[0].listens = false;
    net.disconnect(0);
    net.pass(3 * A_SECOND);
    net.nodes[0].listens = true;
    net.pass(60 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 1);
    assert_eq!(lost(&mut net), [""; 0]);
}

#[test]
fn single_call_connections_cause_one_probe_at_most() {
    let mut net = Network::new(1);
    let uri = net.uri(0);
    net.call_once(0, "registerPublisher", &strings(&["/n0", "/t", "x/Y", &uri]));
    net.call_once(0, "registerPublisher", &strings(&["/n0", "/u", "x/Y", &uri]));
    net.pass(60 * A_SECOND);
    for _ in 0..10 {
        net.call_once(0, "getParam", &strings(&["/n0", "/k"]));
        net.pass(A_SECOND);
    }
    assert_eq!(questions(&mut net, 0), 1);
    assert_eq!(lost(&mut net), [""; 0]);
}

#[test]
fn unregistered_caller_is_never_probed() {
    let mut net = pair();
    net.call_once(1, "getSystemState", &strings(&["/n0"]));
    net.call_once(1, "setParam", &["/n0".into(), "/k".into(), 1.into()]);
    net.pass(60 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 0);
}

#[test]
fn unregistered_node_is_not_reported_lost() {
    let mut net = pair();
    net.call(0, "unregisterPublisher", &strings(&["/n0", "/t", &net.uri(0)]));
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!((questions(&mut net, 0), lost(&mut net)), (0, vec![]));
}

#[test]
fn node_that_lost_its_service_is_not_reported_lost() {
    let mut net = Network::new(2);
    for node in 0..2 {
        let (name, uri) = (format!("/n{node}"), net.uri(node));
        net.call(node, "registerService", &strings(&[&name, "/s", "rosrpc://node:1", &uri]));
    }
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!((questions(&mut net, 0), questions(&mut net, 1)), (0, 1));
}

#[test]
fn connection_closed_by_master_is_not_counted_open() {
    let mut net = pair();
    net.call_once(0, "hasParam", &strings(&["/n0", "/k"]));
    net.kill(0);
    net.pass(5 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn death_of_replaced_node_is_not_reported() {
    let mut net = Network::new(2);
    let (old, new) = (net.uri(0), net.uri(1));
    net.call(0, "registerPublisher", &strings(&["/a", "/t", "x/Y", &old]));
    net.pass(2 * A_SECOND);
    net.call(1, "registerPublisher", &strings(&["/a", "/t", "x/Y", &new]));
    net.kill(0);
    net.pass(60 * A_SECOND);
    assert_eq!(lost(&mut net), [""; 0]);
    net.kill(1);
    net.pass(5 * A_SECOND);
    assert_eq!(lost(&mut net), ["/a"]);
}

#[test]
fn many_deaths_are_probed_a_few_at_a_time() {
    let mut config = MasterConfig::new("http://master:11311/", 1);
    config.limits.probes = 2;
    let mut net = Network::with(config, 9);
    for node in 0..9 {
        net.register(node, "registerPublisher", "/t");
    }
    net.pass(2 * A_SECOND);
    (0..9).for_each(|node| net.nodes[node].got.clear());
    (0..4).for_each(|node| net.nodes[node].stopped = true);
    (0..4).for_each(|node| net.disconnect(node));
    (4..8).for_each(|node| net.kill(node));
    net.pass(A_SECOND);
    let probes: usize = (0..4).map(|node| questions(&mut net, node)).sum();
    assert_eq!(probes, 2);
    net.pass(60 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n4", "/n5", "/n6", "/n7"]);
    assert_eq!(net.master.node_count(), 5);
}
