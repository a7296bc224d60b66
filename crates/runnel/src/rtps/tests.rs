//! Two participants in one process, whose sockets the tests read themselves.

pub(crate) mod sending;
mod sleeping;

use std::time::{Duration, Instant as StdInstant};

use runnel_core::qos::QoS;
use runnel_core::wire::Encoding;
use runnel_io::{Reactor, Waker};
use runnel_rtps::SamplePayload;
use runnel_testkit::hosts::Host;
use runnel_testkit::namespace::require_private_network;

use super::*;
use crate::frame::Frame;
use crate::settings::environment::Ipv6;

const LONG: Duration = Duration::from_secs(20);
/// Lease of a participant.
const LEASE: Duration = Duration::from_secs(20);

pub(crate) fn waker() -> Waker {
    Reactor::new().unwrap().waker().clone()
}

pub(crate) fn settings(domain: u16, peers: &str) -> Ros2Settings {
    let peers = peers.split_whitespace().map(|peer| peer.parse().unwrap()).collect();
    Ros2Settings { domain, range: Range::Off, peers, ipv6: Ipv6::WhenNeeded, enclave: "/".into(), rate: None }
}

pub(crate) fn chatter(qos: QoS) -> EndpointOptions {
    endpoint_of("/chatter", "std_msgs::msg::dds_::String_", "", qos, None)
}

/// A reader of a dual node.
pub(crate) fn node_reader(rtps: &Rtps, qos: QoS, dual_node_id: u64) -> EntityId {
    rtps.create_reader(endpoint_of("/chatter", "std_msgs::msg::dds_::String_", "", qos, Some(dual_node_id)))
}

/// Receives numbers, each the body of a message.
pub(crate) fn received_numbers(rtps: &Rtps) -> Vec<u32> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes[4..8].try_into().unwrap());
    poll_once(rtps).iter().map(|(_, bytes)| number(bytes)).collect()
}

/// Reads all sockets and handles timeouts. Returns the bytes of samples with their source addresses.
pub(crate) fn poll_once(rtps: &Rtps) -> Vec<(SocketAddr, Vec<u8>)> {
    let (mut buffer, mut samples) = (vec![0; 65536], Vec::new());
    for socket in rtps.receivers() {
        while let Some(packet) = socket.recv_from(&mut buffer).unwrap() {
            let (datagram, mut batch) = (&buffer[..packet.len], ReceivedBatch::default());
            rtps.handle_datagram(packet.from, datagram, &mut batch);
            let payload = |payload: &SamplePayload| payload.bytes(datagram).to_vec();
            samples.extend(batch.samples.iter().map(|sample| (packet.from, payload(&sample.payload))));
        }
    }
    if rtps.deadline().is_some_and(|at| at <= clock::monotonic()) {
        rtps.handle_timeout();
    }
    samples
}

fn frame(text: &str) -> Frame {
    Frame::new(Encoding::Xcdr1, [&[0, 1, 0, 0], text.as_bytes()].concat())
}

/// Checks that the second participant receives from the first. Returns the source address.
fn connect(a: &Rtps, b: &Rtps) -> SocketAddr {
    let writer = a.create_writer(chatter(QoS::keep_last(10)));
    b.create_reader(chatter(QoS::keep_last(10)));
    publish_until_received(a, &writer, b)
}

/// Publishes until the reader receives. Returns the source address.
fn publish_until_received(from: &Rtps, writer: &Writer, to: &Rtps) -> SocketAddr {
    let until = StdInstant::now() + LONG;
    loop {
        assert!(StdInstant::now() < until, "nothing arrives");
        from.write(writer, frame("hello..."));
        poll_once(from);
        if let Some((from, bytes)) = poll_once(to).into_iter().next() {
            assert_eq!(bytes, [&[0, 1, 0, 0], &b"hello..."[..]].concat());
            return from;
        }
        std::thread::yield_now();
    }
}

#[test]
fn participants_with_ipv6_loopback_peers_match_over_it() {
    require_private_network();
    let open = |peers| Rtps::open(&settings(61, peers), waker()).unwrap();
    let (a, b) = (open("[::1]:0"), open("[::1]:0"));
    assert!(connect(&a, &b).is_ipv6());
}

#[test]
fn participant_without_ipv6_matches_over_ipv4() {
    require_private_network();
    let settings = Ros2Settings { ipv6: Ipv6::Unused, ..settings(62, "127.0.0.1:0") };
    let (a, b) = (Rtps::open(&settings, waker()).unwrap(), Rtps::open(&settings, waker()).unwrap());
    assert_eq!(a.receivers().len(), 1);
    assert!(connect(&a, &b).is_ipv4());
}

/// Two hosts with a cable between them that carries no multicast, like WireGuard.
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
fn named_peer_is_matched_without_multicast() {
    let [near, far] = hosts_without_multicast();
    let a = near.run(|| Rtps::open(&subnet(63, "10.1.0.2:0"), waker())).unwrap();
    let b = far.run(|| Rtps::open(&subnet(63, ""), waker())).unwrap();
    assert_eq!(connect(&a, &b).ip().to_string(), "10.1.0.1");
    assert_eq!(connect(&b, &a).ip().to_string(), "10.1.0.2");
}

