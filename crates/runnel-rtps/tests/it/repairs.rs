//! Cost of repairs: each lost sample is sent again once, only to the reader that misses it.

use crate::net::{Conditions, Net, announcement, forged_prefix, message, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    AckNack, Data, EntityId, Heartbeat, InfoDestination, Payload, SequenceNumber, SequenceSet,
};
use runnel_rtps::{Event, Path, Rate};

const TOPIC: &str = "rt/chatter";

/// Creates a writer of the first participant and a reader of the second.
fn pair(seed: u64, offered: QoS, asked: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, offered), net.reader(b, TOPIC, asked));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.run_for(millis(100));
    (net, writer, reader)
}

fn received(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// A storm of repairs would occur when the network is congested.
#[test]
fn burst_losses_are_requested_and_sent_once() {
    for (loss, len, count, delay) in
        [(5, 1000, 300, millis(1)), (10, 1000, 300, millis(1)), (5, 40, 2000, millis(5))]
    {
        let (mut net, writer, reader) = pair(1, QoS::keep_last(5000), QoS::keep_all());
        net.conditions = Conditions { loss, delay, ..Conditions::GOOD };
        let (bytes, answers) = (net.nodes[0].sent_bytes, net.nodes[1].sent);
        (0..count).for_each(|number| drop(net.write(0, writer, &sample(number, len))));
        net.run_until("all samples arrive", secs(1), |net| received(net, reader).len() == count as usize);
        net.run_for(secs(1));
        let (bytes, answers) = (net.nodes[0].sent_bytes - bytes, net.nodes[1].sent - answers);
        let all = count as usize * (len + 40);
        assert!(bytes < all * (100 + 2 * loss as usize + 25) / 100, "{bytes} bytes for {all} at {loss} %");
        assert!(answers < count as usize / 4, "{answers} answers");
    }
}

#[test]
fn repeated_losses_cause_no_duplicates() {
    let qos = QoS::keep_last(10).transient_local();
    // All fit into one datagram, or each takes one and the first HEARTBEAT covers few of them.
    for (seed, len) in (0..10).flat_map(|seed| [(seed, 20), (seed, 1000)]) {
        let (mut net, writer, reader) = pair(seed, qos, qos);
        (0..10).for_each(|number| drop(net.write(0, writer, &sample(number, len))));
        net.run_for(secs(1));
        for _ in 0..3 {
            net.blackout = true;
            net.run_for(secs(45));
            net.blackout = false;
            net.conditions = Conditions { loss: 40, ..Conditions::GOOD };
            net.run_until("the endpoints match again", secs(60), |net| net.is_matched(1, reader));
        }
        net.conditions = Conditions::GOOD;
        net.run_for(secs(30));
        assert_eq!(received(&net, reader), (0..10).collect::<Vec<_>>());
    }
}

/// The slow reader is receiving the oldest, which is held for it.
#[test]
fn keep_all_never_displaces_missing_samples() {
    let qos = QoS::keep_all();
    let mut net = Net::new(1);
    net.add_with(|config| {
        config.other_host = Path { datagram: 1444, rate: Rate::steady(1_000_000) };
        config.limits.kept = 10;
    });
    // The first reader is on the writer's host, where nothing is paced.
    let host = net.nodes[0].address.ip();
    net.add_with(|config| (config.unicast, config.own_addresses) = (vec![(host, 7412).into()], vec![host]));
    net.add();
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.reader(2, TOPIC, qos.best_effort());
    net.run_until("the endpoints match", secs(3), |net| net.nodes[0].participant.matched(writer).len() == 2);
    net.run_for(millis(50));
    net.write(0, writer, &sample(0, 500_000)).unwrap();
    net.run_for(millis(20));
    net.nodes[1].stopped = true;
    let taken = (1..40).take_while(|number| net.write(0, writer, &sample(*number, 1000)).is_ok()).count();
    assert!(taken < 20, "{taken} of 39 were taken");
    net.nodes[1].stopped = false;
    net.run_for(secs(5));
    assert_eq!(received(&net, reader).len(), taken + 1);
    assert!(!net.nodes[1].events.iter().any(|event| matches!(event, Event::SampleLost { .. })));
}

#[test]
fn acknowledgements_of_best_effort_reader_are_ignored() {
    let (mut net, writer, reader) = pair(1, QoS::sensor_data(), QoS::sensor_data());
    net.write(0, writer, &sample(0, 100)).unwrap();
    net.run_for(millis(20));
    let mut missing = SequenceSet::new(SequenceNumber(1));
    assert!(missing.insert(SequenceNumber(1)));
    let prefix = net.nodes[1].participant.prefix();
    let nack = message(prefix, |out| {
        InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(out);
        AckNack { reader, writer, missing, count: 1, is_final: false }.emit(out);
    });
    let (now, from) = (net.now, net.nodes[1].address);
    let participant = &mut net.nodes[0].participant;
    participant.handle_datagram(now, from, &nack);
    let sent = (0..100).take_while(|_| participant.poll_transmit(now).is_some()).count();
    assert_eq!(sent, 0);
}

/// As with implementations that have a port for each reader.
#[test]
fn readers_of_one_participant_use_own_addresses() {
    let qos = QoS::sensor_data();
    let mut net = Net::new(1);
    net.add();
    let (writer, like) = (net.writer(0, TOPIC, qos), net.reader(0, TOPIC, qos));
    let (address, prefix) = ((std::net::Ipv4Addr::new(10, 9, 9, 1), 7410).into(), forged_prefix(1));
    let mut greeting = announcement(prefix, address, Some(secs(300)));
    let ours = net.nodes[0].participant.prefix();
    InfoDestination { prefix: ours }.emit(&mut greeting);
    let ports = [7501, 7502, 7503].map(|port| std::net::SocketAddr::new(address.ip(), port));
    let like = net.nodes[0].participant.endpoint(ours.with(like)).unwrap().clone();
    // Announces readers, each with a port; the third time it is the second again, with another port.
    let endpoint = |index: usize| Endpoint {
        guid: prefix.with(EntityId::user_reader(index.min(1) as u32 + 1)),
        unicast: vec![ports[index]],
        ..like.clone()
    };
    let announce = |out: &mut Vec<u8>, numbers: std::ops::RangeInclusive<i64>| {
        for number in numbers {
            let mut payload = vec![];
            endpoint(number as usize - 1).emit(&mut payload);
            let ends = (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER);
            Data::emit(out, ends, SequenceNumber(number), &[], Payload::Value(&payload));
            let (first, last) = (SequenceNumber(1), SequenceNumber(number));
            let (reader, writer) = ends;
            Heartbeat {
                reader,
                writer,
                first,
                last,
                count: number as u32,
                is_final: true,
                liveliness: false,
            }
            .emit(out);
        }
    };
    net.answering.insert(address);
    let mut say = |bytes: &[u8]| {
        net.send(address, net.nodes[0].address, bytes);
        net.run_for(millis(1));
        net.undeliverable.clear();
        net.write(0, writer, &sample(1, 100)).unwrap();
        net.run_for(millis(5));
        assert!(net.nodes[0].participant.matched(writer).len() <= 2);
        ports.map(|port| net.undeliverable.get(&port).is_some_and(|bytes| *bytes > 100))
    };
    assert_eq!(say(&greeting), [false; 3]);
    assert_eq!(say(&message(prefix, |out| announce(out, 1..=2))), [true, true, false]);
    assert_eq!(say(&message(prefix, |out| announce(out, 3..=3))), [true, false, true]);
}

/// A reader that was stopped is notified immediately, although another is still receiving the oldest and is notified later.
#[test]
fn displaced_samples_are_lost_to_unserved_readers() {
    let qos = QoS::keep_last(5);
    let mut net = Net::new(1);
    net.add_with(|config| config.other_host.rate = Rate::steady(1_000_000));
    // The first reader is on the writer's host, where nothing is paced.
    let host = net.nodes[0].address.ip();
    net.add_with(|config| (config.unicast, config.own_addresses) = (vec![(host, 7412).into()], vec![host]));
    net.add();
    let writer = net.writer(0, TOPIC, qos);
    let readers = [1, 2].map(|node| net.reader(node, TOPIC, qos));
    net.run_until("the endpoints match", secs(3), |net| net.nodes[0].participant.matched(writer).len() == 2);
    net.run_for(millis(50));
    net.write(0, writer, &sample(0, 400_000)).unwrap();
    net.run_for(millis(20));
    net.nodes[1].stopped = true;
    for number in 1..=50 {
        net.write(0, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(1));
    }
    net.nodes[1].stopped = false;
    for (node, time) in [(1, millis(100)), (2, secs(5))] {
        net.run_for(time);
        let lost = |event: &Event| if let Event::SampleLost { count, .. } = event { *count } else { 0 };
        let lost: u64 = net.nodes[node].events.iter().map(lost).sum();
        assert_eq!((net.texts(node, readers[node - 1]).len(), lost), (5, 46), "{node}");
    }
}

/// Adds a participant on the host of the first one.
fn same_host_node(net: &mut Net) -> usize {
    let host = net.nodes[0].address.ip();
    let addresses = vec![(host, 7412).into()];
    net.add_with(|config| (config.unicast, config.own_addresses) = (addresses, vec![host]))
}

/// Within a host, a sample longer than any datagram would never be sent, and be requested again and again.
#[test]
fn repaired_fragments_use_own_datagrams() {
    for (is_near, long, most) in [(false, 5_000, 1_444), (true, 100_000, 64_000)] {
        let mut net = Net::new(3);
        net.add();
        let b = if is_near { same_host_node(&mut net) } else { net.add() };
        let (writer, reader) = (net.writer(0, TOPIC, QoS::keep_all()), net.reader(b, TOPIC, QoS::keep_all()));
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(0, writer) && net.is_matched(b, reader)
        });
        net.conditions = Conditions { loss: 20, ..Conditions::GOOD };
        for number in 0..200 {
            net.write(0, writer, &sample(number, if number % 5 == 0 { long } else { 700 })).unwrap();
        }
        net.run_until("all samples arrive", secs(30), |net| received(net, reader).len() == 200);
        let longest = net.longest[&net.nodes[b].address];
        assert!(longest <= most, "{longest} bytes");
    }
}

