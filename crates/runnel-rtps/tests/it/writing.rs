//! What a writer owes each of its readers: several of one process, on several hosts, slow ones and late ones.

use crate::net::{Bytes, Net, Weather, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Config, Event, Rate};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("they meet", secs(2), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(millis(20));
    (net, writer, reader)
}

#[test]
fn a_second_reader_of_a_process_does_not_make_the_first_give_up_what_it_misses() {
    let (mut net, writer, reader) = pair(1, QoS::default());
    for number in 0..3 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    net.blackout = true;
    net.write(0, writer, &sample(3, 100)).unwrap();
    net.run_for(Duration::from_micros(100));
    net.blackout = false;
    net.reader(1, TOPIC, QoS::default());
    net.run_for(secs(3));
    assert_eq!(net.texts(1, reader).len(), 4);
}

#[test]
fn readers_that_join_one_after_another_in_foul_weather_make_the_first_lose_nothing() {
    for seed in 0..20 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        for number in 0..100 {
            net.weather = Weather::foul(30);
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(4));
            if number % 10 == 5 {
                net.weather = Weather::FAIR;
                net.reader(1, TOPIC, QoS::keep_all());
                net.run_for(millis(1));
            }
        }
        net.weather = Weather::FAIR;
        net.run_for(secs(20));
        let lost = |event: &Event| matches!(event, Event::SampleLost { reader: of, .. } if *of == reader);
        assert!(!net.nodes[1].events.iter().any(lost), "seed {seed}");
        assert_eq!(net.texts(1, reader).len(), 100, "seed {seed}");
    }
}

#[test]
fn readers_of_a_process_that_joined_at_different_times_share_datagrams() {
    let (mut net, writer, first) = pair(1, QoS::default());
    for number in 0..10 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(5));
    }
    let second = net.reader(1, TOPIC, QoS::default());
    net.run_for(millis(100));
    let before = net.nodes[0].sent;
    for number in 10..110 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    let sent = net.nodes[0].sent - before;
    assert_eq!((net.texts(1, first).len(), net.texts(1, second).len()), (110, 100));
    assert!(sent < 150, "{sent} datagrams for 100 samples");
}

