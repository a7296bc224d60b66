//! Participants that announce a third party's address: it receives only what an unproved participant may cost.

use crate::net::{
    GROUP, Net, announcement, announcement_at, endpoint_announcement, forged_prefix, millis, sample, secs,
};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, InfoDestination};
use runnel_rtps::{Event, PeerFault};
use std::net::SocketAddr;

const TOPIC: &str = "rt/chatter";

/// A third party that sends nothing, and a participant that claims its address.
const VICTIM: &str = "10.9.0.1:7410";
const ATTACKER: &str = "10.9.0.7:7410";

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

/// Creates a participant with a long announcement, and another.
fn talkative_pair() -> Net {
    let mut net = Net::new(2);
    net.add();
    net.add();
    for topic in 0..50 {
        net.writer(0, &format!("rt/topic_{topic}"), QoS::latched());
    }
    net.run_for(secs(1));
    net
}

fn to_victim(net: &Net) -> usize {
    net.undeliverable.get(&at(VICTIM)).copied().unwrap_or(0)
}

/// Appends an INFO_DST, which shows that the sender knows our prefix.
fn for_first(net: &Net, mut bytes: Vec<u8>) -> Vec<u8> {
    InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut bytes);
    bytes
}

#[test]
fn third_party_traffic_stays_within_credit() {
    let mut net = talkative_pair();
    let (victim, attacker) = (at(VICTIM), at(ATTACKER));
    net.answering.insert(attacker);
    let mut sent = 0;
    let announced: [(&[SocketAddr], &[SocketAddr]); 3] =
        [(&[victim], &[victim]), (&[victim, attacker], &[victim]), (&[attacker], &[victim])];
    for number in 0..21 {
        let of = announced[number as usize % 3];
        let bytes = for_first(&net, announcement_at(forged_prefix(number), of, Some(secs(300))));
        sent += bytes.len();
        net.send(attacker, at(GROUP), &bytes);
    }
    net.run_for(secs(300));
    assert!(to_victim(&net) <= 3 * sent, "{} bytes for {sent}", to_victim(&net));
    assert!(net.undeliverable[&attacker] > 3 * sent, "the requested samples are sent to its real address");
}

#[test]
fn proved_peer_cannot_redirect_to_third_party() {
    let mut net = talkative_pair();
    let prefix = net.nodes[1].participant.prefix();
    let bytes = announcement(prefix, at(VICTIM), Some(secs(300)));
    net.send(net.nodes[1].address, net.nodes[0].address, &bytes);
    net.nodes[1].stopped = true;
    for number in 0..100 {
        net.writer(0, &format!("rt/more_{number}"), QoS::latched());
        net.run_for(millis(200));
    }
    net.run_for(secs(250));
    assert_eq!(to_victim(&net), 0);
}

#[test]
fn endpoint_at_unproved_address_uses_participant_address() {
    let mut net = talkative_pair();
    let writer = net.writer(0, TOPIC, QoS::default());
    let prefix = forged_prefix(1);
    net.answering.insert(at(ATTACKER));
    let message = for_first(&net, announcement(prefix, at(ATTACKER), Some(secs(300))));
    net.send(at(ATTACKER), net.nodes[0].address, &message);
    net.run_for(millis(10));
    // The announcement of a reader at the victim's address.
    let reader = net.reader(1, TOPIC, QoS::default());
    let mut endpoint =
        net.nodes[1].participant.endpoint(net.nodes[1].participant.prefix().with(reader)).unwrap().clone();
    endpoint.guid = prefix.with(reader);
    endpoint.unicast = vec![at(VICTIM)];
    let bytes = endpoint_announcement(&endpoint);
    net.send(at(ATTACKER), net.nodes[0].address, &bytes);
    net.run_until("the endpoint is matched", secs(1), |net| {
        net.nodes[0].participant.matched(writer).iter().any(|guid| guid.prefix == prefix)
    });
    for number in 0..50 {
        net.write(0, writer, &sample(number, 1000)).unwrap();
        net.run_for(millis(10));
    }
    assert_eq!(to_victim(&net), 0);
    assert!(net.undeliverable[&at(ATTACKER)] > 50_000, "it is received where its participant is");
}

/// Creates a participant that announces several addresses, and sends from one that may be none of them.
fn several_homes(from: &str) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(3);
    net.add();
    net.add_with(|config| config.unicast = vec![at("10.1.0.2:7410"), at("10.2.0.2:7410")]);
    net.nodes[1].addresses = vec![at(from)];
    let (writer, reader) = (net.writer(0, TOPIC, QoS::keep_all()), net.reader(1, TOPIC, QoS::keep_all()));
    (net, writer, reader)
}

#[test]
fn multihomed_participant_matches_at_any_source_address() {
    for home in ["10.1.0.2:7410", "10.2.0.2:7410"] {
        let (mut net, writer, reader) = several_homes(home);
        net.run_until("the endpoints match", secs(1), |net| {
            net.is_matched(0, writer) && net.is_matched(1, reader)
        });
        net.sent_to.clear();
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_for(millis(50));
        assert_eq!((net.texts(1, reader).len(), net.sent_to.contains_key(&at(home))), (1, true));
    }
}

#[test]
fn participant_matches_at_address_of_its_answers() {
    for home in ["10.1.0.2:7410", "10.2.0.2:7410"] {
        let (mut net, writer, reader) = several_homes("10.3.0.2:7410");
        net.run_for(millis(1));
        net.nodes[1].addresses = vec![at(home)];
        net.run_until("the endpoints match", secs(5), |net| {
            net.is_matched(0, writer) && net.is_matched(1, reader)
        });
        assert_eq!(net.nodes[0].participant.peers().next().unwrap().address(), at(home));
    }
}

#[test]
fn address_mismatch_is_reported_once() {
    let (mut net, writer, _) = several_homes("10.3.0.2:7410");
    net.run_for(secs(10));
    assert!(!net.is_matched(0, writer));
    let is_reported = |event: &&Event| match event {
        Event::PeerFault(PeerFault::AddressMismatch { source, .. }) => source.to_string() == "10.3.0.2",
        _ => false,
    };
    assert_eq!(net.nodes[0].events.iter().filter(is_reported).count(), 1, "{:?}", net.nodes[0].events);
}
