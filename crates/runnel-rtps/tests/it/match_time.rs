//! Time until participants match.

use std::time::Duration;

use crate::net::{Conditions, Net, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::GuidPrefix;

const TOPIC: &str = "rt/chatter";

/// Returns the time until a writer and a reader are matched on both sides; one participant has run for `before`.
fn time_to_match(seed: u64, conditions: Conditions, before: Duration) -> Duration {
    let mut net = Net::new(seed);
    net.conditions = conditions;
    let a = net.add();
    let writer = net.writer(a, TOPIC, QoS::default());
    net.run_for(before);
    let b = net.add();
    let reader = net.reader(b, TOPIC, QoS::default());
    net.run_until("the endpoints match", secs(20), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    })
}

#[test]
fn newcomer_matches_within_a_second_at_30_percent_loss() {
    for before in [Duration::ZERO, secs(10)] {
        for seed in 0..100 {
            let elapsed = time_to_match(seed, Conditions::bad(30), before);
            assert!(elapsed < secs(1), "with one that has run for {before:?}, seed {seed}: {elapsed:?}");
        }
    }
}

#[test]
fn newcomer_matches_after_two_round_trips() {
    let elapsed = time_to_match(1, Conditions { delay: millis(1), ..Conditions::GOOD }, secs(10));
    assert!(elapsed <= millis(4), "{elapsed:?}");
}

#[test]
fn newcomer_gets_second_announcement_unasked() {
    let mut net = Net::new(1);
    let a = net.add();
    let writer = net.writer(a, TOPIC, QoS::default());
    net.run_for(secs(10));
    let (b, begun) = (net.add(), net.now);
    let reader = net.reader(b, TOPIC, QoS::default());
    net.run_until("the sample arrives", secs(1), |net| net.nodes[a].participant.announced().count() == 1);
    // The answer in flight is lost.
    net.nodes[b].stopped = true;
    net.run_for(millis(1));
    net.nodes[b].stopped = false;
    net.run_until("the endpoints match", secs(1), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    assert!(net.now.since(begun) < millis(8), "{:?}", net.now.since(begun));
}

#[test]
fn participant_is_at_announced_and_local_addresses() {
    let mut net = Net::new(1);
    let (a, b, c) = (net.add(), net.add(), net.add());
    let (writer, _) = (net.writer(a, TOPIC, QoS::default()), net.reader(b, TOPIC, QoS::default()));
    net.run_until("the endpoints match", secs(1), |net| net.is_matched(a, writer));
    let [at_a, at_b, at_c] = [a, b, c].map(|node| net.nodes[node].address.ip());
    let of_b = net.nodes[b].participant.prefix();
    let is_at = |ip| net.nodes[a].participant.is_at(of_b, ip);
    assert_eq!([at_a, at_b, at_c, [127, 0, 0, 1].into()].map(is_at), [false, true, false, false]);
    let unknown = GuidPrefix([9; 12]);
    assert!(!net.nodes[a].participant.is_at(unknown, at_b));
}

/// Neither answers the other in time; later both do, with few datagrams.
#[test]
fn mutually_demoted_participants_match() {
    let mut net = Net::new(1);
    net.conditions = Conditions { delay: millis(1), ..Conditions::GOOD };
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, QoS::default()), net.reader(b, TOPIC, QoS::default()));
    let are_on_trial =
        |net: &Net| net.nodes.iter().all(|node| node.participant.peers().any(|peer| !peer.is_proved()));
    net.run_until("both are on trial", secs(1), are_on_trial);
    // Datagrams in flight are lost, and both trials end.
    net.nodes.iter_mut().for_each(|node| node.stopped = true);
    net.run_for(secs(5));
    net.nodes.iter_mut().for_each(|node| node.stopped = false);
    assert!(are_on_trial(&net));
    let sent = |net: &Net| net.nodes.iter().map(|node| node.sent).sum::<usize>();
    let before = sent(&net);
    net.run_until("the endpoints match", secs(5), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.run_for(secs(5));
    assert!(sent(&net) - before < 100, "{}", sent(&net) - before);
}
