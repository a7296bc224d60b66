//! How long participants take to meet.

use std::time::Duration;

use crate::net::{Net, Weather, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::GuidPrefix;

const TOPIC: &str = "rt/chatter";

/// How long it takes until a writer and a reader have met on both sides, the one's participant having run for `before`.
fn meet(seed: u64, weather: Weather, before: Duration) -> Duration {
    let mut net = Net::new(seed);
    net.weather = weather;
    let a = net.add();
    let writer = net.writer(a, TOPIC, QoS::default());
    net.run_for(before);
    let b = net.add();
    let reader = net.reader(b, TOPIC, QoS::default());
    net.run_until("they meet", secs(20), |net| net.is_matched(a, writer) && net.is_matched(b, reader))
}

#[test]
fn a_newcomer_is_met_within_a_second_where_thirty_in_a_hundred_datagrams_are_lost() {
    for before in [Duration::ZERO, secs(10)] {
        for seed in 0..100 {
            let took = meet(seed, Weather::foul(30), before);
            assert!(took < secs(1), "beside one that has run for {before:?}, seed {seed}: {took:?}");
        }
    }
}

#[test]
fn a_newcomer_is_met_after_two_round_trips() {
    let took = meet(1, Weather { delay: millis(1), ..Weather::FAIR }, secs(10));
    assert!(took <= millis(4), "{took:?}");
}

#[test]
fn a_newcomer_is_told_of_us_again_before_it_says_another_word() {
    let mut net = Net::new(1);
    let a = net.add();
    let writer = net.writer(a, TOPIC, QoS::default());
    net.run_for(secs(10));
    let (b, begun) = (net.add(), net.now);
    let reader = net.reader(b, TOPIC, QoS::default());
    net.run_until("it is heard", secs(1), |net| net.nodes[a].participant.announced().count() == 1);
    // What it was answered is under way, and is lost.
    net.nodes[b].stopped = true;
    net.run_for(millis(1));
    net.nodes[b].stopped = false;
    net.run_until("they meet", secs(1), |net| net.is_matched(a, writer) && net.is_matched(b, reader));
    assert!(net.now.since(begun) < millis(8), "{:?}", net.now.since(begun));
}

#[test]
fn participant_is_at_addresses_that_it_announces_and_on_its_host() {
    let mut net = Net::new(1);
    let (a, b, c) = (net.add(), net.add(), net.add());
    let (writer, _) = (net.writer(a, TOPIC, QoS::default()), net.reader(b, TOPIC, QoS::default()));
    net.run_until("they meet", secs(1), |net| net.is_matched(a, writer));
    let [at_a, at_b, at_c] = [a, b, c].map(|node| net.nodes[node].address.ip());
    let of_b = net.nodes[b].participant.prefix();
    let is_at = |ip| net.nodes[a].participant.is_at(of_b, ip);
    assert_eq!([at_a, at_b, at_c, [127, 0, 0, 1].into()].map(is_at), [false, true, false, false]);
    let unknown = GuidPrefix([9; 12]);
    assert!(!net.nodes[a].participant.is_at(unknown, at_b));
}

/// Neither answers the other in time; later both do, and few words are needed.
#[test]
fn participants_that_demoted_each_other_meet() {
    let mut net = Net::new(1);
    net.weather = Weather { delay: millis(1), ..Weather::FAIR };
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, QoS::default()), net.reader(b, TOPIC, QoS::default()));
    let are_on_trial =
        |net: &Net| net.nodes.iter().all(|node| node.participant.peers().any(|peer| !peer.is_proved()));
    net.run_until("both are on trial", secs(1), are_on_trial);
    // What is under way is lost, and both trials end.
    net.nodes.iter_mut().for_each(|node| node.stopped = true);
    net.run_for(secs(5));
    net.nodes.iter_mut().for_each(|node| node.stopped = false);
    assert!(are_on_trial(&net));
    let sent = |net: &Net| net.nodes.iter().map(|node| node.sent).sum::<usize>();
    let before = sent(&net);
    net.run_until("they meet", secs(5), |net| net.is_matched(a, writer) && net.is_matched(b, reader));
    net.run_for(secs(5));
    assert!(sent(&net) - before < 100, "{}", sent(&net) - before);
}
