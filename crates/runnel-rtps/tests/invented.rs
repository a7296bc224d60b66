//! Nonexistent participants: one host sends each victim a short datagram for each of a thousand, with the victim's
//! prefix and an infinite lease, and never answers. Live links continue, newcomers match, and little is sent back.

mod net;

use std::net::SocketAddr;
use std::time::Duration;

use net::{
    Net, Stranger, acknowledgement, announcement, endpoint_announcement, forged_prefix, message, millis,
    options, sample, secs,
};
use runnel_core::qos::QoS;
use runnel_rtps::announce::{BuiltinEndpoints, Endpoint, ParticipantData};
use runnel_rtps::wire::{
    AckNack, Data, EntityId, GuidPrefix, Heartbeat, InfoDestination, Message, Payload, SequenceNumber,
    SequenceSet, Submessage, VendorId,
};
use runnel_testkit::counting_allocator::{CountingAllocator, held_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TOPIC: &str = "rt/live";

/// Number of nonexistent participants in a wave, and of their addresses.
const INVENTED: u32 = 1000;
const ADDRESSES: u32 = 8;

/// Number of waves, one each five seconds.
const ROUNDS: u32 = 3;

/// Claimed address of a nonexistent participant: the port encodes the node that is its victim.
fn address(number: u32, victim: usize) -> SocketAddr {
    let port = 10_000 + (number % INVENTED / ADDRESSES) as u16 * 8 + victim as u16;
    ([10, 66, 0, (number % ADDRESSES) as u8], port).into()
}

/// Returns the datagram of a nonexistent participant to a victim.
fn datagram(prefix: GuidPrefix, vendor: VendorId, at: SocketAddr, victim: GuidPrefix) -> Vec<u8> {
    let data = ParticipantData {
        prefix,
        version: (2, 3),
        vendor,
        domain: None,
        domain_tag: String::new(),
        lease: None,
        builtin: BuiltinEndpoints::OURS,
        metatraffic: vec![at],
        unicast: vec![at],
        name: String::new(),
        user_data: vec![],
    };
    let mut payload = vec![];
    data.emit(&mut payload);
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    message(prefix, |out| {
        InfoDestination { prefix: victim }.emit(out);
        Data::emit(out, ends, SequenceNumber::FIRST, &[], Payload::Value(&payload));
    })
}

/// Sends a wave, a tenth of a millisecond apart, to each of these nodes. Returns the bytes sent to each.
fn wave(net: &mut Net, first: u32, victims: &[usize]) -> usize {
    let mut sent = 0;
    for number in first..first + INVENTED {
        for victim in victims {
            let (at, to) = (address(number, *victim), net.nodes[*victim].address);
            let prefix = net.nodes[*victim].participant.prefix();
            let bytes = datagram(forged_prefix(number), VendorId::FAST_DDS, at, prefix);
            sent += bytes.len();
            net.send(at, to, &bytes);
        }
        net.run_for(Duration::from_micros(100));
    }
    sent / victims.len()
}

/// Returns the bytes that a node has sent to claimed addresses.
fn bytes_sent_back(net: &Net, victim: usize) -> usize {
    let is_of = |at: &SocketAddr| at.port() >= 10_000 && usize::from(at.port() % 8) == victim;
    net.undeliverable.iter().filter(|(at, _)| is_of(at)).map(|(_, bytes)| bytes).sum()
}

/// Creates a matched writer and reader on two nodes that have more endpoints.
fn pair() -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, QoS::default()), net.reader(b, TOPIC, QoS::default()));
    for topic in 0..10 {
        net.writer(a, &format!("rt/topic_{topic}"), QoS::default());
    }
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.run_for(secs(1));
    (net, writer, reader)
}

/// Writes every ten milliseconds for so long.
fn publish(net: &mut Net, writer: EntityId, time: Duration) {
    let until = net.now + time;
    while net.now < until {
        net.write(0, writer, &sample(0, 100)).unwrap();
        net.run_for(millis(10));
    }
}

#[test]
fn invented_participants_cost_no_more_than_three_times_their_bytes() {
    let (mut net, writer, reader) = pair();
    let sent = wave(&mut net, 0, &[0, 1]);
    publish(&mut net, writer, secs(60));
    for victim in 0..2 {
        let back = bytes_sent_back(&net, victim);
        assert!((1..=3 * sent).contains(&back), "node {victim}: {back} bytes for {sent}");
    }
    let at: Vec<_> = net.nodes[1].samples.iter().filter(|received| received.reader == reader).collect();
    assert_eq!(at.len(), 6000);
    assert!(at.windows(2).all(|pair| pair[1].at.since(pair[0].at) < millis(15)));
}

