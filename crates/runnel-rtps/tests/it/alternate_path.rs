//! Pairs whose samples use an alternate path for a while, ordered by the delivery state machine, and vendor messages
//! between participants.

mod pair;

use crate::net;
use crate::net::{Conditions, Net, millis, number_of, sample, secs};
use pair::Pair;
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::wire::VendorId;

#[test]
fn switching_pair_on_bad_network_delivers_each_sample_once() {
    for (loss, seed) in [0, 10, 30].into_iter().flat_map(|loss| (0..20).map(move |seed| (loss, seed))) {
        for qos in [QoS::keep_all(), QoS::keep_all().transient_local(), QoS::keep_last(2000)] {
            let mut pair = Pair::new(seed, qos);
            pair.net.conditions = Conditions::bad(loss);
            for _ in 0..400 {
                match pair.net.random(20) {
                    0 if !pair.is_in_memory() => pair.switch_to_memory(),
                    0 => pair.return_to_rtps(),
                    1..5 => {
                        let some = pair.net.random(8) as usize;
                        pair.arrive(some);
                    }
                    5 => pair.net.run_for(millis(3)),
                    _ => pair.write(),
                }
            }
            for _ in 0..200 {
                pair.net.run_for(millis(100));
                pair.take_rtps();
                pair.arrive(usize::MAX);
                if pair.delivered.len() >= pair.written as usize {
                    break;
                }
            }
            pair.net.run_for(secs(1));
            pair.take_rtps();
            let written = pair.written;
            assert_eq!(pair.delivered, (0..written).collect::<Vec<_>>(), "loss {loss} seed {seed} {qos:?}");
            assert_eq!(pair.lost, 0, "loss {loss} seed {seed}");
        }
    }
}

#[test]
fn switching_best_effort_pair_delivers_each_sample_once() {
    let mut pair = Pair::new(3, QoS::sensor_data());
    for _ in 0..10 {
        (0..3).for_each(|_| pair.write());
        pair.net.run_for(millis(1));
        pair.take_rtps();
        pair.switch_to_memory();
        (0..5).for_each(|_| pair.write());
        pair.arrive(4);
        pair.return_to_rtps();
        pair.net.run_for(millis(1));
        pair.take_rtps();
    }
    assert_eq!((pair.delivered, pair.lost), ((0..80).collect::<Vec<_>>(), 0));
}

#[test]
fn best_effort_sample_that_rtps_loses_is_not_waited_for() {
    let mut pair = Pair::new(3, QoS::sensor_data());
    pair.write();
    pair.net.run_for(millis(1));
    pair.take_rtps();
    pair.net.blackout = true;
    (0..2).for_each(|_| pair.write());
    pair.switch_to_memory();
    (0..2).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    assert_eq!((pair.delivered, pair.lost), (vec![0, 3, 4], 2));
}

#[test]
fn suspended_reader_is_sent_and_held_nothing() {
    let mut pair = Pair::new(4, QoS::keep_last(10));
    pair.write();
    pair.net.run_for(secs(1));
    pair.switch_to_memory();
    pair.net.run_for(secs(1));
    let before = pair.net.nodes[0].sent;
    let bytes = sample(1, 100);
    for _ in 0..1000 {
        let back = pair.net.write(0, pair.writer, &bytes).unwrap();
        assert_eq!(back.as_deref(), Some(&bytes[..]), "it is free immediately");
    }
    pair.net.run_for(millis(500));
    assert_eq!(pair.net.nodes[0].participant.unacknowledged(pair.writer), 0);
    let sent = pair.net.nodes[0].sent - before;
    assert!(sent <= 1, "{sent} datagrams, where one announcement may be");
}

