//! Writers that send what readers cannot use, or before they are known.

use crate::net::{Net, Stranger, message, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    Data, DataFrag, EntityId, Heartbeat, InfoSource, InfoTimestamp, Payload, SequenceNumber, Timestamp,
    VERSION, VendorId,
};

const TOPIC: &str = "rt/chatter";

/// How many samples a reader of the second participant was told to have lost.
fn lost(net: &Net, reader: EntityId) -> u64 {
    let count = |event: &Event| match event {
        Event::SampleLost { reader: of, count, .. } if *of == reader => *count,
        _ => 0,
    };
    net.nodes[1].events.iter().map(count).sum()
}

/// A writer of the first participant and a reader of the second, which takes samples of so many bytes.
fn pair(qos: QoS, sample_bytes: usize) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    net.add_with(|config| config.limits.sample_bytes = sample_bytes);
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.run_until("they meet", secs(3), |net| net.is_matched(0, writer) && net.is_matched(1, reader));
    (net, writer, reader)
}

#[test]
fn a_sample_that_is_too_long_is_lost_and_does_not_stall_its_topic() {
    for first in [0, 3] {
        let (mut net, writer, reader) = pair(QoS::default(), 10_000);
        for number in 0..first {
            net.write(0, writer, &sample(number, 100)).unwrap();
        }
        net.write(0, writer, &sample(first, 20_000)).unwrap();
        net.run_for(millis(50));
        for number in first + 1..9 {
            net.write(0, writer, &sample(number, 100)).unwrap();
            net.run_for(millis(5));
        }
        net.run_for(secs(1));
        let heard: Vec<u32> = net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(heard, (0..9).filter(|number| *number != first).collect::<Vec<_>>());
        assert_eq!((lost(&net, reader), net.nodes[0].participant.unacknowledged(writer)), (1, 0));
        let before = net.nodes[0].sent_bytes;
        net.run_for(secs(10));
        let idle = net.nodes[0].sent_bytes - before;
        assert!(idle < 5_000, "{idle} bytes in 10 s of idleness");
    }
}

#[test]
fn each_sample_that_is_lost_in_pieces_is_counted_once() {
    let (mut net, writer, reader) = pair(QoS::sensor_data(), 10_000);
    net.write(0, writer, &sample(0, 100)).unwrap();
    net.run_for(millis(5));
    let (long, ends) = (sample(1, 3000), (EntityId::UNKNOWN, writer));
    let (from, to, who) = (net.nodes[0].address, net.nodes[1].address, net.nodes[0].participant.prefix());
    for number in 2..=6 {
        // The last alone comes as a whole.
        for fragment in 1..=if number == 6 { 3 } else { 2 } {
            let fill = |out: &mut Vec<u8>| {
                DataFrag::emit(out, ends, SequenceNumber(number), &[], &long, (fragment, 1000));
            };
            net.send(from, to, &message(who, fill));
            net.run_for(millis(1));
        }
    }
    assert_eq!((net.texts(1, reader).len(), lost(&net, reader)), (2, 4));
}

/// Tells a reader of the only node that the stranger's writer begins with the fourth sample, which is to come.
fn say_early(stranger: &Stranger, net: &mut Net, writer: EntityId, reader: EntityId) {
    let (first, last) = (SequenceNumber(4), SequenceNumber(3));
    let heartbeat = Heartbeat { reader, writer, first, last, count: 1, is_final: true, liveliness: false };
    stranger.say(net, &message(stranger.prefix, |out| heartbeat.emit(out)));
}

/// True if a reader gets the fourth sample of the stranger's writer at once, since it heard early where that begins.
fn is_heard(stranger: &Stranger, net: &mut Net, reader: EntityId) -> bool {
    let writer = EntityId::user_writer(1);
    say_early(stranger, net, writer, reader);
    let endpoint = stranger.endpoint(net, reader, writer);
    stranger.has(net, &endpoint);
    let ends = (reader, writer);
    let fill =
        |out: &mut Vec<u8>| Data::emit(out, ends, SequenceNumber(4), &[], Payload::Value(&sample(4, 20)));
    stranger.say(net, &message(stranger.prefix, fill));
    net.texts(0, reader).len() == 1
}

