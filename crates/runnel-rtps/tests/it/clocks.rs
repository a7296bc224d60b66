//! Clocks that pause, leap ahead by minutes, or step back.

use std::time::Duration;

use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use runnel_core::qos::{Liveliness, QoS};
use runnel_rtps::Event;
use runnel_rtps::wire::EntityId;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| is_pair_matched(net, writer, reader));
    net.run_for(secs(10));
    (net, writer, reader)
}

fn is_pair_matched(net: &Net, writer: EntityId, reader: EntityId) -> bool {
    net.is_matched(0, writer) && net.is_matched(1, reader)
}

fn numbers(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

fn count(net: &Net, node: usize, which: impl Fn(&Event) -> bool) -> usize {
    net.nodes[node].events.iter().filter(|event| which(event)).count()
}

/// Checks that later samples arrive once and in order.
fn assert_delivery(net: &mut Net, writer: EntityId, reader: EntityId, first: u32, what: &str) {
    let before = numbers(net, reader).len();
    for number in first..first + 50 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(4));
    }
    net.run_until(what, secs(5), |net| numbers(net, reader).len() >= before + 50);
    assert_eq!(numbers(net, reader)[before..], (first..first + 50).collect::<Vec<_>>(), "{what}");
}

#[test]
fn clock_leap_of_minutes_is_healed_immediately() {
    for jumper in 0..2 {
        let (mut net, writer, reader) = pair(1, QoS::keep_all());
        net.leap(jumper, secs(300));
        net.run_for(millis(10));
        let lost = |event: &Event| matches!(event, Event::ParticipantLost(_));
        assert_eq!((count(&net, jumper, lost), is_pair_matched(&net, writer, reader)), (1, true));
    }
}

#[test]
fn clock_leap_on_bad_network_heals_within_three_seconds() {
    for (seed, jumper) in (0..20).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.conditions = Conditions::bad(10);
        assert_delivery(&mut net, writer, reader, 0, "before the leap");
        net.leap(jumper, secs(300));
        net.run_for(millis(1));
        let again = net.run_until("the endpoints match", secs(5), |net| is_pair_matched(net, writer, reader));
        assert!(again < secs(3), "seed {seed}: {again:?}");
        net.run_for(millis(100));
        assert_delivery(&mut net, writer, reader, 50, &format!("seed {seed}, the clock of {jumper} leaps"));
    }
}

#[test]
fn paused_participant_matches_again_when_it_announces() {
    for (seed, sleeper) in (0..20).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.conditions = Conditions::bad(10);
        assert_delivery(&mut net, writer, reader, 0, "before the pause");
        net.pause_clock(sleeper);
        net.run_for(secs(60));
        let other = if sleeper == 0 { net.is_matched(1, reader) } else { net.is_matched(0, writer) };
        assert!(!other, "its lease is over");
        net.resume_clock(sleeper);
        let again =
            net.run_until("the endpoints match", secs(20), |net| is_pair_matched(net, writer, reader));
        assert!(again < secs(7), "seed {seed}: {again:?}");
        net.conditions = Conditions::bad(30);
        net.run_for(millis(200));
        assert_delivery(
            &mut net,
            writer,
            reader,
            50,
            &format!("seed {seed}, the clock of {sleeper} is paused"),
        );
    }
}

#[test]
fn paused_participant_notices_ended_endpoints() {
    // Before it is lost, and when it is.
    for after in [5, 60] {
        let (mut net, writer, reader) = pair(1, QoS::default());
        net.pause_clock(1);
        net.run_for(secs(after));
        net.remove(0, writer);
        net.run_for(secs(60));
        net.resume_clock(1);
        net.run_until("the end arrives", secs(10), |net| !net.is_matched(1, reader));
        let prefix = net.nodes[0].participant.prefix();
        net.run_until("the endpoints match", secs(10), |net| net.nodes[1].participant.peer(prefix).is_some());
        net.run_for(secs(5));
        assert_eq!(net.nodes[1].participant.peer(prefix).map(|peer| peer.endpoints.len()), Some(0));
    }
}