/// Many are in flight when the first is requested.
#[test]
fn lost_fragments_on_slow_link_are_resent_once() {
    for (seed, loss) in [(1, 2), (2, 5), (3, 10)] {
        let (mut net, writer, reader) = pair(seed, QoS::keep_last(1), QoS::keep_last(1));
        net.conditions = Conditions { loss, delay: millis(10), ..Conditions::GOOD };
        let before = net.nodes[0].sent_bytes;
        net.write(0, writer, &sample(7, 1_000_000)).unwrap();
        net.run_until("the sample arrives", secs(10), |net| received(net, reader) == [7]);
        net.run_for(secs(1));
        let sent = net.nodes[0].sent_bytes - before;
        assert!(sent < 10_000 * (115 + 2 * loss as usize), "{sent} bytes at {loss} %");
    }
}

/// Only later samples show that a sample has lost its last fragments, and they never end.
#[test]
fn lost_fragments_in_steady_stream_are_repaired() {
    let (mut net, writer, reader) = pair(7, QoS::keep_last(20), QoS::keep_last(20));
    net.conditions = Conditions { loss: 3, ..Conditions::GOOD };
    for number in 0..500 {
        net.write(0, writer, &sample(number, 20_000)).unwrap();
        net.run_for(millis(2));
    }
    net.run_for(secs(1));
    assert_eq!(received(&net, reader), (0..500).collect::<Vec<_>>());
}
