//! Topics between two participants, on good and bad networks.

use crate::net::{Conditions, Net, Stranger, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{self, Data, EntityId, Heartbeat, Payload, SequenceNumber, VendorId};
use runnel_rtps::{Config, Event, Rate};

const TOPIC: &str = "rt/chatter";

/// Creates two participants with a matched writer and reader.
fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, qos);
    let reader = net.reader(b, TOPIC, qos);
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    (net, writer, reader)
}

#[test]
fn two_participants_match_within_ten_milliseconds() {
    let mut net = Net::new(1);
    net.add();
    net.run_for(secs(10));
    net.add();
    let writer = net.writer(0, TOPIC, QoS::default());
    let reader = net.reader(1, TOPIC, QoS::default());
    let elapsed = net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    assert!(elapsed < millis(10), "{elapsed:?}");
}

#[test]
fn written_samples_arrive_once_in_order() {
    for qos in [QoS::keep_last(10), QoS::keep_all(), QoS::sensor_data(), QoS::keep_last(5).transient_local()]
    {
        let (mut net, writer, reader) = pair(2, qos);
        for number in 0..100 {
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(1));
        }
        net.run_for(secs(1));
        let received: Vec<u32> = net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(received, (0..100).collect::<Vec<_>>(), "{qos:?}");
    }
}

#[test]
fn reliable_topics_deliver_once_on_bad_network() {
    for loss in [10, 30, 50] {
        for seed in 0..10 {
            let (mut net, writer, reader) = pair(seed, QoS::keep_all());
            net.conditions = Conditions::bad(loss);
            for number in 0..300 {
                net.write(0, writer, &sample(number, 1000)).unwrap();
                net.run_for(millis(4));
            }
            net.run_until("all samples arrive", secs(20), |net| net.texts(1, reader).len() >= 300);
            let received: Vec<u32> = net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect();
            assert_eq!(received, (0..300).collect::<Vec<_>>(), "loss {loss} seed {seed}");
            net.run_until("all is acknowledged", secs(20), |net| {
                net.nodes[0].participant.unacknowledged(writer) == 0
            });
        }
    }
}

#[test]
fn samples_of_any_length_arrive_whole() {
    let (mut net, writer, reader) = pair(3, QoS::keep_all());
    let lengths = (8..64).chain(1000..1500).chain([3000, 64_000, 100_000, 2_000_000]);
    for (number, len) in lengths.enumerate() {
        let sample = sample(number as u32, len);
        net.write(0, writer, &sample).unwrap();
        net.run_until("the sample arrives", secs(5), |net| net.texts(1, reader).len() > number);
        let received = net.texts(1, reader).pop().unwrap();
        assert!(received[..len] == sample && received.len() < len + 4, "{len}: {}", received.len());
    }
}

#[test]
fn long_samples_arrive_on_bad_network() {
    for loss in [5, 20, 40] {
        for seed in 0..5 {
            let (mut net, writer, reader) = pair(seed, QoS::keep_all());
            net.conditions = Conditions::bad(loss);
            for number in 0..10 {
                net.write(0, writer, &sample(number, 100_000)).unwrap();
                net.run_for(millis(10));
            }
            net.run_until("all samples arrive", secs(30), |net| net.texts(1, reader).len() >= 10);
            for (number, received) in net.texts(1, reader).iter().enumerate() {
                assert!(*received == sample(number as u32, 100_000), "loss {loss} seed {seed}: {number}");
            }
        }
    }
}

