//! Participants that are reached by IPv6, with or without IPv4.

use crate::net::{GROUP, Net, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Config;
use std::net::{IpAddr, SocketAddr};

/// Multicast group of Cyclone DDS for IPv6.
const GROUP_V6: &str = "[ff02::ffff:239.255.0.1]:7400";

fn v4(host: u8) -> SocketAddr {
    format!("10.0.0.{host}:7410").parse().unwrap()
}

fn v6(host: u8) -> SocketAddr {
    format!("[fd00::{host}]:7410").parse().unwrap()
}

fn link_local(host: u8, link: u32) -> SocketAddr {
    format!("[fe80::{host}%{link}]:7410").parse().unwrap()
}

/// Creates a node with these addresses.
fn at(net: &mut Net, addresses: &[SocketAddr], change: impl FnOnce(&mut Config)) -> usize {
    let has = |ipv4: bool| addresses.iter().any(|address| address.is_ipv4() == ipv4);
    net.add_with(|config| {
        config.unicast = addresses.to_vec();
        config.own_addresses = addresses.iter().map(SocketAddr::ip).collect::<Vec<IpAddr>>();
        let groups = [(GROUP, true), (GROUP_V6, false)].into_iter().filter(|(_, ipv4)| has(*ipv4));
        config.multicast = groups.map(|(group, _)| group.parse().unwrap()).collect();
        change(config);
    })
}

/// Checks that a sample of one node reaches the other.
#[track_caller]
fn assert_delivery(net: &mut Net, from: usize, to: usize) {
    let qos = QoS { reliability: runnel_core::qos::Reliability::Reliable, ..QoS::keep_last(10) };
    let topic = format!("rt/{from}_{to}");
    let (writer, reader) = (net.writer(from, &topic, qos), net.reader(to, &topic, qos));
    net.run_until("the endpoints match", secs(5), |net| {
        net.is_matched(from, writer) && net.is_matched(to, reader)
    });
    net.write(from, writer, &sample(1, 100)).unwrap();
    net.run_until("the sample arrives", secs(5), |net| net.texts(to, reader).len() == 1);
}

#[test]
fn ipv6_only_participants_match() {
    let mut net = Net::new(1);
    let (a, b) = (at(&mut net, &[v6(1)], |_| {}), at(&mut net, &[v6(2)], |_| {}));
    assert_delivery(&mut net, a, b);
    assert_delivery(&mut net, b, a);
}

#[test]
fn dual_stack_matches_single_stack() {
    let mut net = Net::new(2);
    let both = at(&mut net, &[v4(1), v6(1)], |_| {});
    let (old, new) = (at(&mut net, &[v4(2)], |_| {}), at(&mut net, &[v6(3)], |_| {}));
    for other in [old, new] {
        assert_delivery(&mut net, both, other);
        assert_delivery(&mut net, other, both);
    }
    // The two without a common family never match.
    assert_eq!(net.nodes[old].participant.peers().count(), 1);
    assert!(net.undeliverable.is_empty(), "{:?}", net.undeliverable);
}

#[test]
fn dual_stack_uses_ipv4_unless_ipv6_is_preferred() {
    for (prefers_ipv6, used, unused) in [(false, v4(2), v6(2)), (true, v6(2), v4(2))] {
        let mut net = Net::new(3);
        let a = at(&mut net, &[v4(1), v6(1)], |config| config.prefers_ipv6 = prefers_ipv6);
        let b = at(&mut net, &[v4(2), v6(2)], |_| {});
        net.run_until("the endpoints match", secs(1), |net| net.nodes[a].participant.peers().count() == 1);
        net.run_for(secs(4));
        net.sent_to.clear();
        assert_delivery(&mut net, a, b);
        assert!(net.sent_to.contains_key(&used) && !net.sent_to.contains_key(&unused), "{:?}", net.sent_to);
    }
}

#[test]
fn peer_discovered_by_ipv6_moves_to_ipv4_once() {
    let mut net = Net::new(4);
    let a = at(&mut net, &[v4(1), v6(1)], |_| {});
    let b = at(&mut net, &[v4(2), v6(2)], |config| config.multicast.reverse());
    assert_delivery(&mut net, a, b);
    net.run_for(secs(4));
    net.sent_to.clear();
    assert_delivery(&mut net, b, a);
    net.run_for(secs(20));
    assert!(!net.sent_to.contains_key(&v6(1)) && !net.sent_to.contains_key(&v6(2)), "{:?}", net.sent_to);
}

#[test]
fn link_local_peer_is_reached_on_its_link() {
    let mut net = Net::new(5);
    let (a, b) = (at(&mut net, &[link_local(1, 7)], |_| {}), at(&mut net, &[link_local(2, 7)], |_| {}));
    assert_delivery(&mut net, a, b);
    assert!(net.undeliverable.is_empty(), "{:?}", net.undeliverable);
}

#[test]
fn peer_without_ipv4_continues_by_ipv6() {
    let mut net = Net::new(6);
    let qos = QoS { reliability: runnel_core::qos::Reliability::Reliable, ..QoS::keep_last(10) };
    let (a, b) = (at(&mut net, &[v4(1), v6(1)], |_| {}), at(&mut net, &[v4(2), v6(2)], |_| {}));
    let (writer, reader) = (net.writer(a, "rt/chatter", qos), net.reader(b, "rt/chatter", qos));
    net.run_until("the endpoints match", secs(5), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.move_to(b, vec![v6(2)]);
    net.run_for(millis(500));
    net.write(a, writer, &sample(1, 100)).unwrap();
    net.run_until("the sample arrives", secs(2), |net| net.texts(b, reader).len() == 1);
}

#[test]
fn configured_ipv6_peers_are_called() {
    let mut net = Net::new(7);
    let a = at(&mut net, &[v6(1)], |config| config.multicast.clear());
    let b = at(&mut net, &[v6(2)], |config| {
        config.multicast.clear();
        config.peers = vec![v6(1)];
    });
    assert_delivery(&mut net, a, b);
}
