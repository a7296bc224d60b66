//! Limits on the cost of unproved participants.

use std::net::SocketAddr;

use crate::net::{
    Net, acknowledgement, announcement, announcement_at, forged_prefix, message, millis, sample, secs,
};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    AckNack, Data, EntityId, GuidPrefix, Heartbeat, InfoDestination, Message, Payload, SequenceNumber,
    SequenceSet, Submessage,
};

const TOPIC: &str = "rt/chatter";

/// Adds a participant that has named the only node, and answers nothing.
fn named(net: &mut Net, number: u32, at: SocketAddr) -> GuidPrefix {
    let prefix = forged_prefix(number);
    let mut greeting = announcement(prefix, at, Some(secs(300)));
    InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
    net.send(at, net.nodes[0].address, &greeting);
    net.run_for(millis(1));
    prefix
}

/// Announces readers, each equal to the node's own.
fn announce_readers(net: &mut Net, prefix: GuidPrefix, at: SocketAddr, like: EntityId, count: u32) {
    let own = net.nodes[0].participant.prefix().with(like);
    let like = net.nodes[0].participant.endpoint(own).unwrap().clone();
    let (reader, writer) = (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER);
    for number in 1..=count {
        let endpoint = Endpoint { guid: prefix.with(EntityId::user_reader(number)), ..like.clone() };
        let mut payload = vec![];
        endpoint.emit(&mut payload);
        let (first, last) = (SequenceNumber::FIRST, SequenceNumber(count.into()));
        let heartbeat =
            Heartbeat { reader, writer, first, last, count: 1, is_final: true, liveliness: false };
        let bytes = message(prefix, |out| {
            heartbeat.emit(out);
            Data::emit(out, (reader, writer), SequenceNumber(number.into()), &[], Payload::Value(&payload));
        });
        net.send(at, net.nodes[0].address, &bytes);
    }
    net.run_for(millis(10));
}

#[test]
fn unproved_peer_announces_few_endpoints_until_proved() {
    let mut net = Net::new(1);
    net.add();
    let like = net.reader(0, TOPIC, QoS::default());
    let at = ([10, 9, 9, 9], 7410).into();
    let prefix = named(&mut net, 1, at);
    announce_readers(&mut net, prefix, at, like, 200);
    let known = |net: &Net| net.nodes[0].participant.peer(prefix).unwrap().endpoints.len();
    assert_eq!(known(&net), 64);
    net.answering.insert(at);
    named(&mut net, 1, at);
    assert!(net.nodes[0].participant.peer(prefix).unwrap().is_proved());
    assert!(!net.nodes[0].participant.is_complete(prefix));
    announce_readers(&mut net, prefix, at, like, 200);
    assert_eq!(known(&net), 200);
}

#[test]
fn peers_with_many_endpoints_match_immediately() {
    let mut net = Net::new(1);
    let _ = [net.add(), net.add()];
    for _ in 0..200 {
        net.reader(1, TOPIC, QoS::default());
    }
    let writer = net.writer(0, TOPIC, QoS::default());
    net.run_until("all are matched", millis(100), |net| {
        net.nodes[0].participant.matched(writer).len() == 200
    });
}

const ATTACKER: ([u8; 4], u16) = ([10, 66, 0, 1], 7410);
const VICTIM: ([u8; 4], u16) = ([10, 77, 0, 1], 7410);

fn is_proved(net: &Net, prefix: GuidPrefix) -> bool {
    net.nodes[0].participant.peer(prefix).is_some_and(|peer| peer.is_proved())
}

/// Returns acknowledgements of the only node's datagrams to an address.
fn answers(net: &mut Net, at: SocketAddr) -> Vec<Vec<u8>> {
    let came = net.mailboxes.insert(at, vec![]).unwrap_or_default();
    came.iter().filter_map(|(_, bytes)| acknowledgement(bytes)).collect()
}

fn farewell(of: GuidPrefix) -> Vec<u8> {
    let guid = of.with(EntityId::PARTICIPANT).to_bytes();
    let gone = [&[0x70, 0, 16, 0][..], &guid, &[0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]].concat();
    let ends = (EntityId::SPDP_READER, EntityId::SPDP_WRITER);
    message(of, |out| Data::emit(out, ends, SequenceNumber(2), &gone, Payload::Nothing))
}