#[test]
fn late_joiner_gets_kept_samples_if_both_are_transient() {
    for (offered, asked, expected) in [
        (QoS::keep_last(3).transient_local(), QoS::keep_last(3).transient_local(), vec![7, 8, 9]),
        (QoS::keep_last(3).transient_local(), QoS::keep_last(3), vec![]),
        (QoS::keep_last(3), QoS::keep_last(3), vec![]),
        (QoS::keep_last(3).transient_local(), QoS::keep_last(3).best_effort(), vec![]),
    ] {
        let mut net = Net::new(5);
        let (a, b) = (net.add(), net.add());
        let writer = net.writer(a, TOPIC, offered);
        for number in 0..10 {
            net.write(a, writer, &sample(number, 20)).unwrap();
        }
        net.run_for(secs(1));
        let reader = net.reader(b, TOPIC, asked);
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(1, reader) && net.is_matched(0, writer)
        });
        net.run_for(millis(20));
        let received =
            |net: &Net| net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect::<Vec<_>>();
        assert_eq!(received(&net), expected, "{offered:?} {asked:?}");
        net.write(a, writer, &sample(10, 20)).unwrap();
        net.run_for(millis(20));
        assert_eq!(received(&net), [expected, vec![10]].concat(), "{offered:?} {asked:?}");
    }
}

#[test]
fn blackout_of_a_minute_heals_within_two_seconds() {
    for seed in 0..30 {
        let (mut net, writer, reader) = pair(seed, QoS::keep_last(10));
        net.blackout = true;
        net.run_for(secs(60) + millis(seed * 137));
        assert!(!net.is_matched(0, writer) && !net.is_matched(1, reader));
        net.blackout = false;
        let elapsed = net.run_until("the endpoints match", secs(5), |net| {
            net.is_matched(0, writer) && net.is_matched(1, reader)
        });
        assert!(elapsed < secs(2), "{elapsed:?}");
        net.write(0, writer, &sample(1, 20)).unwrap();
        net.run_for(millis(50));
        assert_eq!(net.texts(1, reader).len(), 1);
    }
}

#[test]
fn idle_pair_sends_only_announcements() {
    let (mut net, writer, _) = pair(6, QoS::default());
    net.write(0, writer, &sample(1, 20)).unwrap();
    net.run_for(secs(10));
    let before: Vec<usize> = net.nodes.iter().map(|node| node.sent).collect();
    net.run_for(secs(30));
    for (node, before) in net.nodes.iter().zip(before) {
        assert!(node.sent - before <= 11, "{}", node.sent - before);
    }
}

#[test]
fn new_addresses_are_announced_at_same_rate() {
    let (mut net, writer, reader) = pair(6, QoS::default());
    net.run_for(secs(10));
    for number in 0..5 {
        let (now, node) = (net.now, &mut net.nodes[0]);
        let more = ([10, 1, 0, number], 7410).into();
        node.participant.set_addresses(now, vec![node.address, more], vec![node.address.ip()]);
        net.touch(0);
        net.run_for(secs(5));
    }
    let before = net.nodes[0].sent;
    net.run_for(secs(30));
    assert!(net.nodes[0].sent - before <= 11, "{}", net.nodes[0].sent - before);
    assert!(net.is_matched(0, writer) && net.is_matched(1, reader));
    let peer = net.nodes[1].participant.peers().next().unwrap();
    assert_eq!(peer.data.unicast.len(), 2);
}

#[test]
fn farewell_ends_participant_immediately() {
    let (mut net, writer, _) = pair(7, QoS::default());
    net.close(1);
    net.run_for(millis(10));
    assert!(!net.is_matched(0, writer));
    assert!(net.nodes[0].events.iter().any(|event| matches!(event, Event::ParticipantLost(_))));
}

#[test]
fn ended_endpoint_unmatches_and_new_one_matches() {
    let (mut net, writer, reader) = pair(8, QoS::default());
    net.remove(1, reader);
    net.run_for(millis(20));
    assert!(!net.is_matched(0, writer));
    let again = net.reader(1, TOPIC, QoS::default());
    net.run_until("the endpoints match", secs(1), |net| {
        net.is_matched(0, writer) && net.is_matched(1, again)
    });
}

#[test]
fn burst_of_five_thousand_arrives() {
    let (mut net, writer, reader) = pair(9, QoS::keep_last(5000));
    for number in 0..5000 {
        net.write(0, writer, &sample(number, 50)).unwrap();
    }
    net.run_until("all samples arrive", secs(2), |net| net.texts(1, reader).len() == 5000);
}