#[test]
fn a_writer_that_speaks_early_is_heard_whatever_others_that_never_came_have_said() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::default());
    let noisy = Stranger::meet(&mut net, 1);
    for number in 2..600 {
        say_early(&noisy, &mut net, EntityId::user_writer(number), reader);
    }
    let stranger = Stranger::meet(&mut net, 2);
    assert!(is_heard(&stranger, &mut net, reader));
}

#[test]
fn a_writer_that_speaks_early_is_heard_whatever_it_said_to_readers_that_are_gone() {
    let mut net = Net::new(1);
    net.add();
    let stranger = Stranger::meet(&mut net, 1);
    for _ in 0..600 {
        let reader = net.reader(0, TOPIC, QoS::default());
        say_early(&stranger, &mut net, EntityId::user_writer(9), reader);
        net.remove(0, reader);
    }
    let reader = net.reader(0, TOPIC, QoS::default());
    assert!(is_heard(&stranger, &mut net, reader));
}

/// It knew where to begin, and then nothing more is said of that.
#[test]
fn a_writer_that_speaks_early_is_heard_though_it_was_not_fit_to_be_met_before() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::default());
    let (stranger, writer) = (Stranger::meet(&mut net, 1), EntityId::user_writer(1));
    let endpoint = stranger.endpoint(&net, reader, writer);
    stranger.has(&mut net, &endpoint);
    assert!(net.is_matched(0, reader));
    // Number 2 of the same announcements.
    let unfit = Endpoint { qos: QoS::sensor_data(), ..endpoint };
    let mut payload = vec![];
    unfit.emit(&mut payload);
    let ends = (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER);
    let tell = |number, payload: &[u8]| {
        message(stranger.prefix, |out| {
            Data::emit(out, ends, SequenceNumber(number), &[], Payload::Value(payload));
        })
    };
    stranger.say(&mut net, &tell(2, &payload));
    assert!(!net.is_matched(0, reader));
    say_early(&stranger, &mut net, writer, reader);
    payload.clear();
    stranger.endpoint(&net, reader, writer).emit(&mut payload);
    stranger.say(&mut net, &tell(3, &payload));
    // It is asked again for all that it tells, since it has changed that.
    let (reader_of, writer_of) = ends;
    let (first, last) = (SequenceNumber(3), SequenceNumber(3));
    let heartbeat = Heartbeat {
        reader: reader_of,
        writer: writer_of,
        first,
        last,
        count: 9,
        is_final: true,
        liveliness: false,
    };
    stranger.say(&mut net, &message(stranger.prefix, |out| heartbeat.emit(out)));
    let guid = stranger.prefix.with(writer);
    assert_eq!(net.nodes[0].participant.next_due(reader, guid), Some(SequenceNumber(4)));
}

/// Source: RTPS 2.5, section 8.3.8.10.
#[test]
fn what_is_passed_on_of_another_has_no_time_but_its_own() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::sensor_data());
    let (stranger, writer) = (Stranger::meet(&mut net, 1), EntityId::user_writer(1));
    let endpoint = stranger.endpoint(&net, reader, writer);
    stranger.has(&mut net, &endpoint);
    let (prefix, time) = (stranger.prefix, Timestamp { seconds: 7, fraction: 0 });
    let of_stranger = InfoSource { version: VERSION, vendor: VendorId::RUNNEL, prefix };
    let bytes = message(prefix, |out| {
        let put = |out: &mut Vec<u8>, number| {
            let payload = sample(number, 20);
            let number = SequenceNumber(number.into());
            Data::emit(out, (reader, writer), number, &[], Payload::Value(&payload));
        };
        InfoTimestamp { timestamp: Some(time) }.emit(out);
        put(out, 1);
        of_stranger.emit(out);
        put(out, 2);
    });
    let (now, participant) = (net.now, &mut net.nodes[0].participant);
    participant.handle_datagram(now, stranger.address, &bytes);
    let stamps: Vec<_> =
        std::iter::from_fn(|| participant.poll_sample()).map(|sample| sample.stamp).collect();
    assert_eq!(stamps, [Some(time), None]);
}