#[test]
fn numbers_of_one_address_prove_no_other() {
    let mut net = Net::new(1);
    net.add();
    let here = net.nodes[0].address;
    let (attacker, victim) = (ATTACKER.into(), VICTIM.into());
    net.mailboxes.insert(attacker, vec![]);
    let prefix = named(&mut net, 1, attacker);
    let answers = answers(&mut net, attacker);
    assert!(!answers.is_empty());
    net.send(attacker, here, &farewell(prefix));
    net.run_for(millis(1));
    assert_eq!(named(&mut net, 1, victim), prefix);
    for answer in answers {
        net.send(victim, here, &answer);
        net.run_for(millis(1));
    }
    assert_eq!(net.nodes[0].participant.peer(prefix).map(|peer| peer.address()), Some(victim));
    assert!(!is_proved(&net, prefix));
}

#[test]
fn proved_peer_cannot_direct_samples_to_unproved_address() {
    let (attacker, victim): (SocketAddr, SocketAddr) = (ATTACKER.into(), VICTIM.into());
    let both = [attacker, victim];
    let reordered = [victim, attacker];
    let lists: [(&[SocketAddr], &[SocketAddr]); 4] =
        [(&reordered, &reordered), (&[victim], &[victim]), (&both, &[victim]), (&both, &reordered)];
    for (metatraffic, user) in lists {
        let mut net = Net::new(1);
        net.add();
        let here = net.nodes[0].address;
        let writer = net.writer(0, TOPIC, QoS::keep_last(10));
        let like = net.reader(0, TOPIC, QoS::default());
        net.answering.insert(attacker);
        let prefix = forged_prefix(1);
        let mut greeting = announcement_at(prefix, (&both, &both), Some(secs(300)));
        InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
        net.send(attacker, here, &greeting);
        net.run_for(millis(1));
        assert!(is_proved(&net, prefix));
        announce_readers(&mut net, prefix, attacker, like, 1);
        net.run_for(secs(1));
        net.send(victim, here, &announcement_at(prefix, (metatraffic, user), Some(secs(300))));
        for number in 0..100 {
            net.write(0, writer, &sample(number, 1000)).unwrap();
            net.run_for(millis(10));
        }
        let sent = net.undeliverable.get(&victim).copied().unwrap_or(0);
        assert!(sent <= 1024, "{metatraffic:?} {user:?}: {sent} bytes");
    }
}

#[test]
fn guessing_numbers_blocks_proof_temporarily() {
    let mut net = Net::new(1);
    net.add();
    let (here, at) = (net.nodes[0].address, SocketAddr::from(ATTACKER));
    net.mailboxes.insert(at, vec![]);
    let prefix = named(&mut net, 1, at);
    let acknowledge = |net: &mut Net, writer: EntityId, base: SequenceNumber| {
        let us = net.nodes[0].participant.prefix();
        let bytes = message(prefix, |out| {
            InfoDestination { prefix: us }.emit(out);
            let (reader, missing) = (EntityId::PUBLICATIONS_READER, SequenceSet::new(base));
            AckNack { reader, writer, missing, count: 1, is_final: true }.emit(out);
        });
        net.send(at, here, &bytes);
        net.run_for(millis(1));
    };
    let firsts = |net: &mut Net| {
        let came = net.mailboxes.insert(at, vec![]).unwrap_or_default();
        let of = |bytes: &[u8]| {
            let heartbeat = |submessage| match submessage {
                Submessage::Heartbeat(heartbeat) => Some(heartbeat.first),
                _ => None,
            };
            Message::parse(bytes).ok()?.submessages().flatten().find_map(heartbeat)
        };
        came.iter().filter_map(|(_, bytes)| of(bytes)).collect::<Vec<_>>()
    };
    let first = firsts(&mut net)[0];
    acknowledge(&mut net, EntityId::MESSAGE_WRITER, first);
    assert!(!is_proved(&net, prefix), "signs of life prove nothing");
    for try_ in 1..=8 {
        acknowledge(&mut net, EntityId::PUBLICATIONS_WRITER, SequenceNumber(first.0 + 100 + try_));
    }
    acknowledge(&mut net, EntityId::PUBLICATIONS_WRITER, first);
    assert!(!is_proved(&net, prefix));
    net.run_for(secs(3));
    acknowledge(&mut net, EntityId::PUBLICATIONS_WRITER, first);
    assert!(is_proved(&net, prefix));
}
