//! Limits of events, participants and endpoint memory, and replacement of a participant that died.

use std::net::{IpAddr, SocketAddr};

use crate::net::{Net, announcement, forged_prefix, message, millis, options, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{Data, EntityId, GuidPrefix, Heartbeat, InfoDestination, Payload, SequenceNumber};
use runnel_rtps::{EndpointOptions, Event};

const TOPIC: &str = "rt/chatter";

/// Creates a matched writer and reader.
fn pair(qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    net.add();
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.run_until("the endpoints match", secs(3), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}

#[test]
fn loss_is_reported_despite_full_event_queue() {
    let mut net = Net::new(1);
    net.add();
    net.add();
    let qos = QoS::sensor_data();
    for _ in 0..70 {
        net.writer(0, TOPIC, qos);
        net.reader(1, TOPIC, qos);
    }
    net.run_for(secs(3));
    let count = |net: &Net, which: fn(&Event) -> bool| {
        net.nodes[1].events.iter().filter(|event| which(event)).count()
    };
    assert_eq!(count(&net, |event| matches!(event, Event::Matched { .. })), 70 * 70);
    net.close(0);
    net.run_for(secs(1));
    assert_eq!(count(&net, |event| matches!(event, Event::Unmatched { .. })), 70 * 70);
    assert_eq!(count(&net, |event| matches!(event, Event::EndpointLost(_))), 70);
    assert_eq!(count(&net, |event| matches!(event, Event::ParticipantLost(_))), 1);
}

#[test]
fn restarted_program_blocks_no_writer() {
    let (mut net, writer, _) = pair(QoS::keep_all());
    let config = {
        let mut config = net.config();
        config.unicast = vec![net.nodes[1].address];
        config.own_addresses = vec![net.nodes[1].address.ip()];
        config
    };
    net.nodes[1].stopped = true;
    net.run_for(millis(100));
    net.nodes[1].participant = runnel_rtps::ParticipantWithWriters::new(net.now, config);
    net.nodes[1].stopped = false;
    let reader = net.reader(1, TOPIC, QoS::keep_all());
    net.run_until("the endpoint is matched", secs(1), |net| net.is_matched(1, reader));
    net.run_for(millis(50));
    assert_eq!(net.nodes[0].participant.matched(writer).len(), 1, "the one that died is gone");
    for number in 0..3000 {
        net.write(0, writer, &sample(number, 100)).expect("no reader blocks the writer");
        net.run_for(millis(1));
    }
    assert_eq!(net.texts(1, reader).len(), 3000);
}

/// The fragments exceed a burst, and are paced.
#[test]
fn long_endpoint_announcements_arrive_paced() {
    let mut net = Net::new(1);
    net.add();
    net.add();
    for _ in 0..40 {
        let long = EndpointOptions { user_data: vec![b'x'; 4_000], ..options(TOPIC, QoS::default()) };
        net.reader_with(0, long);
    }
    let writer = net.writer(1, TOPIC, QoS::default());
    net.run_until("the endpoints match", secs(3), |net| net.nodes[1].participant.matched(writer).len() == 40);
    net.run_for(secs(1));
}

/// Adds a nonexistent participant at an address, which the first node proves if it has capacity.
fn add_nonexistent(net: &mut Net, number: u32, address: SocketAddr) -> GuidPrefix {
    let prefix = forged_prefix(number);
    let mut greeting = announcement(prefix, address, Some(secs(300)));
    InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
    net.answering.insert(address);
    net.send(address, net.nodes[0].address, &greeting);
    net.run_for(millis(1));
    prefix
}

/// Returns the address and count of a refusal event.
fn refusal(event: &Event) -> Option<(IpAddr, u64)> {
    match event {
        Event::ParticipantsRefused { address, count } => Some((address.ip(), *count)),
        _ => None,
    }
}

#[test]
fn one_address_cannot_exclude_other_participants() {
    let mut net = Net::new(1);
    net.add_with(|config| {
        (config.limits.participants, config.limits.participants_per_address) = (8, 4);
    });
    for number in 0..100 {
        add_nonexistent(&mut net, number, ([10, 9, 9, 9], 7410 + number as u16).into());
    }
    let proved = |net: &Net| net.nodes[0].participant.peers().filter(|peer| peer.is_proved()).count();
    assert_eq!(proved(&net), 4);
    let other = add_nonexistent(&mut net, 100, ([10, 9, 9, 8], 7410).into());
    assert!(net.nodes[0].participant.peer(other).is_some_and(|peer| peer.is_proved()));
    let refused: Vec<_> = net.nodes[0].events.iter().filter_map(refusal).collect();
    assert_eq!(refused, [([10, 9, 9, 9].into(), 1)], "reported immediately, and then at intervals");
}

#[test]
fn endpoint_announcements_stay_within_memory_share() {
    const MAX: usize = 400_000;
    let mut net = Net::new(1);
    net.add_with(|config| config.limits.endpoint_bytes = MAX);
    let like = net.reader(0, TOPIC, QoS::default());
    let own = net.nodes[0].participant.prefix().with(like);
    let like = net.nodes[0].participant.endpoint(own).unwrap().clone();
    let mut known = vec![];
    for number in 0..6 {
        let address = ([10, 9, 9, number as u8 / 2], 7410 + number as u16).into();
        let prefix = add_nonexistent(&mut net, number, address);
        for number in 1..=100 {
            let guid = prefix.with(EntityId::user_reader(number));
            let endpoint = Endpoint { guid, user_data: vec![1; 4000], ..like.clone() };
            let mut payload = vec![];
            endpoint.emit(&mut payload);
            let ends = (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER);
            let number = SequenceNumber(number.into());
            let (reader, writer, first, last) = (ends.0, ends.1, SequenceNumber::FIRST, number);
            let heartbeat =
                Heartbeat { reader, writer, first, last, count: 1, is_final: true, liveliness: false };
            let bytes = message(prefix, |out| {
                heartbeat.emit(out);
                Data::emit(out, ends, number, &[], Payload::Value(&payload));
            });
            net.send(address, net.nodes[0].address, &bytes);
        }
        net.run_for(millis(100));
        known.push(net.nodes[0].participant.peer(prefix).unwrap().endpoints.len());
    }
    // A quarter is the limit of one address.
    assert!((20..25).contains(&known[0]), "{known:?}");
    assert_eq!(known, [known[0], 0].repeat(3));
}
