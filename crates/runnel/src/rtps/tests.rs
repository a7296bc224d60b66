//! Two participants, whose sockets the tests look at themselves.

mod sleeping;

use std::time::{Duration, Instant as StdInstant};

use runnel_core::qos::QoS;
use runnel_io::{Reactor, Waker};
use runnel_rtps::SamplePayload;
use runnel_testkit::hosts::Host;
use runnel_testkit::namespace::require_private_network;

use super::settings::Ipv6;
use super::*;
use crate::ipc::Frame;

const LONG: Duration = Duration::from_secs(20);

pub(crate) fn waker() -> Waker {
    Reactor::new().unwrap().waker().clone()
}

pub(crate) fn settings(domain: u16, peers: &str) -> Ros2Settings {
    let peers = peers.split_whitespace().map(|peer| peer.parse().unwrap()).collect();
    Ros2Settings { domain, range: Range::Off, peers, ipv6: Ipv6::Usual, enclave: "/".into(), rate: None }
}

pub(crate) fn chatter(qos: QoS) -> EndpointOptions {
    endpoint_of("/chatter", "std_msgs::msg::dds_::String_", "", qos, None)
}

/// Hears what has come, and does what is due: the bytes of samples, and from where they were sent.
fn turn(rtps: &Rtps) -> Vec<(SocketAddr, Vec<u8>)> {
    let (mut buffer, mut heard) = (vec![0; 65536], Vec::new());
    for socket in rtps.receivers() {
        while let Some(received) = socket.recv_from(&mut buffer).unwrap() {
            let (datagram, mut brought) = (&buffer[..received.len], Brought::default());
            rtps.handle_datagram(received.from, datagram, &mut brought);
            let payload = |payload: &SamplePayload| payload.bytes(datagram).to_vec();
            heard.extend(brought.samples.iter().map(|sample| (received.from, payload(&sample.payload))));
        }
    }
    if rtps.deadline().is_some_and(|at| at <= clock::monotonic()) {
        rtps.handle_timeout();
    }
    heard
}

fn frame(text: &str) -> Frame {
    Frame::from([&[0; 4][..], &[0, 1, 0, 0], text.as_bytes()].concat())
}

/// Tries that one is heard by the other, and tells from where.
fn talk(a: &Rtps, b: &Rtps) -> SocketAddr {
    let writer = a.create_writer(chatter(QoS::keep_last(10)));
    b.create_reader(chatter(QoS::keep_last(10)));
    hears(a, writer, b)
}

/// Sends until the other has heard it; from where.
fn hears(from: &Rtps, writer: EntityId, to: &Rtps) -> SocketAddr {
    let until = StdInstant::now() + LONG;
    loop {
        assert!(StdInstant::now() < until, "it hears nothing");
        from.write(writer, frame("hello..."), None);
        turn(from);
        if let Some((from, bytes)) = turn(to).into_iter().next() {
            assert_eq!(bytes, [&[0, 1, 0, 0], &b"hello..."[..]].concat());
            return from;
        }
        std::thread::yield_now();
    }
}

#[test]
fn those_who_name_loopback_by_its_ipv6_address_meet_by_that() {
    require_private_network();
    let open = |peers| Rtps::open(&settings(61, peers), waker()).unwrap();
    let (a, b) = (open("[::1]:0"), open("[::1]:0"));
    assert!(talk(&a, &b).is_ipv6());
}

#[test]
fn who_has_no_ipv6_sockets_meets_by_ipv4() {
    require_private_network();
    let settings = Ros2Settings { ipv6: Ipv6::Unused, ..settings(62, "127.0.0.1:0") };
    let (a, b) = (Rtps::open(&settings, waker()).unwrap(), Rtps::open(&settings, waker()).unwrap());
    assert_eq!(a.receivers().len(), 1);
    assert!(talk(&a, &b).is_ipv4());
}

/// Two hosts with a cable between them that carries no multicast, as WireGuard's do not.
fn hosts_without_multicast() -> [Host; 2] {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    for (host, address) in [(&near, "10.1.0.1/24"), (&far, "10.1.0.2/24")] {
        host.ip("link set cable multicast off");
        host.address("cable", address);
    }
    [near, far]
}

fn subnet(domain: u16, peers: &str) -> Ros2Settings {
    Ros2Settings { range: Range::Subnet, ..settings(domain, peers) }
}

#[test]
fn who_is_named_is_met_by_an_interface_without_multicast() {
    let [near, far] = hosts_without_multicast();
    let a = near.run(|| Rtps::open(&subnet(63, "10.1.0.2:0"), waker())).unwrap();
    let b = far.run(|| Rtps::open(&subnet(63, ""), waker())).unwrap();
    assert_eq!(talk(&a, &b).ip().to_string(), "10.1.0.1");
    assert_eq!(talk(&b, &a).ip().to_string(), "10.1.0.2");
}

#[test]
fn a_process_whose_only_address_changes_stays_known_and_is_heard_from_the_new_one() {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    near.address("cable", "10.1.0.1/24");
    far.address("cable", "10.1.0.2/24");
    let a = near.run(|| Rtps::open(&subnet(64, ""), waker())).unwrap();
    let b = far.run(|| Rtps::open(&subnet(64, ""), waker())).unwrap();
    let writer = a.create_writer(chatter(QoS::keep_last(10)));
    b.create_reader(chatter(QoS::keep_last(10)));
    assert_eq!(hears(&a, writer, &b).ip().to_string(), "10.1.0.1");
    let begun = StdInstant::now();
    near.ip("address del 10.1.0.1/24 dev cable");
    near.run(|| a.look_at_interfaces()).unwrap();
    near.address("cable", "10.1.0.7/24");
    near.run(|| a.look_at_interfaces()).unwrap();
    while hears(&a, writer, &b).ip().to_string() != "10.1.0.7" {}
    assert!(begun.elapsed() < Duration::from_secs(5), "not before the lease was over");
}
