//! What the master sends to addresses that somebody else registered.

use std::time::Duration;

use super::super::MasterEvent;
use super::network::{Network, strings};
use crate::xmlrpc::Value;

const ATTACKER: usize = 0;
const VICTIM: usize = 1;
const AN_HOUR: Duration = Duration::from_secs(3600);

/// Registers nodes at the victim's address, some in one request, and changes what they must be told of.
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
fn silent_third_party_gets_three_times_the_attackers_bytes_at_most() {
    for (listens, attacker_speaks_for_itself) in [(true, false), (false, false), (true, true)] {
        let mut net = Network::new(2);
        (net.nodes[VICTIM].stopped, net.nodes[VICTIM].listens) = (true, listens);
        if attacker_speaks_for_itself {
            net.register(ATTACKER, "registerSubscriber", "/t");
        }
        attack(&mut net);
        let [sent, received] = [net.nodes[ATTACKER].bytes_sent, net.nodes[VICTIM].bytes_received];
        // The value that is set does not name the victim.
        let naming = sent - 20 * 10_000;
        assert!(received <= 3 * naming, "{received} bytes for {naming}, listening: {listens}");
        assert!(received > 0 && net.master.withheld_updates() > 0);
        let withheld = |event: &MasterEvent| matches!(event, MasterEvent::Withheld { .. });
        assert!(net.events().iter().any(withheld));
    }
}

#[test]
fn answering_node_gets_updates_of_all_its_topics() {
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
fn large_first_update_follows_at_once_upon_the_nodes_answer() {
    let mut net = Network::new(2);
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    let large: Value = "x".repeat(100_000).into();
    net.call(1, "setParam", &["/n1".into(), "/p".into(), large.clone()]);
    assert_eq!(net.got(0), [("paramUpdate".to_owned(), vec!["/master".into(), "/p/".into(), large])]);
    assert_eq!(net.master.withheld_updates(), 1);
}

#[test]
fn node_that_answers_late_gets_what_was_withheld() {
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

#[test]
fn address_that_never_answers_is_given_up() {
    let mut net = Network::new(2);
    net.nodes[0].stopped = true;
    net.call(0, "subscribeParam", &strings(&["/n0", &net.uri(0), "/p"]));
    net.call(1, "setParam", &["/n1".into(), "/p".into(), "x".repeat(100_000).into()]);
    net.pass(2 * AN_HOUR);
    let given_up = |event: &MasterEvent| matches!(event, MasterEvent::UpdateFailed { why, .. } if why.contains("1 updates are given up"));
    assert!(net.events().iter().any(given_up));
    assert_eq!(net.master.lost_updates(), 1);
}
