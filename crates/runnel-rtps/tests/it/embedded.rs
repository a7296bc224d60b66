//! Peers of embeddedRTPS, as in mROS 2: they understand only plain announcements and have small buffers.

use std::net::{Ipv4Addr, SocketAddr};

use crate::net::{Net, announcement, message, millis, options, sample, secs};
use runnel_core::qos::QoS;
use runnel_core::time::Instant;
use runnel_rtps::wire::{AckNack, EntityId, GuidPrefix, InfoDestination, SequenceNumber, SequenceSet};
use runnel_rtps::{EndpointOptions, Event};
use runnel_testkit::embedded_rtps::{EmbeddedRtps, GROUP};

const TYPE: &str = "std_msgs::msg::dds_::String_";
const TO_BOARD: &str = "rt/to_board";
const FROM_BOARD: &str = "rt/from_board";

/// embeddedRTPS peer at the address 10.0.0.99.
struct Board {
    peer: EmbeddedRtps,
    ip: Ipv4Addr,
    begun: Instant,
}

impl Board {
    /// Creates one that publishes a topic and subscribes to another.
    fn new(net: &mut Net, ip: Ipv4Addr) -> Self {
        let mut peer = EmbeddedRtps::new(ip, 24);
        peer.create_writer(FROM_BOARD, TYPE);
        peer.create_reader(TO_BOARD, TYPE);
        let board = Self { peer, ip, begun: net.now };
        for port in board.ports() {
            net.mailboxes.insert(SocketAddr::from((ip, port)), Vec::new());
        }
        board
    }

    fn ports(&self) -> [u16; 3] {
        let [metatraffic, user] = EmbeddedRtps::ports();
        [GROUP.port(), metatraffic, user]
    }

    /// Passes received datagrams to the peer, and sends its datagrams.
    fn turn(&mut self, net: &mut Net) {
        let port_of_group = SocketAddr::from((self.ip, GROUP.port()));
        for port in self.ports() {
            let at = SocketAddr::from((self.ip, port));
            // Group datagrams reach each mailbox here: on a host they reach only the group's port.
            let came = net.mailboxes.get_mut(&at).map(std::mem::take).unwrap_or_default();
            for (_, bytes) in came {
                let is_announcement = bytes.len() > 44 && bytes[20] != 0x0e;
                if !is_announcement || at == port_of_group {
                    self.peer.handle_datagram(&bytes);
                }
            }
        }
        self.peer.handle_timeout(net.now.since(self.begun));
        while let Some(sent) = self.peer.poll_transmit() {
            net.send(SocketAddr::from((self.ip, sent.from)), sent.to.into(), &sent.bytes);
        }
    }

    #[track_caller]
    fn run_until(&mut self, net: &mut Net, what: &str, done: impl Fn(&Net, &EmbeddedRtps) -> bool) {
        let until = net.now + secs(20);
        while !done(net, &self.peer) {
            assert!(net.now < until, "{what}: {:?}", self.peer.dropped);
            self.turn(net);
            net.run_for(millis(1));
        }
    }

    fn run_for(&mut self, net: &mut Net, seconds: u64) {
        let until = net.now + secs(seconds);
        while net.now < until {
            self.turn(net);
            net.run_for(millis(1));
        }
    }
}

/// Creates a best-effort writer and reader of the board's topics.
fn ends(net: &mut Net, node: usize) -> (EntityId, EntityId) {
    let typed = |topic, qos| EndpointOptions { user_data: vec![b'x'; 110], ..options(topic, qos) };
    let reader = net.reader_with(node, typed(FROM_BOARD, QoS::keep_last(10).best_effort()));
    (net.writer(node, TO_BOARD, QoS::keep_last(10)), reader)
}

fn matched_board(net: &mut Net) -> (Board, EntityId, EntityId) {
    let mut board = Board::new(net, Ipv4Addr::new(10, 0, 0, 99));
    let (writer, reader) = ends(net, 0);
    board.run_until(net, "the endpoints match", |net, peer| {
        peer.has_matched() && net.is_matched(0, writer) && net.is_matched(0, reader)
    });
    (board, writer, reader)
}

#[test]
fn embedded_peer_is_matched_and_exchanges_samples_both_ways() {
    let mut net = Net::new(1);
    net.add();
    let (mut board, writer, reader) = matched_board(&mut net);
    for (number, len) in [(1, 20), (2, 60), (3, 300)] {
        let bytes = sample(number, len);
        net.write(0, writer, &bytes).unwrap();
        board.peer.publish(0, &bytes);
        board.run_until(&mut net, "it arrives both ways", |net, peer| {
            let arrived = net.texts(0, reader).len() == number as usize;
            arrived && peer.received.len() == number as usize
        });
        assert_eq!(board.peer.received.last().unwrap(), &(TO_BOARD.to_owned(), bytes.clone()));
        assert_eq!(net.texts(0, reader).last().unwrap(), &bytes);
    }
    assert_eq!((board.peer.truncated, board.peer.ignored), (0, 0));
}