/// The same, with 10 MB/s from the writer: 840 kB take 84 ms.
fn slow_pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let slow = |config: &mut Config| config.other_host.rate = Rate::steady(10_000_000);
    let (a, b) = (net.add_with(slow), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("they meet", secs(2), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    net.run_for(millis(20));
    (net, writer, reader)
}

const LONG: usize = 840_000;

#[test]
fn long_samples_of_depth_one_arrive_though_each_takes_longer_than_the_period() {
    let fair = [QoS::keep_last(1), QoS::keep_last(1).best_effort(), QoS::latched()].map(|qos| (qos, 0));
    for (qos, loss) in fair.into_iter().chain([(QoS::keep_last(1), 2)]) {
        let (mut net, writer, reader) = slow_pair(1, qos);
        for number in 0..30 {
            net.weather.loss = loss;
            net.write(0, writer, &sample(number, LONG)).unwrap();
            net.run_for(millis(33));
        }
        let heard = net.texts(1, reader).len();
        assert!(heard > 8, "{heard} of 30 with {loss} % loss and {qos:?}");
        net.weather.loss = 0;
        net.run_for(secs(1));
        let last = net.texts(1, reader).pop().unwrap();
        assert!(last == sample(29, LONG), "the last one arrives");
    }
}

/// Each of its datagrams says that the writer has sent what is before it, for longer than datagrams overtake each other.
#[test]
fn sample_under_way_for_long_contradicts_no_position() {
    for (loss, seed) in [0, 2, 20].into_iter().flat_map(|loss| (1..6).map(move |seed| (loss, seed))) {
        let (mut net, writer, reader) = slow_pair(seed, QoS::default());
        net.weather.loss = loss;
        net.write(0, writer, &sample(0, 5 * LONG)).unwrap();
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_until("both arrive", secs(10), |net| net.texts(1, reader).len() == 2);
        let is_correction = |event: &&Event| matches!(event, Event::Corrected { .. });
        let corrections = net.nodes[1].events.iter().filter(is_correction).count();
        assert_eq!(corrections, 0, "seed {seed} with {loss} % loss");
    }
}

#[test]
fn who_comes_late_is_sent_no_more_than_the_depth_though_a_long_sample_is_under_way() {
    let (mut net, writer, _) = slow_pair(1, QoS::latched());
    for number in 0..3 {
        net.write(0, writer, &sample(number, LONG)).unwrap();
    }
    let late = net.reader(1, TOPIC, QoS::latched());
    net.run_for(secs(2));
    assert!(net.texts(1, late) == [sample(2, LONG)]);
}

#[test]
fn what_was_held_for_a_reader_that_fell_silent_in_the_midst_of_it_is_let_go() {
    let (mut net, writer, reader) = slow_pair(1, QoS::keep_last(1));
    net.write(0, writer, &sample(0, LONG)).unwrap();
    net.nodes[1].stopped = true;
    for number in 1..10 {
        net.write(0, writer, &sample(number, 100_000)).unwrap();
        net.run_for(millis(200));
    }
    net.nodes[1].stopped = false;
    net.run_for(secs(3));
    assert!(net.texts(1, reader) == [sample(9, 100_000)]);
}

#[test]
fn a_latched_writer_that_keeps_all_waits_for_its_readers_and_loses_nothing() {
    let (mut net, writer, reader) = pair(1, QoS::keep_all().transient_local());
    let (mut full, mut number) = (0, 0);
    while number < 3000 {
        match net.write(0, writer, &sample(number, 1000)) {
            Ok(_) => number += 1,
            Err(_) => {
                full += 1;
                net.run_for(millis(1));
            }
        }
    }
    net.run_for(secs(10));
    let heard = net.texts(1, reader).len();
    assert_eq!((heard, net.nodes[0].participant.overwritten(writer)), (3000, 0));
    assert!(full > 0);
}

#[test]
fn a_latched_writer_that_keeps_all_displaces_what_everybody_has() {
    let mut net = Net::new(1);
    let (a, b) = (net.add_with(|config| config.limits.kept = 20), net.add());
    let qos = QoS::keep_all().transient_local();
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("they meet", secs(2), |net| net.is_matched(a, writer) && net.is_matched(b, reader));
    for number in 0..50 {
        net.write(a, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(50));
    }
    net.nodes[b].stopped = true;
    for number in 50..70 {
        net.write(a, writer, &sample(number, 100)).unwrap();
    }
    assert_eq!(net.write(a, writer, &sample(70, 100)).unwrap_err().reader.entity, reader);
    let late = net.add();
    let late_reader = net.reader(late, TOPIC, qos);
    net.run_for(secs(1));
    assert_eq!(net.texts(late, late_reader).len(), 20);
}

/// Another participant on the host of the first.
fn neighbour(config: &mut Config) {
    let host: IpAddr = "10.0.0.1".parse().unwrap();
    (config.unicast, config.own_addresses) = (vec![SocketAddr::new(host, 7412)], vec![host]);
}

#[test]
fn each_reader_is_sent_datagrams_of_the_length_that_suits_its_host_whoever_came_first() {
    let latched = QoS::latched();
    for far_first in [true, false] {
        let mut net = Net::new(1);
        let writer_node = net.add();
        let writer = net.writer(writer_node, TOPIC, latched);
        let (near, far) = match far_first {
            true => {
                let far = net.add();
                (net.add_with(neighbour), far)
            }
            false => (net.add_with(neighbour), net.add()),
        };
        let (first, second) = if far_first { (far, near) } else { (near, far) };
        let early = net.reader(first, TOPIC, latched);
        net.run_until("they meet", secs(2), |net| net.is_matched(0, writer) && net.is_matched(first, early));
        net.run_for(millis(20));
        // One is sent before the second reader comes, and another when both are there.
        net.longest.clear();
        net.write(writer_node, writer, &sample(1, 200_000)).unwrap();
        net.run_for(secs(1));
        let late = net.reader(second, TOPIC, latched);
        net.run_for(secs(1));
        net.write(writer_node, writer, &sample(2, 200_000)).unwrap();
        net.run_for(secs(1));
        for (node, reader) in [(first, early), (second, late)] {
            assert!(net.texts(node, reader) == [sample(1, 200_000), sample(2, 200_000)]);
        }
        let longest = |node: usize| net.longest[&net.nodes[node].address];
        assert!(longest(far) <= 1_444, "{} bytes, far first: {far_first}", longest(far));
        assert!(longest(near) > 60_000, "{} bytes, far first: {far_first}", longest(near));
    }
}

#[test]
fn who_comes_late_is_told_little_of_endpoints_that_are_gone() {
    let (mut net, _, _) = pair(1, QoS::default());
    for _ in 0..1000 {
        let gone = net.writer(0, "rt/passing", QoS::default());
        net.run_for(millis(1));
        net.remove(0, gone);
        net.run_for(millis(1));
    }
    net.run_for(secs(5));
    let before = net.nodes[0].sent_bytes;
    let late = net.add();
    let reader = net.reader(late, TOPIC, QoS::default());
    net.run_until("they meet", secs(1), |net| net.is_matched(late, reader));
    net.run_for(secs(1));
    let sent = net.nodes[0].sent_bytes - before;
    assert!(sent < 20_000, "{sent} bytes");
    assert_eq!(net.nodes[1].participant.peers().next().map(|peer| peer.endpoints.len()), Some(1));
}

#[test]
fn that_an_endpoint_is_gone_is_told_to_who_did_not_hear_it_at_first() {
    let (mut net, writer, reader) = pair(1, QoS::default());
    net.blackout = true;
    net.remove(0, writer);
    net.run_for(millis(200));
    net.blackout = false;
    net.run_until("it hears", secs(3), |net| !net.is_matched(1, reader));
}

#[test]
fn who_falls_silent_amid_discovery_is_sent_no_empty_datagrams() {
    let mut net = Net::new(1);
    net.add();
    for topic in 0..900 {
        net.writer(0, &format!("rt/topic_{topic}"), QoS::default());
    }
    net.run_for(secs(1));
    let (prefix, peer) = (net.config().prefix, net.add());
    net.run_until("it is proved", secs(3), |net| net.nodes[0].participant.peer(prefix).is_some());
    net.nodes[peer].stopped = true;
    net.run_for(millis(5));
    let sent = net.nodes[0].sent;
    net.run_for(secs(15));
    let sent = net.nodes[0].sent - sent;
    assert!(sent < 15 * 8, "{sent} datagrams in 15 s");
    net.nodes[peer].stopped = false;
    let known =
        |net: &Net| net.nodes[peer].participant.peers().map(|other| other.endpoints.len()).sum::<usize>();
    net.run_until("it knows all", secs(5), |net| known(net) == 900);
}

/// The writer publishes nothing more: nothing but time tells that nobody comes back.
#[test]
fn what_was_held_for_a_reader_that_has_left_is_let_go() {
    let (mut net, writer, reader) = pair(1, QoS::keep_last(10));
    let bytes: Bytes = sample(1, 1000).into();
    net.blackout = true;
    let (now, stamp) = (net.now, net.stamp());
    net.nodes[0].participant.write(now, stamp, writer, bytes.clone()).unwrap();
    net.touch(0);
    net.remove(1, reader);
    net.blackout = false;
    net.run_until("its end is told", secs(3), |net| !net.is_matched(0, writer));
    assert!(Arc::strong_count(&bytes) > 1, "it may come back");
    net.run_for(secs(10));
    // What was sent last lies in the datagram that is made anew with the next.
    net.write(0, writer, &sample(2, 8)).unwrap();
    assert_eq!(Arc::strong_count(&bytes), 1);
}
