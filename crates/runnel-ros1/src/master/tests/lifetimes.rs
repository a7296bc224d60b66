//! Nodes that die, and nodes that only seem to.

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

/// A publisher that is node 0 and a subscriber that is node 1, both asked for their process numbers already.
fn pair() -> Network {
    let mut net = Network::new(2);
    net.register(1, "registerSubscriber", "/t");
    net.register(0, "registerPublisher", "/t");
    net.pass(2 * A_SECOND);
    assert_eq!((questions(&mut net, 0), questions(&mut net, 1)), (1, 1));
    net
}

#[test]
fn a_killed_node_is_dropped_and_its_subscribers_are_told() {
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
fn a_node_whose_process_goes_on_is_kept_after_one_question() {
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
fn a_node_that_calls_again_is_not_asked() {
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
fn another_process_at_the_same_port_is_no_sign_of_life() {
    let mut net = pair();
    net.nodes[0].pid = 999;
    net.disconnect(0);
    net.pass(5 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 3);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn a_node_that_is_stopped_is_kept() {
    let mut net = pair();
    net.nodes[0].stopped = true;
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!(lost(&mut net), [""; 0]);
    assert_eq!(net.master.node_count(), 2);
}

#[test]
fn a_node_that_comes_back_between_two_questions_is_kept() {
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
fn connections_for_one_call_lead_to_one_question_at_most() {
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
fn who_only_looks_is_never_asked() {
    let mut net = pair();
    net.call_once(1, "getSystemState", &strings(&["/n0"]));
    net.call_once(1, "setParam", &["/n0".into(), "/k".into(), 1.into()]);
    net.pass(60 * A_SECOND);
    assert_eq!(questions(&mut net, 0), 0);
}

#[test]
fn a_node_that_unregistered_is_not_missed() {
    let mut net = pair();
    net.call(0, "unregisterPublisher", &strings(&["/n0", "/t", &net.uri(0)]));
    net.disconnect(0);
    net.pass(60 * A_SECOND);
    assert_eq!((questions(&mut net, 0), lost(&mut net)), (0, vec![]));
}

#[test]
fn a_node_whose_only_service_another_took_is_not_missed() {
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
fn a_connection_that_the_master_closed_itself_does_not_count_as_open() {
    let mut net = pair();
    net.call_once(0, "hasParam", &strings(&["/n0", "/k"]));
    net.kill(0);
    net.pass(5 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n0"]);
}

#[test]
fn the_death_of_a_node_that_was_taken_over_is_no_loss() {
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
fn many_deaths_are_followed_up_a_few_at_a_time() {
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
    let asked: usize = (0..4).map(|node| questions(&mut net, node)).sum();
    assert_eq!(asked, 2);
    net.pass(60 * A_SECOND);
    assert_eq!(lost(&mut net), ["/n4", "/n5", "/n6", "/n7"]);
    assert_eq!(net.master.node_count(), 5);
}
