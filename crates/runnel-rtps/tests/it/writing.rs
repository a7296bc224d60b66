//! Service of each reader by a writer: several readers in one process, on several hosts, slow ones and late ones.

use crate::net::{Bytes, Conditions, Net, millis, sample, secs};
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
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}

#[test]
fn second_reader_of_process_costs_first_no_sample() {
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
fn joining_readers_on_bad_network_cost_first_no_sample() {
    for seed in 0..20 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_all());
        for number in 0..100 {
            net.conditions = Conditions::bad(30);
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(4));
            if number % 10 == 5 {
                net.conditions = Conditions::GOOD;
                net.reader(1, TOPIC, QoS::keep_all());
                net.run_for(millis(1));
            }
        }
        net.conditions = Conditions::GOOD;
        net.run_for(secs(20));
        let lost = |event: &Event| matches!(event, Event::SampleLost { reader: of, .. } if *of == reader);
        assert!(!net.nodes[1].events.iter().any(lost), "seed {seed}");
        assert_eq!(net.texts(1, reader).len(), 100, "seed {seed}");
    }
}

#[test]
fn readers_matched_at_different_times_share_datagrams() {
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

/// As [`pair`], with 10 MB/s from the writer: 840 kB take 84 ms.
fn slow_pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let slow = |config: &mut Config| config.other_host.rate = Rate::steady(10_000_000);
    let (a, b) = (net.add_with(slow), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}

/// Bytes of a sample that needs many datagrams.
const LONG_SAMPLE: usize = 840_000;

#[test]
fn depth_one_long_samples_arrive_despite_short_period() {
    let without_loss =
        [QoS::keep_last(1), QoS::keep_last(1).best_effort(), QoS::latched()].map(|qos| (qos, 0));
    for (qos, loss) in without_loss.into_iter().chain([(QoS::keep_last(1), 2)]) {
        let (mut net, writer, reader) = slow_pair(1, qos);
        for number in 0..30 {
            net.conditions.loss = loss;
            net.write(0, writer, &sample(number, LONG_SAMPLE)).unwrap();
            net.run_for(millis(33));
        }
        let received = net.texts(1, reader).len();
        assert!(received > 8, "{received} of 30 with {loss} % loss and {qos:?}");
        net.conditions.loss = 0;
        net.run_for(secs(1));
        let last = net.texts(1, reader).pop().unwrap();
        assert!(last == sample(29, LONG_SAMPLE), "the last one arrives");
    }
}

/// Each of its datagrams announces the previous sample as the last, for longer than datagrams overtake each other.
#[test]
fn sample_in_flight_for_long_contradicts_no_position() {
    for (loss, seed) in [0, 2, 20].into_iter().flat_map(|loss| (1..6).map(move |seed| (loss, seed))) {
        let (mut net, writer, reader) = slow_pair(seed, QoS::default());
        net.conditions.loss = loss;
        net.write(0, writer, &sample(0, 5 * LONG_SAMPLE)).unwrap();
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_until("both arrive", secs(10), |net| net.texts(1, reader).len() == 2);
        let is_correction = |event: &&Event| matches!(event, Event::Corrected { .. });
        let corrections = net.nodes[1].events.iter().filter(is_correction).count();
        assert_eq!(corrections, 0, "seed {seed} with {loss} % loss");
    }
}

#[test]
fn late_joiner_gets_depth_despite_long_sample_in_flight() {
    let (mut net, writer, _) = slow_pair(1, QoS::latched());
    for number in 0..3 {
        net.write(0, writer, &sample(number, LONG_SAMPLE)).unwrap();
    }
    let late = net.reader(1, TOPIC, QoS::latched());
    net.run_for(secs(2));
    assert!(net.texts(1, late) == [sample(2, LONG_SAMPLE)]);
}

#[test]
fn samples_of_silent_reader_are_released() {
    let (mut net, writer, reader) = slow_pair(1, QoS::keep_last(1));
    net.write(0, writer, &sample(0, LONG_SAMPLE)).unwrap();
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
fn transient_keep_all_writer_waits_and_loses_nothing() {
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
    let received = net.texts(1, reader).len();
    assert_eq!((received, net.nodes[0].participant.overwritten(writer)), (3000, 0));
    assert!(full > 0);
}

#[test]
fn transient_keep_all_writer_displaces_acknowledged_samples() {
    let mut net = Net::new(1);
    let (a, b) = (net.add_with(|config| config.limits.kept = 20), net.add());
    let qos = QoS::keep_all().transient_local();
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
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

/// Configures another participant on the host of the first.
fn same_host_node(config: &mut Config) {
    let host: IpAddr = "10.0.0.1".parse().unwrap();
    (config.unicast, config.own_addresses) = (vec![SocketAddr::new(host, 7412)], vec![host]);
}

#[test]
fn datagram_size_suits_host_of_each_reader() {
    let latched = QoS::latched();
    for far_first in [true, false] {
        let mut net = Net::new(1);
        let writer_node = net.add();
        let writer = net.writer(writer_node, TOPIC, latched);
        let (near, far) = match far_first {
            true => {
                let far = net.add();
                (net.add_with(same_host_node), far)
            }
            false => (net.add_with(same_host_node), net.add()),
        };
        let (first, second) = if far_first { (far, near) } else { (near, far) };
        let early = net.reader(first, TOPIC, latched);
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(0, writer) && net.is_matched(first, early)
        });
        net.run_for(millis(20));
        // One is sent before the second reader is matched, and another when both are matched.
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
fn late_joiner_gets_few_disposals() {
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
    net.run_until("the endpoints match", secs(1), |net| net.is_matched(late, reader));
    net.run_for(secs(1));
    let sent = net.nodes[0].sent_bytes - before;
    assert!(sent < 20_000, "{sent} bytes");
    assert_eq!(net.nodes[1].participant.peers().next().map(|peer| peer.endpoints.len()), Some(1));
}

#[test]
fn lost_endpoint_disposal_is_repeated() {
    let (mut net, writer, reader) = pair(1, QoS::default());
    net.blackout = true;
    net.remove(0, writer);
    net.run_for(millis(200));
    net.blackout = false;
    net.run_until("the disposal arrives", secs(3), |net| !net.is_matched(1, reader));
}

#[test]
fn silent_peer_in_discovery_gets_no_empty_datagrams() {
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
    net.run_until("it has discovered all", secs(5), |net| known(net) == 900);
}

/// The writer publishes nothing more: only the time shows that the reader does not return.
#[test]
fn samples_of_unmatched_reader_are_released() {
    let (mut net, writer, reader) = pair(1, QoS::keep_last(10));
    let bytes: Bytes = sample(1, 1000).into();
    net.blackout = true;
    let (now, stamp) = (net.now, net.stamp());
    net.nodes[0].participant.write(now, stamp, writer, bytes.clone()).unwrap();
    net.touch(0);
    net.remove(1, reader);
    net.blackout = false;
    net.run_until("the disposal arrives", secs(3), |net| !net.is_matched(0, writer));
    assert!(Arc::strong_count(&bytes) > 1, "it may come back");
    net.run_for(secs(10));
    // The last sample is in the datagram memory, which the next one replaces.
    net.write(0, writer, &sample(2, 8)).unwrap();
    assert_eq!(Arc::strong_count(&bytes), 1);
}