#[test]
fn other_readers_receive_while_one_is_suspended() {
    let mut pair = Pair::new(5, QoS::keep_all());
    let second = pair.net.reader(1, "rt/chatter", QoS::keep_all());
    let node = pair.net.add();
    let far = pair.net.reader(node, "rt/chatter", QoS::keep_all());
    let (writer, matched) = (pair.writer, |net: &Net, id| net.nodes[0].participant.matched(id).len() == 3);
    pair.net.run_until("all are matched", secs(2), |net| matched(net, writer));
    pair.switch_to_memory();
    (0..200).for_each(|_| pair.write());
    pair.net.run_for(secs(1));
    for (node, reader) in [(1, second), (node, far)] {
        let received: Vec<u32> = pair.net.texts(node, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(received, (0..200).collect::<Vec<_>>());
    }
    pair.take_rtps();
    assert!(pair.delivered.is_empty());
    pair.arrive(usize::MAX);
    assert_eq!(pair.delivered, (0..200).collect::<Vec<_>>());
    assert_eq!(pair.net.nodes[0].participant.unacknowledged(writer), 0);
}

#[test]
fn late_joiner_on_memory_gets_kept_samples_first() {
    let mut pair = Pair::new(6, QoS::keep_last(3).transient_local());
    pair.net.blackout = true;
    (0..5).for_each(|_| pair.write());
    pair.switch_to_memory();
    (0..2).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    assert!(pair.delivered.is_empty(), "earlier samples are still to come");
    pair.net.blackout = false;
    pair.net.run_for(secs(2));
    pair.take_rtps();
    // Of the first five the last were kept; the later ones have displaced all but one.
    assert_eq!((pair.delivered, pair.lost), (vec![4, 5, 6], 4));
}

#[test]
fn samples_beyond_the_credit_wait_for_rtps_at_the_writer() {
    let mut pair = Pair::new(7, QoS::keep_last(10_000));
    pair.net.run_for(secs(1));
    pair.net.blackout = true;
    (0..300).for_each(|_| pair.write());
    pair.switch_to_memory();
    (0..5000).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    assert!(pair.delivered.is_empty());
    assert_eq!((pair.held(), pair.in_flight()), (700, (0, 4300)));
    pair.net.blackout = false;
    pair.net.run_for(secs(2));
    pair.take_rtps();
    pair.arrive(usize::MAX);
    assert!(pair.delivered.iter().copied().eq(0..5300), "{} delivered", pair.delivered.len());
    assert_eq!(pair.lost, 0);
}

#[test]
fn memory_samples_trigger_no_requests() {
    let mut pair = Pair::new(13, QoS::keep_all());
    pair.net.run_for(secs(1));
    let sent = |pair: &Pair| [0, 1].map(|node| pair.net.nodes[node].sent);
    let before = sent(&pair);
    // More than fit in flight at a time.
    (0..1000).for_each(|_| pair.write());
    pair.switch_to_memory();
    (0..1000).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    for _ in 0..200 {
        pair.net.run_for(millis(10));
        pair.take_rtps();
        pair.arrive(usize::MAX);
    }
    assert!(pair.delivered.iter().copied().eq(0..2000));
    let [ours, theirs] = sent(&pair);
    assert!(ours - before[0] < 1100, "{} datagrams for 1000 samples", ours - before[0]);
    assert!(theirs - before[1] < 100, "{} acknowledgements", theirs - before[1]);
}

#[test]
fn resumed_reader_requests_no_memory_samples() {
    let mut pair = Pair::new(8, QoS::keep_all());
    pair.net.run_for(secs(1));
    pair.net.blackout = true;
    pair.write();
    pair.switch_to_memory();
    (0..3).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    pair.return_to_rtps();
    pair.write();
    pair.net.blackout = false;
    pair.net.run_for(secs(2));
    pair.take_rtps();
    assert_eq!((pair.delivered, pair.lost), ((0..5).collect::<Vec<_>>(), 0));
}

#[test]
fn memory_samples_are_not_repeated_after_rematch() {
    let mut pair = Pair::new(10, QoS::keep_last(10).transient_local());
    pair.write();
    pair.net.run_for(secs(1));
    pair.take_rtps();
    pair.switch_to_memory();
    (0..5).for_each(|_| pair.write());
    pair.arrive(usize::MAX);
    assert_eq!(pair.delivered, (0..6).collect::<Vec<_>>());
    pair.net.blackout = true;
    pair.net.run_for(secs(45));
    assert!(!pair.net.is_matched(1, pair.reader));
    // The reader's participant has noticed that they are unmatched.
    pair.end_at_reader();
    pair.net.blackout = false;
    let reader = pair.reader;
    pair.net.run_until("the endpoints match again", secs(60), |net| net.is_matched(1, reader));
    let bytes = sample(6, 100);
    pair.net.write(0, pair.writer, &bytes).unwrap();
    pair.net.run_for(secs(5));
    pair.take_rtps();
    assert_eq!((pair.delivered, pair.lost), ((0..7).collect::<Vec<_>>(), 0));
}

#[test]
fn vendor_message_reaches_only_its_runnel_peer() {
    let mut net = Net::new(10);
    let (a, b, c) = (net.add(), net.add(), net.add());
    net.run_for(secs(1));
    let (one, other) = (net.nodes[a].participant.prefix(), net.nodes[b].participant.prefix());
    assert!(net.nodes[a].participant.send_vendor_message(other, b"a word there"));
    assert!(!net.nodes[a].participant.send_vendor_message(other, &[0; 257]), "it is too long");
    net.touch(a);
    net.run_for(millis(10));
    let received = |net: &Net, node: usize| {
        let received = |event: &Event| matches!(event, Event::VendorMessage { .. }).then(|| event.clone());
        net.nodes[node].events.iter().filter_map(received).collect::<Vec<_>>()
    };
    assert_eq!(
        received(&net, b),
        [Event::VendorMessage { participant: one, bytes: b"a word there".to_vec() }]
    );
    assert_eq!(received(&net, c), []);
    let stranger = net::forged_prefix(1);
    assert!(!net.nodes[a].participant.send_vendor_message(stranger, b"none"));
    let peer = net.nodes[a].participant.peer(other).unwrap();
    assert_eq!(peer.data.vendor, VendorId::RUNNEL);
}

#[test]
fn unsent_vendor_message_is_replaced() {
    let mut net = Net::new(11);
    let (a, b) = (net.add(), net.add());
    net.run_for(secs(1));
    let other = net.nodes[b].participant.prefix();
    for count in 0..100u32 {
        assert!(net.nodes[a].participant.send_vendor_message(other, &count.to_le_bytes()));
    }
    net.touch(a);
    net.run_for(millis(10));
    let received = net.nodes[b].events.iter().filter(|event| matches!(event, Event::VendorMessage { .. }));
    assert_eq!(received.count(), 1, "only the last");
}
