//! Readers on hold: a writer sends them nothing until it is resumed from a given sample.

use crate::net::{Net, millis, number_of, options, sample, secs};
use runnel_core::qos::{Liveliness, QoS};
use runnel_rtps::wire::{EntityId, Guid, Message, SequenceNumber, Submessage};

const TOPIC: &str = "rt/chatter";

fn numbers(net: &Net, node: usize, reader: EntityId) -> Vec<u32> {
    net.texts(node, reader).iter().map(|bytes| number_of(bytes)).collect()
}

/// Creates a writer and a reader that it holds, and writes samples 0 to 7.
fn held(qos: QoS) -> (Net, EntityId, EntityId, Guid) {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    // Another reader makes the writer hold its samples.
    let writer = net.writer(a, TOPIC, qos);
    let reader = net.reader_with(b, options(TOPIC, qos));
    let guid = net.nodes[b].participant.prefix().with(reader);
    let is_matched = |net: &Net| net.nodes[a].participant.matched(writer).contains(&guid);
    net.run_until("it is matched", secs(4), is_matched);
    net.nodes[a].participant.hold(writer, guid);
    (0..8).for_each(|number| drop(net.write(a, writer, &sample(number, 100)).unwrap()));
    net.run_for(secs(1));
    assert_eq!(numbers(&net, b, reader), [0; 0]);
    (net, writer, reader, guid)
}

fn resume(net: &mut Net, (writer, reader): (EntityId, Guid), from: i64, samples: &[u32]) {
    let now = net.now;
    let samples = samples
        .iter()
        .map(|number| (SequenceNumber(i64::from(*number) + 1), now, sample(*number, 100).as_slice().into()));
    let stamp = net.stamp();
    net.nodes[0].participant.resume(now, stamp, (writer, reader), SequenceNumber(from), samples);
    net.touch(0);
}

#[test]
fn held_reader_receives_from_resumed_sample() {
    for qos in [QoS::keep_all(), QoS::keep_last(10), QoS::keep_last(10).transient_local()] {
        let (mut net, writer, reader, guid) = held(qos);
        resume(&mut net, (writer, guid), 8, &[7]);
        net.write(0, writer, &sample(8, 100)).unwrap();
        net.run_until("later samples arrive", secs(4), |net| numbers(net, 1, reader).last() == Some(&8));
        assert_eq!(numbers(&net, 1, reader), [7, 8], "{qos:?}");
    }
}

#[test]
fn held_reader_resumed_at_first_gets_kept_samples() {
    let (mut net, writer, reader, guid) = held(QoS::keep_last(10).transient_local());
    resume(&mut net, (writer, guid), 1, &[]);
    net.run_until("all samples arrive", secs(4), |net| numbers(net, 1, reader).len() == 8);
    assert_eq!(numbers(&net, 1, reader), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn reader_held_again_gets_no_unacknowledged_samples() {
    let (mut net, writer, reader, guid) = held(QoS::keep_all());
    resume(&mut net, (writer, guid), 9, &[]);
    net.write(0, writer, &sample(8, 100)).unwrap();
    net.run_until("the sample arrives", secs(4), |net| numbers(net, 1, reader) == [8]);
    net.pause_clock(1);
    net.write(0, writer, &sample(9, 100)).unwrap();
    net.nodes[0].participant.hold(writer, guid);
    net.resume_clock(1);
    net.run_for(secs(1));
    net.write(0, writer, &sample(10, 100)).unwrap();
    resume(&mut net, (writer, guid), 12, &[]);
    net.write(0, writer, &sample(11, 100)).unwrap();
    net.run_until("later samples arrive", secs(4), |net| numbers(net, 1, reader).last() == Some(&11));
    assert!(!numbers(&net, 1, reader).contains(&10));
}

/// Submessages of a writer in the recorded datagrams: samples, and announcements of samples.
fn announcements(net: &Net, writer: EntityId) -> usize {
    let is_announced = |submessage: &Submessage<'_>| match submessage {
        Submessage::Heartbeat(heartbeat) => {
            heartbeat.writer == writer && heartbeat.last >= SequenceNumber::FIRST
        }
        Submessage::Gap(gap) => gap.writer == writer,
        Submessage::Data(data) => data.writer == writer,
        Submessage::DataFrag(frag) => frag.writer == writer,
        _ => false,
    };
    let messages = net.record.iter().flatten().map(|(_, _, bytes)| Message::parse(bytes).unwrap());
    let submessages =
        messages.map(|message| message.submessages().map(Result::unwrap).filter(is_announced).count());
    submessages.sum()
}

/// The reader has missed samples, which another path is still to deliver: it would give them up.
#[test]
fn held_reader_gets_no_announcements() {
    let (mut net, writer, reader, guid) = held(QoS::keep_all());
    resume(&mut net, (writer, guid), 9, &[]);
    net.blackout = true;
    (8..12).for_each(|number| drop(net.write(0, writer, &sample(number, 100)).unwrap()));
    net.nodes[0].participant.hold(writer, guid);
    net.blackout = false;
    net.record = Some(Vec::new());
    net.run_for(secs(10));
    assert_eq!(announcements(&net, writer), 0);
    resume(&mut net, (writer, guid), 13, &[]);
    net.write(0, writer, &sample(12, 100)).unwrap();
    net.run_until("the next sample arrives", secs(4), |net| numbers(net, 1, reader) == [12]);
}

/// They announce no samples, and the reader keeps its position.
#[test]
fn held_reader_gets_liveliness_assertions() {
    let qos = QoS::keep_all().liveliness(Liveliness::ManualByTopic, Some(millis(500)));
    let (mut net, writer, reader, guid) = held(qos);
    resume(&mut net, (writer, guid), 9, &[]);
    net.write(0, writer, &sample(8, 100)).unwrap();
    net.run_until("the sample arrives", secs(4), |net| numbers(net, 1, reader) == [8]);
    net.nodes[0].participant.hold(writer, guid);
    net.nodes[1].events.clear();
    net.record = Some(Vec::new());
    for _ in 0..20 {
        let now = net.now;
        net.nodes[0].participant.assert_liveliness(now, writer);
        net.touch(0);
        net.run_for(millis(200));
    }
    assert_eq!(net.nodes[1].events, [], "it is alive, and nothing is corrected");
    assert_eq!(announcements(&net, writer), 0);
    resume(&mut net, (writer, guid), 10, &[]);
    net.write(0, writer, &sample(9, 100)).unwrap();
    net.run_until("the next sample arrives", secs(4), |net| numbers(net, 1, reader) == [8, 9]);
}