#[test]
fn bytes_in_flight_fit_socket_buffer() {
    let (mut net, writer, reader) = pair(9, QoS::keep_last(5000));
    net.run_for(millis(20));
    net.nodes[1].stopped = true;
    let before = (net.nodes[0].sent, net.nodes[0].sent_bytes);
    for number in 0..3000 {
        net.write(0, writer, &sample(number, 500)).unwrap();
    }
    net.run_for(millis(5));
    let (sent, bytes) = (net.nodes[0].sent - before.0, net.nodes[0].sent_bytes - before.1);
    // The kernel's overhead per datagram is added.
    assert!(sent > 10 && bytes + sent * 1024 < 200 * 1024, "{sent} datagrams of {bytes} bytes");
    net.nodes[1].stopped = false;
    net.run_until("all samples arrive", secs(2), |net| net.texts(1, reader).len() == 3000);
}

#[test]
fn stopped_reader_does_not_delay_others() {
    let mut net = Net::new(10);
    let (a, b, c) = (net.add(), net.add(), net.add());
    let writer = net.writer(a, TOPIC, QoS::keep_last(10));
    let readers = [net.reader(b, TOPIC, QoS::default()), net.reader(c, TOPIC, QoS::default())];
    net.run_until("the endpoints match", secs(2), |net| net.nodes[0].participant.matched(writer).len() == 2);
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(b, readers[0]) && net.is_matched(c, readers[1])
    });
    net.run_for(millis(10));
    net.nodes[c].stopped = true;
    for number in 0..1000 {
        net.write(a, writer, &sample(number, 1000)).unwrap();
        net.run_for(millis(1));
    }
    assert_eq!(net.texts(b, readers[0]).len(), 1000);
    net.nodes[c].stopped = false;
    net.run_for(secs(3));
    let received: Vec<u32> = net.texts(c, readers[1]).iter().map(|bytes| number_of(bytes)).collect();
    assert!(received.ends_with(&(990..1000).collect::<Vec<_>>()), "{received:?}");
    let lost = net.nodes[c].events.iter().find(|event| matches!(event, Event::SampleLost { .. }));
    assert!(lost.is_some());
}

#[test]
fn samples_before_announcement_arrive() {
    let mut net = Net::new(12);
    let b = net.add();
    let reader = net.reader(b, TOPIC, QoS::default());
    let Stranger { prefix, address: from } = Stranger::discover(&mut net, 1);
    let to = net.nodes[b].address;
    let (writer, none) = (EntityId::user_writer(9), SequenceNumber::ZERO);
    let mut messages = |fill: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        wire::begin(&mut out, VendorId::RUNNEL, prefix);
        fill(&mut out);
        net.send(from, to, &out);
        net.run_for(millis(1));
    };
    let first = SequenceNumber::FIRST;
    let heartbeat =
        Heartbeat { reader, writer, first, last: none, count: 1, is_final: false, liveliness: false };
    messages(&|out| heartbeat.emit(out));
    let (announcer, listener) = (EntityId::PUBLICATIONS_WRITER, EntityId::PUBLICATIONS_READER);
    messages(&|out| Heartbeat { reader: listener, writer: announcer, ..heartbeat }.emit(out));
    let endpoint = Endpoint {
        guid: prefix.with(writer),
        topic: TOPIC.into(),
        type_name: "std_msgs::msg::dds_::String_".into(),
        qos: QoS::default(),
        has_history: true,
        exclusive: false,
        in_default_partition: true,
        representations: Vec::new(),
        expects_inline_qos: false,
        unicast: Vec::new(),
        user_data: Vec::new(),
    };
    let mut announcement = Vec::new();
    endpoint.emit(&mut announcement);
    let ends = (listener, announcer);
    messages(&|out| Data::emit(out, ends, first, &[], Payload::Value(&announcement)));
    let hello = sample(7, 20);
    messages(&|out| Data::emit(out, (reader, writer), first, &[], Payload::Value(&hello)));
    // Its disposal arrives before the next announcement, and only the inline QoS marks it.
    let mut gone = vec![0x70, 0, 16, 0];
    gone.extend(prefix.with(writer).to_bytes());
    gone.extend([0x71, 0, 4, 0, 0, 0, 0, 3, 1, 0, 0, 0]);
    let (second, third) = (SequenceNumber(2), SequenceNumber(3));
    messages(&|out| Data::emit(out, ends, third, &gone, Payload::Nothing));
    let known = |net: &Net| net.nodes[b].participant.endpoint(prefix.with(writer)).is_some();
    assert_eq!((net.texts(b, reader), known(&net)), (vec![hello], true));
    let mut messages = Vec::new();
    wire::begin(&mut messages, VendorId::RUNNEL, prefix);
    Data::emit(&mut messages, ends, second, &[], Payload::Value(&announcement));
    net.send(from, to, &messages);
    net.run_for(millis(1));
    assert!(!known(&net), "it is gone");
    // The same with the whole announcement as payload, which a disposal may have.
    let (fourth, fifth) = (SequenceNumber(4), SequenceNumber(5));
    for (number, qos) in [(fifth, &gone[..]), (fourth, &[])] {
        let mut messages = Vec::new();
        wire::begin(&mut messages, VendorId::RUNNEL, prefix);
        Data::emit(&mut messages, ends, number, qos, Payload::Value(&announcement));
        net.send(from, to, &messages);
        net.run_for(millis(1));
    }
    assert!(!known(&net), "it is gone again");
}

