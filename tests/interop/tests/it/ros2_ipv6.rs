//! Runnel on one host and an original of ROS 2 or other DDS on another, with a cable between them.

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{PATIENCE, hear_out};
use runnel_testkit::hosts::Host;
use runnel_testkit::process::{Peer, deadline_in};

const WORDS: &[&str] = &["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray"];

/// Cyclone DDS on the cable, by IPv6 and by nothing else.
const CYCLONE: &str = "<CycloneDDS><Domain><General><Transport>udp6</Transport><Interfaces>\
                       <NetworkInterface name=\"cable\"/></Interfaces></General></Domain></CycloneDDS>";

/// A graph on two hosts, each of which has an address of the network.
fn cabled(addresses: [&str; 2]) -> (Ros2Graph, [Host; 2]) {
    let graph = Ros2Graph::new().with("CYCLONEDDS_URI", CYCLONE).with("FASTDDS_BUILTIN_TRANSPORTS", "UDPv6");
    let hosts = [Host::new(), Host::new()];
    hosts[0].join(&hosts[1], "cable");
    hosts.iter().zip(addresses).for_each(|(host, address)| host.address("cable", address));
    (graph, hosts)
}

/// 100 kB go from Runnel to the other host and back.
fn understands(other: Origin, addresses: [&str; 2]) {
    for (talker, listener) in [(Origin::Runnel, other), (other, Origin::Runnel)] {
        let (graph, [near, far]) = cabled(addresses);
        let mut listener = far.run(|| graph.listener(listener, WORDS));
        let gate = graph.gate();
        let words = [WORDS, &["--size", "100000", "--after", &gate]].concat();
        let mut talker = near.run(|| graph.talker(talker, &words));
        says(&mut talker, "matched 1");
        says(&mut listener, "matched 1");
        graph.open_gate();
        hear_out(&mut talker, &mut [listener], 5);
    }
}

fn says(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|said| said == line, deadline_in(PATIENCE)).unwrap();
}

const IPV6: [&str; 2] = ["fd00::1/64", "fd00::2/64"];
const LINK_LOCAL: [&str; 2] = ["fe80::1/64", "fe80::2/64"];

#[test]
fn runnel_and_cyclone_understand_each_other_by_ipv6() {
    understands(Origin::Cyclone, IPV6);
}

#[test]
fn runnel_and_cyclone_11_understand_each_other_by_ipv6() {
    understands(Origin::Cyclone11, IPV6);
}

#[test]
fn runnel_and_cyclone_understand_each_other_by_link_local_addresses() {
    understands(Origin::Cyclone, LINK_LOCAL);
}

#[test]
fn runnel_and_kilted_understand_each_other_by_ipv6() {
    understands(Origin::Ros2(Distro::Kilted), IPV6);
}

#[test]
fn runnel_and_jazzy_understand_each_other_by_ipv6() {
    understands(Origin::Ros2(Distro::Jazzy), IPV6);
}

#[test]
fn runnel_and_runnel_understand_each_other_by_link_local_addresses() {
    understands(Origin::Runnel, LINK_LOCAL);
}
