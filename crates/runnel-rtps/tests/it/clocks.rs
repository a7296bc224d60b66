//! Clocks that stand still, leap ahead by minutes, or go back.

use std::time::Duration;

use crate::net::{Net, Weather, millis, number_of, sample, secs};
use runnel_core::qos::{Liveliness, QoS};
use runnel_rtps::Event;
use runnel_rtps::wire::EntityId;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("they meet", secs(2), |net| met(net, writer, reader));
    net.run_for(secs(10));
    (net, writer, reader)
}

fn met(net: &Net, writer: EntityId, reader: EntityId) -> bool {
    net.is_matched(0, writer) && net.is_matched(1, reader)
}

fn numbers(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

fn count(net: &Net, node: usize, which: impl Fn(&Event) -> bool) -> usize {
    net.nodes[node].events.iter().filter(|event| which(event)).count()
}

/// Tries that what is written from now on is heard once and in order.
fn talk(net: &mut Net, writer: EntityId, reader: EntityId, first: u32, what: &str) {
    let before = numbers(net, reader).len();
    for number in first..first + 50 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(4));
    }
    net.run_until(what, secs(5), |net| numbers(net, reader).len() >= before + 50);
    assert_eq!(numbers(net, reader)[before..], (first..first + 50).collect::<Vec<_>>(), "{what}");
}

#[test]
fn who_finds_that_minutes_have_passed_asks_at_once_and_meets_again() {
    for jumper in 0..2 {
        let (mut net, writer, reader) = pair(1, QoS::keep_all());
        net.leap(jumper, secs(300));
        net.run_for(millis(10));
        let lost = |event: &Event| matches!(event, Event::ParticipantLost(_));
        assert_eq!((count(&net, jumper, lost), met(&net, writer, reader)), (1, true));
    }
}

#[test]
fn who_finds_that_minutes_have_passed_meets_again_within_three_seconds_in_foul_weather() {
    for (seed, jumper) in (0..20).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.weather = Weather::foul(10);
        talk(&mut net, writer, reader, 0, "before the leap");
        net.leap(jumper, secs(300));
        net.run_for(millis(1));
        let again = net.run_until("they meet", secs(5), |net| met(net, writer, reader));
        assert!(again < secs(3), "seed {seed}: {again:?}");
        net.run_for(millis(100));
        talk(&mut net, writer, reader, 50, &format!("seed {seed}, the clock of {jumper} leaps"));
    }
}

#[test]
fn whose_clock_stood_still_for_a_minute_is_met_again_when_it_announces_itself() {
    for (seed, sleeper) in (0..20).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.weather = Weather::foul(10);
        talk(&mut net, writer, reader, 0, "before it stands still");
        net.stand_still(sleeper);
        net.run_for(secs(60));
        let other = if sleeper == 0 { net.is_matched(1, reader) } else { net.is_matched(0, writer) };
        assert!(!other, "its lease is over");
        net.go_on(sleeper);
        let again = net.run_until("they meet", secs(20), |net| met(net, writer, reader));
        assert!(again < secs(7), "seed {seed}: {again:?}");
        net.weather = Weather::foul(30);
        net.run_for(millis(200));
        talk(&mut net, writer, reader, 50, &format!("seed {seed}, the clock of {sleeper} stands still"));
    }
}

#[test]
fn what_ended_while_a_clock_stood_still_has_ended_for_who_comes_back() {
    // Before it is lost, and when it is.
    for after in [5, 60] {
        let (mut net, writer, reader) = pair(1, QoS::default());
        net.stand_still(1);
        net.run_for(secs(after));
        net.remove(0, writer);
        net.run_for(secs(60));
        net.go_on(1);
        net.run_until("it hears of the end", secs(10), |net| !net.is_matched(1, reader));
        let prefix = net.nodes[0].participant.prefix();
        net.run_until("they meet", secs(10), |net| net.nodes[1].participant.peer(prefix).is_some());
        net.run_for(secs(5));
        assert_eq!(net.nodes[1].participant.peer(prefix).map(|peer| peer.endpoints.len()), Some(0));
    }
}

