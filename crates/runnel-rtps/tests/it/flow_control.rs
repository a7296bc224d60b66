//! Flow control of readers whose user accepts a limited number of samples.

use crate::net::{
    Conditions, Net, announcement, endpoint_announcement, forged_prefix, message, millis, number_of, sample,
    secs,
};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{Data, EntityId, InfoDestination, Payload, SequenceNumber};

const TOPIC: &str = "rt/chatter";

/// Number of samples that the writer holds.
const KEPT: usize = 50;

/// Creates a writer of the first participant and a reader of the second without capacity.
fn pair(seed: u64, offered: QoS, asked: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let a = net.add_with(|config| config.limits.kept = KEPT);
    let b = net.add();
    let (writer, reader) = (net.writer(a, TOPIC, offered), net.reader(b, TOPIC, asked));
    give(&mut net, reader, 0);
    net.run_until("the endpoints match", secs(1), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    (net, writer, reader)
}

fn give(net: &mut Net, reader: EntityId, capacity: usize) {
    let now = net.now;
    net.nodes[1].participant.set_capacity(now, reader, capacity);
    net.touch(1);
}

fn received(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// Writes from `first` until the writer is full, or up to `end`. Returns the next number.
fn write_until_full(net: &mut Net, writer: EntityId, first: u32, end: u32, len: usize) -> u32 {
    (first..end).find(|number| net.write(0, writer, &sample(*number, len)).is_err()).unwrap_or(end)
}

#[test]
fn keep_all_writer_waits_for_reader_capacity() {
    let (mut net, writer, reader) = pair(1, QoS::keep_all(), QoS::keep_all());
    let next = write_until_full(&mut net, writer, 0, 1000, 10);
    assert_eq!(next as usize, KEPT);
    net.run_for(secs(20));
    assert!(received(&net, reader).is_empty(), "no capacity");
    assert!(net.write(0, writer, &sample(next, 10)).is_err(), "nothing is acknowledged");
    give(&mut net, reader, 7);
    assert_eq!(received(&net, reader), (0..7).collect::<Vec<_>>());
    net.run_for(millis(5));
    let next = write_until_full(&mut net, writer, next, 1000, 10);
    assert_eq!(next as usize, KEPT + 7, "all are acknowledged immediately");
    net.run_for(secs(1));
    assert_eq!(received(&net, reader).len(), 7);
}

#[test]
fn keep_all_writer_waits_at_byte_limit() {
    let (len, bytes) = (10_000, 100_000);
    for qos in [QoS::keep_all(), QoS::keep_all().transient_local()] {
        let mut net = Net::new(1);
        let a = net.add_with(|config| config.limits.kept_bytes = bytes);
        let b = net.add();
        let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
        net.run_until("the endpoints match", secs(1), |net| {
            net.is_matched(a, writer) && net.is_matched(b, reader)
        });
        for number in 0..20 {
            net.write(a, writer, &sample(number, len)).unwrap();
            net.run_for(millis(50));
        }
        net.nodes[b].stopped = true;
        let next = write_until_full(&mut net, writer, 20, 1000, len);
        assert!((bytes / len..=bytes / len + 1).contains(&(next as usize - 20)), "{qos:?}: up to {next}");
        net.nodes[b].stopped = false;
        net.run_for(secs(5));
        assert_eq!(received(&net, reader), (0..next).collect::<Vec<_>>());
        // Late joiners get no more than is held.
        let late = net.add();
        let late_reader = net.reader(late, TOPIC, qos);
        net.run_for(secs(2));
        let latched = net.texts(late, late_reader).len();
        let expected = if qos.is_latching() { bytes / len - 1..=bytes / len + 1 } else { 0..=0 };
        assert!(expected.contains(&latched), "{qos:?}: {latched} are held");
    }
}

#[test]
fn held_samples_are_delivered_when_writer_leaves() {
    for lost in [false, true] {
        let (mut net, writer, reader) = pair(1, QoS::keep_all(), QoS::keep_all());
        give(&mut net, reader, 2);
        (0..10).for_each(|number| drop(net.write(0, writer, &sample(number, 10)).unwrap()));
        net.run_for(secs(1));
        assert_eq!(received(&net, reader), [0, 1]);
        if lost {
            net.blackout = true;
            net.run_for(secs(45));
        } else {
            net.remove(0, writer);
        }
        net.run_until("it is gone", secs(5), |net| !net.is_matched(1, reader));
        assert_eq!(received(&net, reader), (0..10).collect::<Vec<_>>(), "lost by a lease {lost}");
        net.blackout = false;
        net.run_for(secs(60));
        assert_eq!(received(&net, reader).len(), 10);
    }
}

#[test]
fn little_capacity_on_bad_network_keeps_order() {
    for len in [10, 5_000] {
        let (mut net, writer, reader) = pair(2, QoS::keep_all(), QoS::keep_all());
        net.conditions = Conditions::bad(20);
        let mut next = 0;
        // Three go to the user at a time: at best it takes a hundred rounds.
        for _ in 0..400 {
            next = write_until_full(&mut net, writer, next, 300, len);
            net.run_for(millis(20));
            give(&mut net, reader, 3);
            if received(&net, reader).len() == 300 {
                break;
            }
        }
        assert_eq!(received(&net, reader), (0..300).collect::<Vec<_>>(), "samples of {len} bytes");
        let lost = |event: &Event| matches!(event, Event::SampleLost { .. });
        assert!(!net.nodes[1].events.iter().any(lost));
    }
}

#[test]
fn reader_without_capacity_costs_little() {
    let (mut net, writer, _) = pair(3, QoS::keep_all(), QoS::keep_all());
    write_until_full(&mut net, writer, 0, 1000, 1000);
    net.run_for(secs(5));
    let before = net.nodes[0].sent + net.nodes[1].sent;
    net.run_for(secs(60));
    let sent = net.nodes[0].sent + net.nodes[1].sent - before;
    assert!(sent < 60 * 6, "{sent} datagrams in a minute");
}

#[test]
fn several_writers_share_capacity() {
    let (mut net, writer, reader) = pair(4, QoS::keep_all(), QoS::keep_all());
    let other = net.writer(0, TOPIC, QoS::keep_all());
    net.run_until("the endpoints match", secs(1), |net| net.is_matched(0, other));
    for number in 0..20 {
        net.write(0, writer, &sample(number, 10)).unwrap();
        net.write(0, other, &sample(100 + number, 10)).unwrap();
    }
    net.run_for(millis(100));
    give(&mut net, reader, 10);
    let of_first = received(&net, reader).iter().filter(|number| **number < 100).count();
    assert_eq!((received(&net, reader).len(), of_first), (10, 5));
}

#[test]
fn best_effort_samples_do_not_wait_for_capacity() {
    let (mut net, writer, reader) = pair(5, QoS::keep_all().best_effort(), QoS::keep_all().best_effort());
    for number in 0..5 {
        net.write(0, writer, &sample(number, 10)).unwrap();
    }
    net.run_for(millis(100));
    assert_eq!(received(&net, reader), [0, 1, 2, 3, 4]);
}

#[test]
fn keep_last_writer_continues_and_held_samples_stay() {
    let (mut net, writer, reader) = pair(6, QoS::keep_last(4), QoS::keep_all());
    for number in 0..40 {
        net.write(0, writer, &sample(number, 10)).unwrap();
        net.run_for(millis(1));
    }
    net.run_for(secs(3));
    give(&mut net, reader, 100);
    assert_eq!(received(&net, reader), (0..40).collect::<Vec<_>>());
}

#[test]
fn participant_with_all_held_memory_yields() {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add_with(|config| config.limits.waiting_bytes = 1 << 20));
    let qos = QoS::keep_all();
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    let taken = net.reader(b, "rt/taken", qos);
    net.run_until("the endpoints match", secs(3), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    // Its writer never sends its first sample.
    let (prefix, from, to) = (forged_prefix(1), ([10, 9, 9, 9], 7410).into(), net.nodes[b].address);
    let us = net.nodes[b].participant.prefix();
    let mut greeting = announcement(prefix, from, Some(secs(300)));
    InfoDestination { prefix: us }.emit(&mut greeting);
    net.send(from, to, &greeting);
    let like = net.nodes[b].participant.endpoint(us.with(taken)).unwrap().clone();
    let guid = prefix.with(EntityId::user_writer(1));
    net.send(from, to, &endpoint_announcement(&Endpoint { guid, ..like }));
    net.run_until("the endpoint is matched", secs(1), |net| {
        net.nodes[b].participant.matched(taken) == [guid]
    });
    for number in 2..80 {
        let bytes = message(prefix, |out| {
            let body = Payload::Value(&[0; 40_000]);
            Data::emit(out, (taken, guid.entity), SequenceNumber(number), &[], body);
        });
        net.send(from, to, &bytes);
    }
    net.run_for(millis(10));
    net.conditions = Conditions { loss: 10, delay: millis(1), ..Conditions::GOOD };
    let before = net.nodes[a].sent_bytes;
    // Little of it is lost, and requested once or twice.
    write_until_full(&mut net, writer, 0, 300, 1000);
    net.run_until("all samples arrive", secs(20), |net| received(net, reader).len() == 300);
    let sent = net.nodes[a].sent_bytes - before;
    assert!(sent < 450_000, "{sent} bytes for 300,000");
}