#[test]
fn each_invented_participant_draws_few_datagrams() {
    let (mut net, ..) = pair();
    let before = net.nodes[0].sent;
    wave(&mut net, 0, &[0]);
    net.run_for(secs(60));
    // Some twenty announcements of its own, and heartbeats and answers between the two live nodes.
    let sent = net.nodes[0].sent - before;
    assert!(sent <= 2 * INVENTED as usize + 200, "{sent} datagrams for {INVENTED}");
}

#[test]
fn newcomers_match_while_waves_repeat() {
    let (mut net, writer, _) = pair();
    let before = held_bytes();
    let (mut sent, mut grown) = (0, vec![]);
    for round in 0..ROUNDS {
        sent += wave(&mut net, round * INVENTED, &[0, 1]);
        let newcomer = net.add();
        let reader = net.reader(newcomer, TOPIC, QoS::default());
        let elapsed =
            net.run_until("the endpoint is matched", secs(2), |net| net.is_matched(newcomer, reader));
        assert!(elapsed < millis(500), "round {round}: {elapsed:?}");
        publish(&mut net, writer, secs(5));
        assert!(net.texts(newcomer, reader).len() >= 495, "round {round}");
        net.nodes.iter_mut().for_each(|node| node.samples.clear());
        grown.push(held_bytes().saturating_sub(before));
    }
    for victim in 0..2 {
        let back = bytes_sent_back(&net, victim);
        assert!(back <= 3 * sent, "node {victim}: {back} bytes for {sent}");
    }
    // As many as the limits of both nodes allow; the test's own memory grows with each round.
    let most = 2 * 2048 * 16 * 1024;
    assert!(grown.iter().all(|grown| *grown < most), "{grown:?}");
}

#[test]
fn burst_of_invented_participants_is_answered_at_a_bounded_rate() {
    let (mut net, ..) = pair();
    let prefix = net.nodes[0].participant.prefix();
    for number in 0..INVENTED {
        let at = address(number, 0);
        let bytes = datagram(forged_prefix(number), VendorId::FAST_DDS, at, prefix);
        net.send(at, net.nodes[0].address, &bytes);
    }
    let before = net.nodes[0].sent;
    net.run_for(millis(10));
    let sent = net.nodes[0].sent - before;
    assert!(sent <= 70, "{sent} datagrams within 10 ms");
}

#[test]
fn invented_participants_are_forgotten_after_a_minute() {
    let (mut net, ..) = pair();
    wave(&mut net, 0, &[0]);
    let announced = |net: &Net| net.nodes[0].participant.announced().count();
    assert_eq!(announced(&net), INVENTED as usize + 1);
    net.run_for(secs(61));
    assert_eq!(announced(&net), 1);
}

/// Adds a participant at an address that has named the only node; nonexistent if no node answers there.
fn named(net: &mut Net, number: u32, at: SocketAddr, vendor: VendorId) -> GuidPrefix {
    let (prefix, us) = (forged_prefix(number), net.nodes[0].participant.prefix());
    let bytes = datagram(prefix, vendor, at, us);
    net.send(at, net.nodes[0].address, &bytes);
    net.run_for(millis(1));
    prefix
}

fn is_proved(net: &Net, prefix: GuidPrefix) -> bool {
    net.nodes[0].participant.peer(prefix).is_some_and(|peer| peer.is_proved())
}

/// Returns an acknowledgement of discovery up to before `base`.
fn acknowledged(net: &Net, prefix: GuidPrefix, base: i64, names_us: bool) -> Vec<u8> {
    let (reader, writer) = (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER);
    let missing = SequenceSet::new(SequenceNumber(base));
    message(prefix, |out| {
        if names_us {
            InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(out);
        }
        AckNack { reader, writer, missing, count: 1, is_final: true }.emit(out);
    })
}

#[test]
fn guessed_acknowledgement_proves_nothing() {
    let mut net = Net::new(1);
    net.add();
    net.writer(0, TOPIC, QoS::default());
    let at = ([10, 66, 0, 1], 10_000).into();
    let prefix = named(&mut net, 1, at, VendorId::FAST_DDS);
    for base in [1, 2, 3, 1000, i64::MAX] {
        let guess = acknowledged(&net, prefix, base, true);
        net.send(at, net.nodes[0].address, &guess);
        net.run_for(millis(1));
        assert!(!is_proved(&net, prefix), "{base}");
    }
    net.answering.insert(at);
    named(&mut net, 1, at, VendorId::FAST_DDS);
    assert!(is_proved(&net, prefix));
}

