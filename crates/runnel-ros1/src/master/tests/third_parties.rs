//! Bytes that the master sends to addresses that a third party registered.

use std::time::Duration;

use super::super::{MasterConfig, MasterEvent, UpdateFault};
use super::network::{Network, UNKNOWN_HOST, strings};
use crate::rpc::CallError;
use crate::xmlrpc::Value;

const ATTACKER: usize = 0;
const VICTIM: usize = 1;
const AN_HOUR: Duration = Duration::from_secs(3600);

/// Registers nodes at the victim's address, some in one request, and changes their topics and parameters.
fn attack(net: &mut Network) {
    let large: Value = "x".repeat(10_000).into();
    for round in 0..20 {
        let uri = format!("{}{}", net.uri(VICTIM), "a".repeat(round % 3));
        let name = format!("/bot{round}");
        net.call(ATTACKER, "registerSubscriber", &strings(&[&name, "/t", "*", &uri]));
        net.call(ATTACKER, "registerPublisher", &strings(&[&name, "/t", "a/B", &uri]));
        net.call(ATTACKER, "subscribeParam", &strings(&[&name, &uri, "/p"]));
        net.call(ATTACKER, "system.multicall", &[registrations(round, &uri)]);
        net.call(ATTACKER, "setParam", &["/a".into(), "/p".into(), large.clone()]);
        net.pass(Duration::from_secs(2));
    }
    net.pass(AN_HOUR);
}

fn registrations(round: usize, uri: &str) -> Value {
    let call = |number: usize| {
        let params = strings(&[&format!("/m{round}x{number}"), "/t", "*", uri]);
        let members = [("methodName", "registerSubscriber".into()), ("params", params.into())];
        Value::Struct(members.map(|(name, value)| (name.to_owned(), value)).into())
    };
    (0..10).map(call).collect::<Vec<_>>().into()
}

#[test]
fn silent_victim_gets_at_most_triple_attacker_bytes() {
    for (listens, attacker_speaks_for_itself) in [(true, false), (false, false), (true, true)] {
        let mut net = Network::new(2);
        (net.nodes[VICTIM].stopped, net.nodes[VICTIM].listens) = (true, listens);
        if attacker_speaks_for_itself {
            net.register(ATTACKER, "registerSubscriber", "/t");
        }
        attack(&mut net);
        let [sent, received] = [net.nodes[ATTACKER].bytes_sent, net.nodes[VICTIM].bytes_received];
        // The value that is set does not contain the victim's address.
        let naming = sent - 20 * 10_000;
        assert!(received <= 3 * naming, "{received} bytes for {naming}, listening: {listens}");
        assert!(received > 0 && net.master.withheld_updates() > 0);
        let withheld = |event: &MasterEvent| matches!(event, MasterEvent::Withheld { .. });
        assert!(net.events().iter().any(withheld));
    }
}

#[test]
fn answering_node_gets_updates_of_all_topics() {
    let mut net = Network::new(4);
    let topics: Vec<String> = (0..100).map(|number| format!("/t{number}")).collect();
    for topic in &topics {
        net.register(0, "registerSubscriber", topic);
        for publisher in 1..4 {
            net.register(publisher, "registerPublisher", topic);
        }
    }
    let all: Value = strings(&[&net.uri(1), &net.uri(2), &net.uri(3)]).into();
    let got = net.got(0);
    for topic in &topics {
        let last = got.iter().rfind(|(_, params)| params.get(1) == Some(&topic.as_str().into()));
        assert_eq!(last.and_then(|(_, params)| params.get(2)), Some(&all), "{topic}");
    }
}

#[test]
fn large_first_update_follows_first_answer() {
    let mut net = Network::new(2);
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    let large: Value = "x".repeat(100_000).into();
    net.call(1, "setParam", &["/n1".into(), "/p".into(), large.clone()]);
    assert_eq!(net.got(0), [("paramUpdate".to_owned(), vec!["/master".into(), "/p/".into(), large])]);
    assert_eq!(net.master.withheld_updates(), 1);
}

#[test]
fn late_node_gets_withheld_updates() {
    let mut net = Network::new(2);
    net.nodes[0].stopped = true;
    for service in ["/s", "/t", "/u"] {
        net.call(0, "registerService", &strings(&["/n0", service, "rosrpc://n0:1", &net.uri(0)]));
    }
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    let large: Value = "x".repeat(100_000).into();
    net.call(1, "setParam", &["/n1".into(), "/p".into(), large.clone()]);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.got(0), []);
    net.nodes[0].unanswered_are_lost();
    net.nodes[0].stopped = false;
    net.pass(Duration::from_secs(60));
    assert_eq!(net.got(0), [("paramUpdate".to_owned(), vec!["/master".into(), "/p/".into(), large])]);
}

/// Reasons of failed updates since the last request.
fn failures(net: &mut Network) -> Vec<UpdateFault> {
    let why = |event| if let MasterEvent::UpdateFailed { why, .. } = event { Some(why) } else { None };
    net.events().into_iter().filter_map(why).collect()
}