#[test]
fn clock_leap_causes_one_missed_deadline_and_lease() {
    let qos = QoS::keep_last(10).deadline(millis(100)).liveliness(Liveliness::Automatic, Some(millis(500)));
    for jumper in 0..2 {
        let (mut net, writer, reader) = pair(3, qos);
        let missed = |event: &Event| matches!(event, Event::DeadlineMissed { .. });
        let liveliness_changed = |expected| move |event: &Event| matches!(event, Event::LivelinessChanged { alive, .. } if *alive == expected);
        net.write(0, writer, &sample(1, 20)).unwrap();
        net.run_for(millis(10));
        net.nodes.iter_mut().for_each(|node| node.events.clear());
        let before = net.nodes[0].sent + net.nodes[1].sent;
        // Less than the lease of a participant.
        net.leap(jumper, secs(15));
        net.run_for(millis(50));
        assert_eq!((count(&net, jumper, missed), count(&net, 1 - jumper, missed)), (1, 0));
        assert_eq!(count(&net, 1, liveliness_changed(false)), jumper);
        let sent = net.nodes[0].sent + net.nodes[1].sent - before;
        assert!(sent < 20, "{sent} datagrams");
        net.run_for(millis(500));
        assert_eq!(
            (count(&net, 1, liveliness_changed(true)), is_pair_matched(&net, writer, reader)),
            (jumper, true)
        );
        net.write(0, writer, &sample(2, 20)).unwrap();
        net.run_for(millis(50));
        assert_eq!(numbers(&net, reader), [1, 2]);
    }
}

#[test]
fn wall_clock_step_back_changes_no_lifespan() {
    let qos = QoS::keep_last(100).transient_local().lifespan(millis(500));
    let (mut net, writer, reader) = pair(4, qos);
    for number in 0..10 {
        net.nodes[0].wall -= 3600;
        net.write(0, writer, &sample(number, 20)).unwrap();
        net.run_for(millis(100));
    }
    assert_eq!(numbers(&net, reader), (0..10).collect::<Vec<_>>());
    let late = net.reader(1, TOPIC, qos);
    net.run_for(millis(50));
    assert_eq!(numbers(&net, late), [6, 7, 8, 9]);
}

#[test]
fn expired_samples_are_not_sent_after_clock_leap() {
    let qos = QoS::keep_last(100).transient_local().lifespan(secs(60));
    let (mut net, writer, _) = pair(5, qos);
    net.write(0, writer, &sample(1, 20)).unwrap();
    net.leap(0, secs(61));
    net.write(0, writer, &sample(2, 20)).unwrap();
    let late = net.reader(1, TOPIC, qos);
    net.run_until("the endpoint is matched", secs(5), |net| {
        net.nodes[0].participant.matched(writer).len() == 2
    });
    net.run_for(millis(100));
    assert_eq!(numbers(&net, late), [2]);
}

#[test]
fn participants_rematch_soon_after_any_clock_fault() {
    for seed in 0..40 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.conditions = Conditions::bad(20);
        for _ in 0..10 {
            let node = net.random(2) as usize;
            match net.random(4) {
                0 => net.pause_clock(node),
                1 => net.resume_clock(node),
                2 => {
                    let by = secs(net.random(300).into());
                    net.leap(node, by);
                }
                _ => net.nodes[node].wall -= 1000,
            }
            // A keep-all writer may be full, and an unmatched reader receives nothing.
            let _ = net.write(0, writer, &sample(1000, 100));
            let time = millis(net.random(5000).into());
            net.run_for(time);
        }
        (0..2).for_each(|node| net.resume_clock(node));
        net.run_until("the endpoints match", secs(20), |net| is_pair_matched(net, writer, reader));
        net.run_for(secs(5));
        assert!(is_pair_matched(&net, writer, reader), "seed {seed}");
        assert_delivery(&mut net, writer, reader, 0, &format!("seed {seed}"));
    }
}

#[test]
fn zero_lease_and_deadline_cost_little() {
    for short in [Duration::from_micros(1), Duration::from_nanos(2), Duration::from_nanos(1)] {
        let qos = QoS::default().liveliness(Liveliness::Automatic, Some(short)).deadline(short);
        let (mut net, writer, _) = pair(1, qos);
        net.write(0, writer, &sample(1, 20)).unwrap();
        let missed = |net: &Net| count(net, 0, |event| matches!(event, Event::DeadlineMissed { .. }));
        let (sent, before_count) = (net.nodes[0].sent, missed(&net));
        net.run_for(millis(100));
        // An assertion each millisecond, and requests.
        assert!((90..300).contains(&(net.nodes[0].sent - sent)), "{} datagrams", net.nodes[0].sent - sent);
        assert!(missed(&net) - before_count <= 1000);
    }
}