#[test]
fn peer_without_info_dst_is_proved_by_acknowledgements() {
    let mut net = Net::new(1);
    net.add();
    net.writer(0, TOPIC, QoS::default());
    let (at, prefix) = (([10, 66, 0, 1], 10_000).into(), forged_prefix(1));
    // An untested vendor gets the real numbers.
    let mut bytes = announcement(prefix, at, None);
    let vendor = bytes.windows(4).position(|window| window == [0x16, 0, 4, 0]).unwrap() + 4;
    bytes[vendor..vendor + 2].copy_from_slice(&[13, 37]);
    net.send(at, net.nodes[0].address, &bytes);
    net.run_for(millis(1));
    assert!(net.nodes[0].participant.peer(prefix).is_none());
    for (base, proves) in [(1, false), (2, true)] {
        let bytes = acknowledged(&net, prefix, base, false);
        net.send(at, net.nodes[0].address, &bytes);
        net.run_for(millis(1));
        let known = net.nodes[0].participant.peer(prefix).map(|peer| peer.is_proved());
        assert_eq!(known, Some(proves), "{base}");
    }
}

/// Announces a reader of the only node's topic for a participant.
fn announce_reader(net: &mut Net, prefix: GuidPrefix, at: SocketAddr) -> Endpoint {
    let like = net.reader(0, TOPIC, QoS::default());
    let like = net.nodes[0].participant.endpoint(net.nodes[0].participant.prefix().with(like)).unwrap();
    let endpoint = Endpoint { guid: prefix.with(EntityId::user_reader(9)), ..like.clone() };
    net.send(at, net.nodes[0].address, &endpoint_announcement(&endpoint));
    net.run_for(millis(1));
    endpoint
}

#[test]
fn unproved_reader_gets_samples_once_it_is_proved() {
    let mut net = Net::new(1);
    net.add();
    let qos = QoS::keep_last(50);
    let writer = net.writer(0, TOPIC, qos);
    let at = ([10, 66, 0, 1], 10_000).into();
    let prefix = named(&mut net, 1, at, VendorId::FAST_DDS);
    let reader = announce_reader(&mut net, prefix, at);
    assert_eq!(net.nodes[0].participant.matched(writer), [reader.guid]);
    for number in 0..20 {
        net.write(0, writer, &sample(number, 1000)).unwrap();
    }
    net.run_for(millis(100));
    assert!(bytes_sent_back(&net, 0) < 2500, "{} bytes", bytes_sent_back(&net, 0));
    net.answering.insert(at);
    named(&mut net, 1, at, VendorId::FAST_DDS);
    net.run_until("the waiting datagrams are sent to it", secs(1), |net| bytes_sent_back(net, 0) > 20_000);
}

#[test]
fn peer_that_acknowledges_nothing_is_demoted_and_not_forgotten() {
    let mut net = Net::new(1);
    net.add();
    let writer = net.writer(0, TOPIC, QoS::keep_all());
    let at = ([10, 66, 0, 1], 10_000).into();
    let prefix = named(&mut net, 1, at, VendorId::FAST_DDS);
    announce_reader(&mut net, prefix, at);
    net.run_for(secs(4));
    let before = bytes_sent_back(&net, 0);
    // It does not exclude others.
    for number in 0..2000 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(10));
    }
    assert_eq!(bytes_sent_back(&net, 0), before);
    assert_eq!(net.nodes[0].participant.matched(writer).len(), 1, "its link stays");
    // It is sent our announcement when it announces itself, and proves itself then.
    net.answering.insert(at);
    named(&mut net, 1, at, VendorId::FAST_DDS);
    assert!(is_proved(&net, prefix));
    let before = bytes_sent_back(&net, 0);
    net.write(0, writer, &sample(1, 1000)).unwrap();
    net.run_for(millis(10));
    assert!(bytes_sent_back(&net, 0) > before + 1000);
}

#[test]
fn proved_peer_that_falls_silent_keeps_its_links() {
    let mut net = Net::new(1);
    net.add();
    let writer = net.writer(0, TOPIC, QoS::keep_last(1));
    let stranger = Stranger::discover(&mut net, 1);
    announce_reader(&mut net, stranger.prefix, stranger.address);
    net.answering.clear();
    let before = net.nodes[0].sent;
    net.run_for(secs(200));
    assert_eq!(net.nodes[0].participant.matched(writer).len(), 1);
    // A heartbeat of each kind per second, and our announcements.
    let sent = net.nodes[0].sent - before;
    assert!(sent < 200 * 3, "{sent} datagrams in 200 s");
}