/// With a vendor that gets random numbers, it would request number 1 for ever.
#[test]
fn embedded_peer_first_announced_by_forger_is_matched() {
    for names_us in [false, true] {
        let mut net = Net::new(7);
        net.add();
        let at = SocketAddr::from(([10, 0, 0, 99], EmbeddedRtps::ports()[0]));
        let prefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 4]);
        let mut forged = announcement(prefix, at, Some(secs(100)));
        if names_us {
            InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut forged);
        }
        net.send(at, net.nodes[0].address, &forged);
        net.run_for(millis(1));
        matched_board(&mut net);
    }
}

/// It repeats all samples from the requested number on, with the time of the repetition.
#[test]
fn repetitions_of_embedded_peer_are_no_forgery() {
    let mut net = Net::new(8);
    net.add();
    let (mut board, ..) = matched_board(&mut net);
    board.run_for(&mut net, 2);
    let mut missing = SequenceSet::new(SequenceNumber::FIRST);
    assert!(missing.insert(SequenceNumber::FIRST));
    let (reader, writer) = (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER);
    let ask = AckNack { reader, writer, missing, count: 1 << 20, is_final: true };
    board.peer.handle_datagram(&message(net.nodes[0].participant.prefix(), |out| ask.emit(out)));
    board.run_for(&mut net, 2);
    let is_corrected = |event: &Event| matches!(event, Event::Corrected { .. });
    assert!(!net.nodes[0].events.iter().any(is_corrected), "{:?}", net.nodes[0].events);
}

/// Its writers send HEARTBEATs only every 4 s, but answer requests.
#[test]
fn embedded_peer_is_matched_before_its_writers_first_heartbeat() {
    let mut net = Net::new(5);
    net.add();
    let began = net.now;
    matched_board(&mut net);
    assert!(net.now.since(began) < secs(2), "{:?}", net.now.since(began));
}

#[test]
fn announcement_of_eight_interfaces_fits_embedded_peer() {
    let mut net = Net::new(2);
    let ours = |subnet: u8| SocketAddr::from(([10, subnet, 0, 1], 7410));
    net.add_with(|config| {
        config.unicast = (0..8).map(ours).collect();
        config.own_addresses = config.unicast.iter().map(SocketAddr::ip).collect();
        config.user_data = b"enclave=/a/rather/long/one;".to_vec();
    });
    let mut board = Board::new(&mut net, Ipv4Addr::new(10, 7, 0, 99));
    net.nodes[0].addresses.rotate_right(1);
    let (writer, reader) = ends(&mut net, 0);
    board.run_until(&mut net, "the endpoints match", |net, peer| {
        peer.has_matched() && net.is_matched(0, writer) && net.is_matched(0, reader)
    });
    net.write(0, writer, &sample(1, 300)).unwrap();
    board.run_until(&mut net, "it arrives", |_, peer| peer.received.len() == 1);
}

#[test]
fn embedded_peer_parses_short_multicast_announcement() {
    let mut net = Net::new(3);
    net.add();
    let (board, ..) = matched_board(&mut net);
    assert!(board.peer.dropped.is_empty(), "{:?}", board.peer.dropped);
}

#[test]
fn ended_endpoints_hide_none_from_embedded_peer() {
    let mut net = Net::new(4);
    net.add();
    for topic in 0..100 {
        let ended = net.writer(0, &format!("rt/ended_{topic}"), QoS::default());
        net.remove(0, ended);
    }
    net.run_for(secs(1));
    let (mut board, ..) = matched_board(&mut net);
    // Also endpoints that end while it is there.
    let ended = net.writer(0, "rt/ended", QoS::default());
    net.remove(0, ended);
    net.writer(0, "rt/more", QoS::default());
    let acknowledged =
        |net: &Net| net.nodes[0].participant.unacknowledged(EntityId::PUBLICATIONS_WRITER) == 0;
    board.run_until(&mut net, "it has discovered all", |net, _| acknowledged(net));
}

#[test]
fn embedded_peer_skips_fragmented_long_sample() {
    let mut net = Net::new(5);
    net.add();
    let (mut board, writer, _) = matched_board(&mut net);
    net.write(0, writer, &sample(1, 2000)).unwrap();
    net.write(0, writer, &sample(2, 20)).unwrap();
    board.run_until(&mut net, "the next arrives", |_, peer| !peer.received.is_empty());
    assert_eq!(board.peer.received.len(), 1);
    assert!(board.peer.truncated == 0 && board.peer.ignored > 0);
}

#[test]
fn embedded_peer_stays_matched_for_minutes() {
    let mut net = Net::new(6);
    net.add();
    let (mut board, writer, reader) = matched_board(&mut net);
    let before = net.nodes[0].sent;
    board.run_for(&mut net, 60);
    assert!(net.nodes[0].sent < before + 200, "{} datagrams in a minute", net.nodes[0].sent - before);
    assert!(net.is_matched(0, writer) && net.is_matched(0, reader));
    assert_eq!(board.peer.participants(), 1);
    net.write(0, writer, &sample(1, 20)).unwrap();
    board.run_until(&mut net, "it arrives", |_, peer| peer.received.len() == 1);
}