#[test]
fn participant_stays_matched_when_its_address_changes() {
    let [near, far] = [Host::new(), Host::new()];
    near.join(&far, "cable");
    near.address("cable", "10.1.0.1/24");
    far.address("cable", "10.1.0.2/24");
    let a = near.run(|| Rtps::open(&subnet(64, ""), waker())).unwrap();
    let b = far.run(|| Rtps::open(&subnet(64, ""), waker())).unwrap();
    let writer = a.create_writer(chatter(QoS::keep_last(10)));
    b.create_reader(chatter(QoS::keep_last(10)));
    assert_eq!(publish_until_received(&a, &writer, &b).ip().to_string(), "10.1.0.1");
    let begun = StdInstant::now();
    near.ip("address del 10.1.0.1/24 dev cable");
    near.run(|| a.update_addresses()).unwrap();
    near.address("cable", "10.1.0.7/24");
    near.run(|| a.update_addresses()).unwrap();
    while publish_until_received(&a, &writer, &b).ip().to_string() != "10.1.0.7" {}
    assert!(begun.elapsed() < LEASE, "not before the lease was over");
}

/// A participant without multicast that sends no announcements, like one of another vendor in LOCALHOST range between
/// two announcements: on the port of the fourth participant of a host.
struct Quiet {
    participant: Participant,
    socket: std::net::UdpSocket,
}

impl Quiet {
    fn new(settings: &Ros2Settings) -> Self {
        let socket = std::net::UdpSocket::bind(("127.0.0.1", settings.unicast_port(3))).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut config = Config::new(GuidPrefix([0x0f; 12]), settings.domain.into());
        config.unicast = vec![socket.local_addr().unwrap()];
        config.own_addresses = vec![[127, 0, 0, 1].into()];
        Self { participant: Participant::new(clock::monotonic(), config), socket }
    }

    fn poll_once(&mut self) {
        let mut datagram = vec![0; 65536];
        while let Ok((len, from)) = self.socket.recv_from(&mut datagram) {
            self.participant.handle_datagram(clock::monotonic(), from, &datagram[..len]);
        }
        let now = clock::monotonic();
        self.participant.handle_timeout(now);
        while let Some(transmit) = self.participant.poll_transmit(now) {
            let datagram = transmit.parts.concat();
            transmit.to.iter().for_each(|to| drop(self.socket.send_to(&datagram, to)));
        }
    }
}

/// A host with Linux's default loopback, whose flags lack multicast and which has no route for it.
fn stock_loopback() -> Host {
    Host::new()
}

#[test]
fn quiet_local_peer_that_started_first_is_found_on_stock_loopback() {
    for range in [Range::Localhost, Range::Subnet] {
        let settings = Ros2Settings { range, ..settings(65, "") };
        stock_loopback().run(|| {
            let mut quiet = Quiet::new(&settings);
            let rtps = Rtps::open(&settings, waker()).unwrap();
            let until = StdInstant::now() + LONG;
            let has_matched = |quiet: &Quiet| {
                rtps.read(|ours| ours.peers().count() == 1) && quiet.participant.peers().count() == 1
            };
            while !has_matched(&quiet) {
                assert!(StdInstant::now() < until, "in range {range:?}");
                quiet.poll_once();
                poll_once(&rtps);
                std::thread::yield_now();
            }
        });
    }
}

#[test]
fn participants_in_localhost_range_match_on_stock_loopback() {
    let settings = Ros2Settings { range: Range::Localhost, ..settings(66, "") };
    stock_loopback().run(|| {
        let (a, b) = (Rtps::open(&settings, waker()).unwrap(), Rtps::open(&settings, waker()).unwrap());
        assert!(connect(&a, &b).ip().is_loopback());
    });
}

#[test]
fn local_ports_get_two_announcements() {
    let settings = Ros2Settings { range: Range::Subnet, ..settings(67, "") };
    let own = settings.unicast_port(1);
    let announced = settings.local_announcement_addresses(own);
    assert_eq!((announced.len(), announced.iter().filter(|to| to.port() == own).count()), (31, 0));
    assert!(Ros2Settings { range: Range::Off, ..settings }.local_announcement_addresses(own).is_empty());
    let mut config = Config::new(GuidPrefix([1; 12]), 67);
    config.local_ports = announced;
    let mut participant: Participant = Participant::new(Instant(0), config);
    let mut sent = 0;
    for second in 0..60 {
        let now = Instant(second * 1_000_000_000);
        participant.handle_timeout(now);
        while let Some(transmit) = participant.poll_transmit(now) {
            sent += transmit.to.len();
        }
    }
    assert_eq!(sent, 2 * 31);
}

/// Another thread has worked on the participant, which has brought something for a reader.
#[test]
fn samples_of_one_reader_outlast_withdrawn_capacity_of_another() {
    require_private_network();
    let open = || Rtps::open(&settings(69, "127.0.0.1:0"), waker()).unwrap();
    let (a, b) = (open(), open());
    let writer = a.create_writer(chatter(QoS::keep_all()));
    let readers = [(); 2].map(|()| b.create_reader(chatter(QoS::keep_all())));
    readers.iter().for_each(|reader| b.withdraw_capacity(*reader));
    let until = StdInstant::now() + LONG;
    while a.matched(writer.id()).len() < 2 {
        assert!(StdInstant::now() < until, "they do not match");
        poll_once(&a);
        poll_once(&b);
    }
    a.write(&writer, frame("hello..."));
    let guid = lock(&a.core).participant.prefix().with(writer.id());
    let has_arrived = |reader: &EntityId| b.last_announced((*reader, guid)) > 0;
    while !readers.iter().all(has_arrived) {
        assert!(StdInstant::now() < until, "it does not arrive");
        poll_once(&a);
        assert!(poll_once(&b).is_empty(), "there is no capacity");
    }
    b.work(|participant, now| participant.set_capacity(now, readers[0], 1));
    b.withdraw_capacity(readers[1]);
    assert_eq!(b.set_capacity(readers[1], 0).len(), 1);
}