#[test]
fn local_participant_is_accepted_despite_strangers() {
    let mut net = Net::new(1);
    let local = [10, 0, 0, 77];
    net.add_with(|config| {
        config.limits.participants = 8;
        config.own_addresses.push(local.into());
    });
    let mut accept = |number: u32, at: SocketAddr| {
        net.answering.insert(at);
        let prefix = named(&mut net, number, at, VendorId::FAST_DDS);
        is_proved(&net, prefix)
    };
    let strangers = (0..20).filter(|number| accept(*number, ([10, 66, 1, *number as u8], 7410).into()));
    assert_eq!(strangers.count(), 6);
    assert!(accept(100, (local, 7410).into()));
}

#[test]
fn stranger_displaces_only_silent_strangers() {
    let mut net = Net::new(1);
    net.add_with(|config| config.limits.candidates = 4);
    let at = |number: u32| SocketAddr::from(([10, 66, 1, number as u8], 7410));
    let talking = named(&mut net, 0, at(0), VendorId::FAST_DDS);
    announce_reader(&mut net, talking, at(0));
    for number in 1..10 {
        named(&mut net, number, at(number), VendorId::FAST_DDS);
    }
    let known = |prefix| net.nodes[0].participant.peer(prefix).is_some();
    let left: Vec<u32> = (0..10).filter(|number| known(forged_prefix(*number))).collect();
    assert_eq!(left, [0, 7, 8, 9]);
}

/// Pending content for a newly discovered participant fits into one datagram: heartbeats and acknowledgements of all
/// discovery.
#[test]
fn discovery_of_one_peer_goes_in_one_datagram() {
    let mut net = Net::new(1);
    net.add();
    net.writer(0, TOPIC, QoS::default());
    let (prefix, at) = (forged_prefix(1), ([10, 66, 0, 1], 10_000).into());
    let us = net.nodes[0].participant.prefix();
    let (now, to) = (net.now, net.nodes[0].address);
    net.run_for(millis(1));
    let participant = &mut net.nodes[0].participant;
    participant.handle_datagram(now, at, &datagram(prefix, VendorId::FAST_DDS, at, us));
    let mut datagrams = vec![];
    while let Some(transmit) = participant.poll_transmit(now) {
        assert_eq!(transmit.to, [at], "{to}");
        datagrams.push(transmit.parts.concat());
    }
    assert_eq!(datagrams.len(), 1);
    let message = Message::parse(&datagrams[0]).unwrap();
    let kinds: Vec<_> = message.submessages().flatten().collect();
    let heartbeats = kinds.iter().filter(|one| matches!(one, Submessage::Heartbeat(Heartbeat { .. })));
    let acknowledgements = kinds.iter().filter(|one| matches!(one, Submessage::AckNack(_)));
    assert_eq!((heartbeats.count(), acknowledgements.count()), (3, 3));
    assert!(acknowledgement(&datagrams[0]).is_some());
}

/// User samples are sent before discovery, and a publishing thread sends nothing else.
#[test]
fn user_samples_go_before_discovery() {
    let (mut net, writer, _) = pair();
    let (now, stamp) = (net.now, net.stamp());
    let (us, other) = (net.nodes[0].participant.prefix(), net.nodes[1].address);
    let node = &mut net.nodes[0];
    for number in 0..100 {
        let at = address(number, 0);
        node.participant.handle_datagram(
            now,
            at,
            &datagram(forged_prefix(number), VendorId::FAST_DDS, at, us),
        );
    }
    node.participant.create_writer(now, stamp, options("rt/new", QoS::default()));
    node.participant.write(now, stamp, writer, sample(1, 100)[..].into()).unwrap();
    let is_user = |transmit: &runnel_rtps::Transmit<'_>| transmit.parts.concat().len() > 100;
    let first = node.participant.poll_user_transmit(now);
    assert!(first.is_some_and(|transmit| is_user(&transmit) && transmit.to == [other]));
    assert!(node.participant.poll_user_transmit(now).is_none());
    assert!(node.participant.poll_timeout().is_some_and(|at| at <= now), "the rest is due");
    assert!(node.participant.poll_transmit(now).is_some());
}
