//! Runnel on one host and an original of ROS 2 or other DDS on another, connected by a cable.

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, check_all_received};
use runnel_testkit::hosts::Host;
use runnel_testkit::process::{Peer, deadline_in};

const WORDS: &[&str] = &["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray"];

/// Cyclone DDS on the cable, with only IPv6.
const CYCLONE: &str = "<CycloneDDS><Domain><General><Transport>udp6</Transport><Interfaces>\
                       <NetworkInterface name=\"cable\"/></Interfaces></General></Domain></CycloneDDS>";

/// A graph on two hosts, each with an address of the network.
fn cabled(addresses: [&str; 2]) -> (Ros2Graph, [Host; 2]) {
    let graph = Ros2Graph::new().with("CYCLONEDDS_URI", CYCLONE).with("FASTDDS_BUILTIN_TRANSPORTS", "UDPv6");
    let hosts = [Host::new(), Host::new()];
    hosts[0].join(&hosts[1], "cable");
    hosts.iter().zip(addresses).for_each(|(host, address)| host.address("cable", address));
    (graph, hosts)
}

/// Sends 100 kB from Runnel to the other host and back.
fn check_exchange(other: Origin, addresses: [&str; 2]) {
    for (talker, listener) in [(Origin::Runnel, other), (other, Origin::Runnel)] {
        let (graph, [near, far]) = cabled(addresses);
        let mut listener = far.run(|| graph.listener(listener, WORDS));
        let gate = graph.gate();
        let words = [WORDS, &["--size", "100000", "--after", &gate]].concat();
        let mut talker = near.run(|| graph.talker(talker, &words));
        expect_line(&mut talker, "matched 1");
        expect_line(&mut listener, "matched 1");
        graph.open_gate();
        check_all_received(&mut talker, &mut [listener], 5);
    }
}

fn expect_line(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|printed| printed == line, deadline_in(TIMEOUT)).unwrap();
}

const IPV6: [&str; 2] = ["fd00::1/64", "fd00::2/64"];
const LINK_LOCAL: [&str; 2] = ["fe80::1/64", "fe80::2/64"];

#[test]
fn runnel_and_cyclone_exchange_by_ipv6() {
    check_exchange(Origin::Cyclone, IPV6);
}

#[test]
fn runnel_and_cyclone_11_exchange_by_ipv6() {
    check_exchange(Origin::Cyclone11, IPV6);
}

#[test]
fn runnel_and_cyclone_exchange_by_link_local_ipv6() {
    check_exchange(Origin::Cyclone, LINK_LOCAL);
}

#[test]
fn runnel_and_kilted_exchange_by_ipv6() {
    check_exchange(Origin::Ros2(Distro::Kilted), IPV6);
}

#[test]
fn runnel_and_jazzy_exchange_by_ipv6() {
    check_exchange(Origin::Ros2(Distro::Jazzy), IPV6);
}

#[test]
fn runnel_nodes_exchange_by_link_local_ipv6() {
    check_exchange(Origin::Runnel, LINK_LOCAL);
}
