//! Pairs that are paused at the reader, since an alternate path carries them.

use crate::net::{Net, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::{EntityId, SequenceNumber};

const TOPIC: &str = "rt/chatter";

fn numbers(net: &Net, reader: EntityId) -> Vec<u32> {
    net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// Creates a writer of the first participant, and readers of the second, to which it has sent sample 0.
fn matched(readers: usize, qos: QoS) -> (Net, EntityId, Vec<EntityId>) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let writer = net.writer(a, TOPIC, qos);
    let ids: Vec<EntityId> = (0..readers).map(|_| net.reader(b, TOPIC, qos)).collect();
    net.run_until("the endpoints match", secs(2), |net| {
        net.nodes[a].participant.matched(writer).len() == readers
            && ids.iter().all(|reader| net.is_matched(b, *reader))
    });
    net.run_for(secs(1));
    net.write(a, writer, &sample(0, 50)).unwrap();
    net.run_for(secs(1));
    assert!(ids.iter().all(|reader| numbers(&net, *reader) == [0]));
    (net, writer, ids)
}

fn set_paused(net: &mut Net, (reader, writer): (EntityId, EntityId), is_paused: bool) {
    let (now, writer) = (net.now, net.nodes[0].participant.prefix().with(writer));
    net.nodes[1].participant.set_paused(now, (reader, writer), is_paused);
    net.touch(1);
}

#[test]
fn paused_pair_holds_samples_unacknowledged() {
    let (mut net, writer, readers) = matched(1, QoS::keep_all());
    let pair = (readers[0], writer);
    set_paused(&mut net, pair, true);
    for number in 1..4 {
        net.write(0, writer, &sample(number, 50)).unwrap();
    }
    // It is longer than a datagram.
    net.write(0, writer, &sample(4, 100_000)).unwrap();
    net.run_for(secs(5));
    assert_eq!(numbers(&net, readers[0]), [0]);
    assert_eq!(net.nodes[0].participant.unacknowledged(writer), 4);
    set_paused(&mut net, pair, false);
    assert_eq!(numbers(&net, readers[0]), [0, 1, 2, 3, 4]);
    net.run_for(millis(100));
    assert_eq!(net.nodes[0].participant.unacknowledged(writer), 0);
}

/// The writer takes both for served by RTPS, and sends each datagram once.
#[test]
fn paused_pair_takes_nothing_that_serves_other_readers() {
    let (mut net, writer, readers) = matched(2, QoS::keep_all());
    let pair = (readers[0], writer);
    set_paused(&mut net, pair, true);
    (1..4).for_each(|number| drop(net.write(0, writer, &sample(number, 50)).unwrap()));
    net.run_for(secs(1));
    assert_eq!(numbers(&net, readers[1]), [0, 1, 2, 3]);
    set_paused(&mut net, pair, false);
    assert_eq!(numbers(&net, readers[0]), [0], "nothing was held");
    net.run_for(secs(5));
    assert_eq!(numbers(&net, readers[0]), [0, 1, 2, 3]);
}

/// As a publisher does that ends the link of one of them.
#[test]
fn resumed_reader_shares_datagrams_while_paused() {
    let (mut net, writer, readers) = matched(2, QoS::keep_all());
    let paused = net.nodes[1].participant.prefix().with(readers[0]);
    net.nodes[0].participant.suspend(writer, paused).unwrap();
    set_paused(&mut net, (readers[0], writer), true);
    net.write(0, writer, &sample(1, 50)).unwrap();
    net.run_for(secs(1));
    let (now, stamp) = (net.now, net.stamp());
    let pair = (readers[0], net.nodes[0].participant.prefix().with(writer));
    net.nodes[1].participant.note_received(now, pair, SequenceNumber(2), SequenceNumber(3));
    net.nodes[0].participant.resume(now, stamp, (writer, paused), SequenceNumber(3), []);
    net.touch(0);
    net.run_for(secs(1));
    for number in 2..6 {
        net.write(0, writer, &sample(number, 50)).unwrap();
        net.run_for(millis(5));
    }
    assert_eq!(numbers(&net, readers[1]), [0, 1, 2, 3, 4, 5]);
    set_paused(&mut net, (readers[0], writer), false);
    assert_eq!(numbers(&net, readers[0]), [0, 2, 3, 4, 5], "they were held");
}

#[test]
fn paused_best_effort_pair_takes_samples_to_all() {
    let (mut net, writer, readers) = matched(2, QoS::sensor_data());
    set_paused(&mut net, (readers[0], writer), true);
    (1..4).for_each(|number| drop(net.write(0, writer, &sample(number, 50)).unwrap()));
    net.run_for(secs(1));
    assert!(readers.iter().all(|reader| numbers(&net, *reader) == [0, 1, 2, 3]));
}

#[test]
fn paused_pairs_of_one_writer_share_datagrams() {
    let (mut net, writer, readers) = matched(2, QoS::keep_all());
    readers.iter().for_each(|reader| set_paused(&mut net, (*reader, writer), true));
    (1..4).for_each(|number| drop(net.write(0, writer, &sample(number, 50)).unwrap()));
    net.run_for(secs(1));
    for reader in readers {
        set_paused(&mut net, (reader, writer), false);
        assert_eq!(numbers(&net, reader), [0, 1, 2, 3]);
    }
}

#[test]
fn held_samples_of_paused_pair_come_before_its_end() {
    let (mut net, writer, readers) = matched(1, QoS::keep_all());
    set_paused(&mut net, (readers[0], writer), true);
    net.write(0, writer, &sample(1, 50)).unwrap();
    net.run_for(secs(1));
    net.remove(0, writer);
    net.run_for(secs(1));
    assert_eq!(numbers(&net, readers[0]), [0, 1]);
}
