//! Writers that send unusable samples, or send before they are discovered.

use crate::net::{Net, Stranger, message, millis, number_of, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::Event;
use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{
    Data, DataFrag, EntityId, Heartbeat, InfoSource, InfoTimestamp, Payload, SequenceNumber, Timestamp,
    VERSION, VendorId,
};

const TOPIC: &str = "rt/chatter";

/// Returns the number of reported losses of a reader of the second participant.
fn lost(net: &Net, reader: EntityId) -> u64 {
    let count = |event: &Event| match event {
        Event::SampleLost { reader: of, count, .. } if *of == reader => *count,
        _ => 0,
    };
    net.nodes[1].events.iter().map(count).sum()
}

/// Creates a writer of the first participant and a reader of the second, with a limit of sample bytes.
fn pair(qos: QoS, sample_bytes: usize) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(1);
    net.add();
    net.add_with(|config| config.limits.sample_bytes = sample_bytes);
    let (writer, reader) = (net.writer(0, TOPIC, qos), net.reader(1, TOPIC, qos));
    net.run_until("the endpoints match", secs(3), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    (net, writer, reader)
}

#[test]
fn overlong_sample_is_lost_without_stall() {
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
        let received: Vec<u32> = net.texts(1, reader).iter().map(|bytes| number_of(bytes)).collect();
        assert_eq!(received, (0..9).filter(|number| *number != first).collect::<Vec<_>>());
        assert_eq!((lost(&net, reader), net.nodes[0].participant.unacknowledged(writer)), (1, 0));
        let before = net.nodes[0].sent_bytes;
        net.run_for(secs(10));
        let idle = net.nodes[0].sent_bytes - before;
        assert!(idle < 5_000, "{idle} bytes in 10 s of idleness");
    }
}

#[test]
fn incomplete_lost_sample_counts_once() {
    let (mut net, writer, reader) = pair(QoS::sensor_data(), 10_000);
    net.write(0, writer, &sample(0, 100)).unwrap();
    net.run_for(millis(5));
    let (long, ends) = (sample(1, 3000), (EntityId::UNKNOWN, writer));
    let (from, to, prefix) = (net.nodes[0].address, net.nodes[1].address, net.nodes[0].participant.prefix());
    for number in 2..=6 {
        // Only the last arrives completely.
        for fragment in 1..=if number == 6 { 3 } else { 2 } {
            let fill = |out: &mut Vec<u8>| {
                DataFrag::emit(out, ends, SequenceNumber(number), &[], &long, (fragment, 1000));
            };
            net.send(from, to, &message(prefix, fill));
            net.run_for(millis(1));
        }
    }
    assert_eq!((net.texts(1, reader).len(), lost(&net, reader)), (2, 4));
}

/// Sends a reader of the only node the early HEARTBEAT of the stranger's writer, whose first sample is the fourth,
/// which is still to come.
fn send_early_heartbeat(stranger: &Stranger, net: &mut Net, writer: EntityId, reader: EntityId) {
    let (first, last) = (SequenceNumber(4), SequenceNumber(3));
    let heartbeat = Heartbeat { reader, writer, first, last, count: 1, is_final: true, liveliness: false };
    stranger.send(net, &message(stranger.prefix, |out| heartbeat.emit(out)));
}

/// Returns whether a reader receives the fourth sample of the stranger's writer immediately, because the early HEARTBEAT
/// stated the first number.
fn receives_fourth_immediately(stranger: &Stranger, net: &mut Net, reader: EntityId) -> bool {
    let writer = EntityId::user_writer(1);
    send_early_heartbeat(stranger, net, writer, reader);
    let endpoint = stranger.endpoint(net, reader, writer);
    stranger.announce(net, &endpoint);
    let ends = (reader, writer);
    let fill =
        |out: &mut Vec<u8>| Data::emit(out, ends, SequenceNumber(4), &[], Payload::Value(&sample(4, 20)));
    stranger.send(net, &message(stranger.prefix, fill));
    net.texts(0, reader).len() == 1
}

#[test]
fn early_heartbeat_survives_those_of_unknown_writers() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::default());
    let noisy = Stranger::discover(&mut net, 1);
    for number in 2..600 {
        send_early_heartbeat(&noisy, &mut net, EntityId::user_writer(number), reader);
    }
    let stranger = Stranger::discover(&mut net, 2);
    assert!(receives_fourth_immediately(&stranger, &mut net, reader));
}

#[test]
fn early_heartbeat_survives_those_to_ended_readers() {
    let mut net = Net::new(1);
    net.add();
    let stranger = Stranger::discover(&mut net, 1);
    for _ in 0..600 {
        let reader = net.reader(0, TOPIC, QoS::default());
        send_early_heartbeat(&stranger, &mut net, EntityId::user_writer(9), reader);
        net.remove(0, reader);
    }
    let reader = net.reader(0, TOPIC, QoS::default());
    assert!(receives_fourth_immediately(&stranger, &mut net, reader));
}

/// The HEARTBEAT stated the first number, and nothing repeats it.
#[test]
fn early_heartbeat_counts_after_incompatible_qos() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::default());
    let (stranger, writer) = (Stranger::discover(&mut net, 1), EntityId::user_writer(1));
    let endpoint = stranger.endpoint(&net, reader, writer);
    stranger.announce(&mut net, &endpoint);
    assert!(net.is_matched(0, reader));
    // Number 2 of the same announcements.
    let unfit = Endpoint { qos: QoS::sensor_data(), ..endpoint };
    let mut payload = vec![];
    unfit.emit(&mut payload);
    let ends = (EntityId::PUBLICATIONS_READER, EntityId::PUBLICATIONS_WRITER);
    let announce = |number, payload: &[u8]| {
        message(stranger.prefix, |out| {
            Data::emit(out, ends, SequenceNumber(number), &[], Payload::Value(payload));
        })
    };
    stranger.send(&mut net, &announce(2, &payload));
    assert!(!net.is_matched(0, reader));
    send_early_heartbeat(&stranger, &mut net, writer, reader);
    payload.clear();
    stranger.endpoint(&net, reader, writer).emit(&mut payload);
    stranger.send(&mut net, &announce(3, &payload));
    // Its discovery is read again, since an announcement has changed.
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
    stranger.send(&mut net, &message(stranger.prefix, |out| heartbeat.emit(out)));
    let guid = stranger.prefix.with(writer);
    assert_eq!(net.nodes[0].participant.next_due(reader, guid), Some(SequenceNumber(4)));
}

/// Source: RTPS 2.5, section 8.3.8.10.
#[test]
fn info_source_clears_timestamp() {
    let mut net = Net::new(1);
    net.add();
    let reader = net.reader(0, TOPIC, QoS::sensor_data());
    let (stranger, writer) = (Stranger::discover(&mut net, 1), EntityId::user_writer(1));
    let endpoint = stranger.endpoint(&net, reader, writer);
    stranger.announce(&mut net, &endpoint);
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
