//! Participants whose addresses change.

use crate::net::{
    Conditions, Net, announcement, endpoint_announcement, forged_prefix, message, millis, sample, secs,
};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::{Data, EntityId, GuidPrefix, InfoDestination, Payload, SequenceNumber};
use std::net::SocketAddr;

const TOPIC: &str = "rt/chatter";

fn pair(seed: u64) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, QoS::keep_all()), net.reader(b, TOPIC, QoS::keep_all()));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.run_for(secs(5));
    (net, writer, reader)
}

#[test]
fn participant_with_replaced_address_stays_matched() {
    for (loss, seed, mover) in
        (0..30).flat_map(|seed| [(0, seed, 0), (0, seed, 1), (20, seed, 0), (20, seed, 1)])
    {
        let (mut net, writer, reader) = pair(seed);
        net.conditions = Conditions { loss, ..Conditions::GOOD };
        net.move_to(mover, vec![]);
        net.run_for(millis(200));
        net.move_to(mover, vec![([10, 0, 7, 7], 7410).into()]);
        let begun = net.now;
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_until("the sample arrives", secs(10), |net| net.texts(1, reader).len() == 1);
        let elapsed = net.now.since(begun);
        assert!(
            elapsed < secs(if loss == 0 { 1 } else { 5 }),
            "loss {loss} seed {seed} {mover}: {elapsed:?}"
        );
        // The writer asks once per second by then, and request or answer may be lost.
        let most = secs(if loss == 0 { 1 } else { 8 });
        net.run_until("that is known", most, |net| net.nodes[0].participant.unacknowledged(writer) == 0);
        net.run_for(secs(30));
        let lost = |event: &Event| matches!(event, Event::ParticipantLost(_));
        assert!(
            !net.nodes.iter().any(|node| node.events.iter().any(lost)),
            "loss {loss} seed {seed} {mover}"
        );
    }
}

#[test]
fn move_claim_needs_our_prefix() {
    let (mut net, writer, reader) = pair(1);
    let prefix = net.nodes[0].participant.prefix();
    let other_address = ([10, 9, 9, 9], 7410).into();
    for _ in 0..10 {
        net.send(other_address, net.nodes[1].address, &announcement(prefix, other_address, Some(secs(20))));
        net.run_for(millis(10));
    }
    net.write(0, writer, &sample(1, 100)).unwrap();
    net.run_for(millis(20));
    assert_eq!((net.texts(1, reader).len(), net.undeliverable.get(&other_address)), (1, None));
}

/// Returns a forged announcement from `from` that a participant is there now, with the prefix of `to`.
fn claim(of: GuidPrefix, to: GuidPrefix, from: SocketAddr) -> Vec<u8> {
    let announced = announcement(of, from, Some(secs(300)));
    let (header, rest) = announced.split_at(20);
    let mut bytes = header.to_vec();
    InfoDestination { prefix: to }.emit(&mut bytes);
    bytes.extend(rest);
    bytes
}

/// Returns a farewell of a participant.
fn farewell(of: GuidPrefix) -> Vec<u8> {
    let guid = of.with(EntityId::PARTICIPANT).to_bytes();
    let key_hash = [&[0x70, 0, 16, 0][..], &guid].concat();
    let gone = [&key_hash[..], &[0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]].concat();
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    message(of, |out| Data::emit(out, ends, SequenceNumber(2), &gone, Payload::Nothing))
}

#[test]
fn answering_participant_is_not_moved_or_ended() {
    for (loss, pause) in [(0, 1), (0, 70), (0, 1000), (10, 70)] {
        let (mut net, writer, reader) = pair(1);
        net.conditions = Conditions { loss, ..Conditions::GOOD };
        let (us, them) = (net.nodes[0].participant.prefix(), net.nodes[1].participant.prefix());
        let attacker = ([10, 66, 6, 6], 7410).into();
        let before = net.nodes[0].sent;
        for _ in 0..50 {
            net.send(attacker, net.nodes[0].address, &claim(them, us, attacker));
            net.run_for(millis(pause));
            net.send(attacker, net.nodes[0].address, &farewell(them));
        }
        assert!(net.nodes[0].sent - before <= 200, "{} datagrams for 100", net.nodes[0].sent - before);
        for number in 0..20 {
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(1));
        }
        net.run_for(millis(100));
        assert_eq!(
            (net.texts(1, reader).len(), net.undeliverable.get(&attacker)),
            (20, None),
            "{loss} {pause}"
        );
    }
}

#[test]
fn endpoint_keeps_own_port_when_participant_moves() {
    let (mut net, writer, reader) = pair(1);
    let prefix = forged_prefix(1);
    let at = |port: u16| SocketAddr::from(([10, 9, 9, 9], port));
    let here = net.nodes[0].address;
    let mut greeting = announcement(prefix, at(7410), Some(secs(300)));
    InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
    net.answering.insert(at(7410));
    net.send(at(7410), here, &greeting);
    let guid = net.nodes[1].participant.prefix().with(reader);
    let mut endpoint = net.nodes[1].participant.endpoint(guid).unwrap().clone();
    (endpoint.guid, endpoint.unicast) = (prefix.with(reader), vec![at(7501)]);
    endpoint.qos = QoS::sensor_data();
    net.send(at(7410), here, &endpoint_announcement(&endpoint));
    net.run_until("the endpoints match", secs(1), |net| net.nodes[0].participant.matched(writer).len() == 2);
    net.send(at(7420), here, &announcement(prefix, at(7420), Some(secs(300))));
    net.run_for(millis(10));
    assert_eq!(net.nodes[0].participant.peer(prefix).map(|peer| peer.address()), Some(at(7420)));
    net.undeliverable.clear();
    net.write(0, writer, &sample(1, 1000)).unwrap();
    net.run_for(millis(5));
    let sent = |port| net.undeliverable.get(&at(port)).copied().unwrap_or(0);
    assert!(sent(7501) > 1000 && sent(7420) < 1000, "{:?}", net.undeliverable);
}

/// Another participant takes its place meanwhile. Some places are reserved for it.
#[test]
fn moved_peer_keeps_reserved_place() {
    let mut net = Net::new(1);
    net.add_with(|config| config.limits.participants = 8);
    let at = |host: u8| SocketAddr::from(([10, 66, 1, host], 7410));
    let name = |net: &mut Net, number: u8, from: SocketAddr| {
        let us = net.nodes[0].participant.prefix();
        net.send(from, net.nodes[0].address, &claim(forged_prefix(number.into()), us, from));
        net.run_for(millis(1));
    };
    let peer = |net: &Net, number: u8| {
        let peer = net.nodes[0].participant.peer(forged_prefix(number.into())).unwrap();
        (peer.address(), peer.is_proved())
    };
    for number in 0..7 {
        net.answering.insert(at(number));
        name(&mut net, number, at(number));
        assert_eq!(peer(&net, number), (at(number), number < 6));
    }
    net.answering.remove(&at(0));
    net.run_for(secs(1));
    name(&mut net, 0, at(100));
    net.run_for(millis(500));
    assert_eq!(peer(&net, 0), (at(100), false));
    name(&mut net, 6, at(6));
    assert_eq!(peer(&net, 6), (at(6), true));
    net.answering.insert(at(100));
    name(&mut net, 0, at(100));
    assert_eq!(peer(&net, 0), (at(100), true));
}