#[test]
fn keep_all_writer_is_full_until_acknowledged() {
    let mut net = Net::new(11);
    let a = net.add_with(|config| config.limits.kept = 20);
    let b = net.add();
    let writer = net.writer(a, TOPIC, QoS::keep_all());
    let reader = net.reader(b, TOPIC, QoS::keep_all());
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.nodes[b].stopped = true;
    for number in 0..20 {
        net.write(a, writer, &sample(number, 100)).unwrap();
    }
    let full = net.write(a, writer, &sample(20, 100)).unwrap_err();
    assert_eq!(full.reader.entity, reader);
    net.nodes[b].stopped = false;
    net.run_until("the writer has capacity", secs(2), |net| net.nodes[0].participant.full(writer).is_none());
    net.run_for(millis(200));
    assert_eq!(net.texts(b, reader).len(), 20);
}

#[test]
fn closed_participant_is_silent_and_idle() {
    let (mut net, writer, _) = pair(7, QoS::default());
    net.blackout = true;
    net.write(0, writer, &sample(0, 100)).unwrap();
    assert_eq!(net.nodes[0].participant.unacknowledged(writer), 1);
    net.close(0);
    net.blackout = false;
    net.nodes[0].stopped = false;
    let sent = net.nodes[0].sent;
    net.write(0, writer, &sample(1, 100)).unwrap();
    net.run_for(secs(60));
    let left = &net.nodes[0].participant;
    assert_eq!((net.nodes[0].sent, left.unacknowledged(writer), left.poll_timeout()), (sent, 0, None));
    assert_eq!(net.nodes[1].participant.peers().count(), 0);
}

#[test]
fn long_messages_keep_configured_rate() {
    for qos in [QoS::default(), QoS::sensor_data()] {
        let mut net = Net::new(8);
        let slow = |config: &mut Config| config.other_host.rate = Rate::steady(1_000_000);
        let (a, b) = (net.add_with(slow), net.add());
        let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
        net.run_until("the endpoints match", secs(2), |net| {
            net.is_matched(a, writer) && net.is_matched(b, reader)
        });
        net.write(a, writer, &sample(0, 500_000)).unwrap();
        let elapsed = net.run_until("it arrives", secs(2), |net| !net.texts(b, reader).is_empty());
        assert!((millis(450)..millis(600)).contains(&elapsed), "{elapsed:?} with {qos:?}");
    }
}
