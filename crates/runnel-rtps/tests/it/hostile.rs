//! Hostile or broken participants. Each test is named for a class of vulnerabilities that such middleware has had.

use std::net::SocketAddr;
use std::time::Duration;

use crate::net::{GROUP, Net, announcement, forged_prefix, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{
    self, AckNack, Data, EntityId, Gap, Heartbeat, InfoDestination, InfoSource, NackFrag, Payload,
    SequenceNumber, SequenceSet, VendorId,
};
use runnel_rtps::{Event, PeerFault};

const TOPIC: &str = "rt/chatter";

fn from(number: u32) -> SocketAddr {
    SocketAddr::from(([10, 9, (number >> 8) as u8, number as u8], 7410))
}

/// Creates two participants whose writer and reader have matched and exchanged samples.
fn pair(qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}

/// Returns a message to the second participant that claims to be from the first.
fn forged(net: &Net, from: SocketAddr, fill: impl FnOnce(&mut Vec<u8>)) -> (SocketAddr, SocketAddr, Vec<u8>) {
    let mut out = vec![];
    wire::begin(&mut out, VendorId::RUNNEL, net.nodes[0].participant.prefix());
    InfoDestination { prefix: net.nodes[1].participant.prefix() }.emit(&mut out);
    fill(&mut out);
    (from, net.nodes[1].address, out)
}

fn received(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

#[test]
fn reflected_discovery_amplifies_at_most_threefold() {
    assert!(reflects_at_most_threefold(10) > 0, "a stranger is answered");
    let reflected = reflects_at_most_threefold(4000);
    assert_eq!(reflected, 0, "our announcement is longer than the limit for an unproved participant");
}

#[test]
fn several_announcements_earn_credit_of_one_datagram() {
    let mut net = Net::new(2);
    net.add();
    net.run_for(secs(1));
    let mut all = Vec::new();
    for number in 0..200 {
        let prefix = forged_prefix(number);
        let one = announcement(prefix, from(1), Some(secs(20)));
        // The header of the first, and an INFO_SRC for each other.
        match all.is_empty() {
            true => all = one,
            false => {
                InfoSource { version: (2, 3), vendor: VendorId::FAST_DDS, prefix }.emit(&mut all);
                all.extend_from_slice(&one[20..]);
            }
        }
    }
    net.send(from(7), GROUP.parse().unwrap(), &all);
    net.run_for(secs(60));
    let reflected: usize = net.undeliverable.values().sum();
    assert!((1..=3 * all.len()).contains(&reflected), "{reflected} bytes for {}", all.len());
}

/// Returns the bytes that a participant with so long an announcement sends to the victim.
fn reflects_at_most_threefold(user_data: usize) -> usize {
    let mut net = Net::new(2);
    net.add_with(|config| config.user_data = vec![b'x'; user_data]);
    for topic in 0..50 {
        net.writer(0, &format!("rt/topic_{topic}"), QoS::latched());
    }
    net.run_for(secs(1));
    let (mut sent, victim) = (0, from(1));
    for number in 0..200 {
        let bytes = announcement(forged_prefix(number), victim, Some(secs(20)));
        sent += bytes.len();
        net.send(from(7), GROUP.parse().unwrap(), &bytes);
        net.run_for(millis(5));
    }
    net.run_for(secs(60));
    let reflected: usize = net.undeliverable.values().sum();
    assert!(reflected <= 3 * sent, "{reflected} bytes for {sent}");
    reflected
}

#[test]
fn oldest_candidate_is_displaced_by_real_participant() {
    let mut net = Net::new(3);
    net.add_with(|config| config.limits.candidates = 100);
    let writer = net.writer(0, TOPIC, QoS::default());
    let mut reader = None;
    for number in 0..3000 {
        let bytes = announcement(forged_prefix(number), from(number), Some(secs(20)));
        net.send(from(number), GROUP.parse().unwrap(), &bytes);
        net.run_for(Duration::from_micros(400));
        if number == 1000 {
            net.add();
            reader = Some(net.reader(1, TOPIC, QoS::default()));
        }
        if number == 1100 {
            assert!(net.is_matched(0, writer) && net.is_matched(1, reader.unwrap()), "within 40 ms");
        }
    }
}

#[test]
fn infinite_lease_is_limited() {
    let (mut net, writer, _) = pair(QoS::default());
    let prefix = net.nodes[1].participant.prefix();
    for lease in [Some(secs(86_400)), None] {
        let bytes = announcement(prefix, net.nodes[1].address, lease);
        net.send(net.nodes[1].address, net.nodes[0].address, &bytes);
        net.run_for(millis(10));
        net.nodes[1].stopped = true;
        net.run_for(secs(301));
        assert!(!net.is_matched(0, writer), "{lease:?}");
        net.nodes[1].stopped = false;
        net.run_until("the endpoints match again", secs(10), |net| net.is_matched(0, writer));
    }
}

#[test]
fn too_short_lease_causes_no_flapping() {
    let (mut net, ..) = pair(QoS::default());
    let mut greeting = announcement(forged_prefix(1), from(1), Some(Duration::ZERO));
    InfoDestination { prefix: net.nodes[1].participant.prefix() }.emit(&mut greeting);
    for _ in 0..20 {
        net.send(from(1), net.nodes[1].address, &greeting);
        net.run_for(millis(50));
    }
    let found =
        net.nodes[1].events.iter().filter(|event| matches!(event, Event::ParticipantFound(_))).count();
    assert_eq!(found, 2, "the other one, and once this");
}

#[test]
fn messages_from_other_address_renew_no_lease() {
    let (mut net, writer, _) = pair(QoS::default());
    net.nodes[1].stopped = true;
    let mut bytes = vec![];
    wire::begin(&mut bytes, VendorId::RUNNEL, net.nodes[1].participant.prefix());
    for _ in 0..22 {
        net.send(from(66), net.nodes[0].address, &bytes);
        net.run_for(secs(1));
    }
    assert!(!net.is_matched(0, writer));
}

#[test]
fn heartbeat_from_other_address_skips_no_data() {
    let (mut net, writer, reader) = pair(QoS::keep_all());
    let heartbeat = Heartbeat {
        reader: EntityId::UNKNOWN,
        writer,
        first: SequenceNumber(1_000_000),
        last: SequenceNumber(1_000_001),
        count: 1_000_000,
        is_final: true,
        liveliness: false,
    };
    let gap = Gap::range(EntityId::UNKNOWN, writer, SequenceNumber(1), SequenceNumber(1 << 60));
    let (from, to, bytes) = forged(&net, from(66), |out| {
        heartbeat.emit(out);
        gap.emit(out);
    });
    net.send(from, to, &bytes);
    net.run_for(millis(10));
    for number in 0..5 {
        net.write(0, writer, &sample(number, 20)).unwrap();
    }
    net.run_for(millis(50));
    assert_eq!(received(&net, reader), [0, 1, 2, 3, 4]);
}

#[test]
fn huge_ranges_cost_no_memory_or_time() {
    let (mut net, writer, reader) = pair(QoS::keep_all());
    let (huge, unknown) = (SequenceNumber(i64::MAX), EntityId::UNKNOWN);
    let from = net.nodes[0].address;
    let (from, to, bytes) = forged(&net, from, |out| {
        for count in 1000..1020 {
            let first = SequenceNumber::FIRST;
            let heartbeat =
                Heartbeat { reader, writer, first, last: huge, count, is_final: false, liveliness: false };
            heartbeat.emit(out);
            Gap::range(unknown, writer, SequenceNumber(10 + i64::from(count)), huge).emit(out);
        }
    });
    net.send(from, to, &bytes);
    net.run_for(secs(1));
    assert!(net.nodes[1].sent < 500, "{}", net.nodes[1].sent);
}

#[test]
fn acknowledgement_of_unsent_samples_is_harmless() {
    let (mut net, writer, reader) = pair(QoS::keep_all());
    let mut missing = SequenceSet::new(SequenceNumber(i64::MAX - 10));
    missing.insert(SequenceNumber(i64::MAX));
    let ack = AckNack { reader, writer, missing, count: 5000, is_final: false };
    let mut fragments = wire::FragmentSet::new(u32::MAX - 5);
    fragments.insert(u32::MAX);
    let nack = NackFrag { reader, writer, number: SequenceNumber(i64::MAX), missing: fragments, count: 5000 };
    let mut out = vec![];
    wire::begin(&mut out, VendorId::RUNNEL, net.nodes[1].participant.prefix());
    ack.emit(&mut out);
    nack.emit(&mut out);
    net.send(net.nodes[1].address, net.nodes[0].address, &out);
    net.run_for(millis(100));
    for number in 0..5 {
        net.write(0, writer, &sample(number, 20)).unwrap();
    }
    net.run_for(millis(500));
    assert_eq!(received(&net, reader), [0, 1, 2, 3, 4]);
}

#[test]
fn announcements_for_other_participants_are_refused() {
    let (mut net, writer, reader) = pair(QoS::default());
    let mut out = vec![];
    wire::begin(&mut out, VendorId::RUNNEL, net.nodes[0].participant.prefix());
    let mut key = vec![0, 3, 0, 0, 0x50, 0, 16, 0];
    key.extend(net.nodes[0].participant.prefix().with(EntityId::PARTICIPANT).to_bytes());
    key.extend([1, 0, 0, 0]);
    let qos = [0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0];
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    Data::emit(&mut out, ends, SequenceNumber(2), &qos, Payload::Key(&key));
    net.send(from(66), net.nodes[1].address, &out);
    net.run_for(millis(100));
    assert!(net.is_matched(1, reader) && net.is_matched(0, writer));
    net.send(net.nodes[0].address, net.nodes[1].address, &out);
    net.run_for(millis(1));
    assert!(!net.is_matched(1, reader), "from where it sends it is");
}

#[test]
fn invalid_announcements_are_reported_and_harmless() {
    let (mut net, writer, reader) = pair(QoS::default());
    let good = announcement(forged_prefix(1), from(1), None);
    for cut in 20..good.len() {
        net.send(from(1), net.nodes[1].address, &good[..cut]);
        let mut flipped = good.clone();
        flipped[cut] ^= 0x55;
        net.send(from(1), net.nodes[1].address, &flipped);
        net.run_for(millis(1));
    }
    let faults = || {
        net.nodes[1].events.iter().filter_map(|event| match event {
            Event::PeerFault(fault) => Some(fault),
            _ => None,
        })
    };
    assert!(faults().any(|fault| matches!(fault, PeerFault::MalformedMessage { .. })));
    assert!(faults().any(|fault| matches!(fault, PeerFault::BadAnnouncement { .. })));
    net.write(0, writer, &sample(1, 20)).unwrap();
    net.run_for(millis(50));
    assert_eq!(received(&net, reader), [1]);
}

#[test]
fn repeated_search_is_answered_at_limited_rate() {
    let mut net = Net::new(9);
    let (a, b) = (net.add(), net.add());
    net.run_for(secs(10));
    let (prefix, from, to) = (net.nodes[b].participant.prefix(), net.nodes[b].address, net.nodes[a].address);
    let mut answer_search = announcement(prefix, from, Some(secs(20)));
    InfoDestination { prefix: net.nodes[a].participant.prefix() }.emit(&mut answer_search);
    net.nodes[b].stopped = true;
    let sent = |net: &Net| net.nodes[a].sent;
    let before = sent(&net);
    for _ in 0..1000 {
        net.send(from, to, &answer_search);
        net.run_for(millis(1));
    }
    assert!((2..=4).contains(&(sent(&net) - before)), "{} answers", sent(&net) - before);
    // At another source address, nothing is answered.
    net.run_for(secs(1));
    let before = sent(&net);
    net.send(([10, 9, 9, 9], 7410).into(), to, &answer_search);
    net.run_for(millis(1));
    assert_eq!(sent(&net), before);
}