#[test]
fn a_leap_is_one_missed_deadline_and_one_lapse_of_life_and_no_storm() {
    let qos = QoS::keep_last(10).deadline(millis(100)).liveliness(Liveliness::Automatic, Some(millis(500)));
    for jumper in 0..2 {
        let (mut net, writer, reader) = pair(3, qos);
        let missed = |event: &Event| matches!(event, Event::DeadlineMissed { .. });
        let life = |expected| move |event: &Event| matches!(event, Event::LivelinessChanged { alive, .. } if *alive == expected);
        net.write(0, writer, &sample(1, 20)).unwrap();
        net.run_for(millis(10));
        net.nodes.iter_mut().for_each(|node| node.events.clear());
        let before = net.nodes[0].sent + net.nodes[1].sent;
        // Less than the lease of a participant.
        net.leap(jumper, secs(15));
        net.run_for(millis(50));
        assert_eq!((count(&net, jumper, missed), count(&net, 1 - jumper, missed)), (1, 0));
        assert_eq!(count(&net, 1, life(false)), jumper);
        let sent = net.nodes[0].sent + net.nodes[1].sent - before;
        assert!(sent < 20, "{sent} datagrams");
        net.run_for(millis(500));
        assert_eq!((count(&net, 1, life(true)), met(&net, writer, reader)), (jumper, true));
        net.write(0, writer, &sample(2, 20)).unwrap();
        net.run_for(millis(50));
        assert_eq!(numbers(&net, reader), [1, 2]);
    }
}

#[test]
fn a_wall_clock_that_goes_back_takes_nothing_away_and_makes_nothing_live_longer() {
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
fn what_has_outlived_its_lifespan_when_the_clock_leaps_is_not_sent_any_more() {
    let qos = QoS::keep_last(100).transient_local().lifespan(secs(60));
    let (mut net, writer, _) = pair(5, qos);
    net.write(0, writer, &sample(1, 20)).unwrap();
    net.leap(0, secs(61));
    net.write(0, writer, &sample(2, 20)).unwrap();
    let late = net.reader(1, TOPIC, qos);
    net.run_until("it is met", secs(5), |net| net.nodes[0].participant.matched(writer).len() == 2);
    net.run_for(millis(100));
    assert_eq!(numbers(&net, late), [2]);
}

#[test]
fn whatever_the_clocks_do_two_participants_are_together_again_soon() {
    for seed in 0..40 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        net.weather = Weather::foul(20);
        for _ in 0..10 {
            let node = net.random(2) as usize;
            match net.random(4) {
                0 => net.stand_still(node),
                1 => net.go_on(node),
                2 => {
                    let by = secs(net.random(300).into());
                    net.leap(node, by);
                }
                _ => net.nodes[node].wall -= 1000,
            }
            // Who keeps all may be full, and who is not met hears nothing.
            let _ = net.write(0, writer, &sample(1000, 100));
            let time = millis(net.random(5000).into());
            net.run_for(time);
        }
        (0..2).for_each(|node| net.go_on(node));
        net.run_until("they meet", secs(20), |net| met(net, writer, reader));
        net.run_for(secs(5));
        assert!(met(&net, writer, reader), "seed {seed}");
        talk(&mut net, writer, reader, 0, &format!("seed {seed}"));
    }
}

#[test]
fn a_lease_and_a_deadline_of_no_time_take_no_more_than_their_share() {
    for short in [Duration::from_micros(1), Duration::from_nanos(2), Duration::from_nanos(1)] {
        let qos = QoS::default().liveliness(Liveliness::Automatic, Some(short)).deadline(short);
        let (mut net, writer, _) = pair(1, qos);
        net.write(0, writer, &sample(1, 20)).unwrap();
        let missed = |net: &Net| count(net, 0, |event| matches!(event, Event::DeadlineMissed { .. }));
        let (sent, told) = (net.nodes[0].sent, missed(&net));
        net.run_for(millis(100));
        // A sign each millisecond, with what asks for an answer.
        assert!((90..300).contains(&(net.nodes[0].sent - sent)), "{} datagrams", net.nodes[0].sent - sent);
        assert!(missed(&net) - told <= 1000);
    }
}
