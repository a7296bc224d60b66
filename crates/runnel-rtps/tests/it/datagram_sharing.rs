//! Datagrams that serve several readers of one or several participants.

use crate::net::{Conditions, Net, millis, sample, secs};
use crate::pairs::{TOPIC, pair};
use runnel_core::qos::QoS;
use runnel_rtps::{Config, Event};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

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