fn set_large_param(net: &mut Network) -> (String, Vec<Value>) {
    let large: Value = "x".repeat(100_000).into();
    net.call(1, "setParam", &["/n1".into(), "/p".into(), large.clone()]);
    ("paramUpdate".to_owned(), vec!["/master".into(), "/p/".into(), large])
}

#[test]
fn silent_address_is_given_up() {
    let mut net = Network::new(2);
    net.nodes[0].stopped = true;
    for service in 0..10 {
        let name = format!("/s{service}");
        net.call(0, "registerService", &strings(&["/n0", &name, "rosrpc://n0:1", &net.uri(0)]));
    }
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    set_large_param(&mut net);
    net.pass(2 * AN_HOUR);
    let [why] = &failures(&mut net)[..] else { panic!("one report") };
    let timed_out = |last: &CallError| matches!(last, CallError::TimedOut { .. });
    assert!(matches!(why, UpdateFault::NeverAnswered { updates: 1, last } if timed_out(last)), "{why}");
    assert_eq!(net.master.lost_updates(), 1);
}

#[test]
fn address_without_credit_is_probed_after_next_request() {
    let mut net = Network::new(2);
    net.nodes[0].stopped = true;
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    let update = set_large_param(&mut net);
    net.pass(2 * AN_HOUR);
    assert_eq!((failures(&mut net), net.master.lost_updates()), (Vec::new(), 0));
    net.nodes[0].unanswered_are_lost();
    net.nodes[0].stopped = false;
    net.call(0, "getParam", &strings(&["/n0", "/other"]));
    assert_eq!(net.got(0), [update]);
}

#[test]
fn unresolved_host_costs_no_credit() {
    let mut net = Network::new(2);
    let uri = format!("http://{UNKNOWN_HOST}:1/");
    net.call(0, "subscribeParam", &strings(&["/n", &uri, "/p"]));
    set_large_param(&mut net);
    net.pass(2 * AN_HOUR);
    assert_eq!(net.lookups, 9, "all probes before giving up");
    let [why] = &failures(&mut net)[..] else { panic!("one report") };
    let untried = |last: &CallError| matches!(last, CallError::Unreachable { is_attempted: false, .. });
    assert!(matches!(why, UpdateFault::NeverAnswered { last, .. } if untried(last)), "{why}");
    assert!(why.to_string().ends_with("cannot connect: unknown host"), "{why}");
}

#[test]
fn node_without_pid_gets_updates() {
    let mut net = Network::new(2);
    net.nodes[0].refuses_get_pid = true;
    for topic in ["/s", "/t"] {
        net.register(0, "registerSubscriber", topic);
    }
    net.pass(Duration::from_secs(10));
    net.register(1, "registerPublisher", "/t");
    assert_eq!(net.publishers(0, "/t"), [strings(&[&net.uri(1)]).into()]);
    assert_eq!(net.master.withheld_updates(), 0);
}

#[test]
fn failed_update_follows_next_probe_answer() {
    let mut net = Network::new(2);
    net.nodes[0].stopped = true;
    for topic in ["/s", "/t"] {
        net.register(0, "registerSubscriber", topic);
    }
    net.register(1, "registerPublisher", "/t");
    net.pass(Duration::from_secs(16));
    assert_eq!(net.publishers(0, "/t").len(), 1);
    assert_eq!((net.master.state.retries.len(), net.master.withheld_updates()), (0, 1));
    net.nodes[0].unanswered_are_lost();
    net.nodes[0].stopped = false;
    net.pass(Duration::from_secs(5));
    assert_eq!(net.publishers(0, "/t").len(), 1);
}

#[test]
fn updates_withheld_from_removed_addresses_are_dropped() {
    let mut config = MasterConfig::new("http://master:11311/", 1);
    config.limits.nodes = 2;
    let mut net = Network::with(config, 6);
    for node in 2..6 {
        net.nodes[node].stopped = true;
        let (name, uri) = (format!("/n{node}"), net.uri(node));
        net.call(node, "subscribeParam", &strings(&[&name, &uri, "/p"]));
        set_large_param(&mut net);
        net.call(node, "unsubscribeParam", &strings(&[&name, &uri, "/p"]));
    }
    net.register(1, "registerPublisher", "/t");
    assert_eq!(net.master.lost_updates(), 4);
    // A new node, and one at an address that had another.
    for node in [0, 2] {
        net.nodes[node].unanswered_are_lost();
        net.nodes[node].stopped = false;
        net.register(node, "registerSubscriber", "/t");
        net.register(1, "registerPublisher", "/t");
        assert_eq!(net.publishers(node, "/t"), [strings(&[&net.uri(1)]).into()]);
        net.call(node, "unregisterSubscriber", &strings(&[&format!("/n{node}"), "/t", &net.uri(node)]));
    }
}
