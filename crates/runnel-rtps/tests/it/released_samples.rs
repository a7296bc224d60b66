//! When a writer releases samples.

use crate::net::{Bytes, Net, millis, sample, secs};
use crate::pairs::{TOPIC, pair, slow_pair};
use runnel_core::qos::QoS;
use std::sync::Arc;

#[test]
fn samples_of_silent_reader_are_released() {
    let (mut net, writer, reader) = slow_pair(1, QoS::keep_last(1));
    net.write(0, writer, &sample(0, 840_000)).unwrap();
    net.nodes[1].stopped = true;
    for number in 1..10 {
        net.write(0, writer, &sample(number, 100_000)).unwrap();
        net.run_for(millis(200));
    }
    net.nodes[1].stopped = false;
    net.run_for(secs(3));
    assert!(net.texts(1, reader) == [sample(9, 100_000)]);
}

#[test]
fn transient_keep_all_writer_waits_and_loses_nothing() {
    let (mut net, writer, reader) = pair(1, QoS::keep_all().transient_local());
    let (mut full, mut number) = (0, 0);
    while number < 3000 {
        match net.write(0, writer, &sample(number, 1000)) {
            Ok(_) => number += 1,
            Err(_) => {
                full += 1;
                net.run_for(millis(1));
            }
        }
    }
    net.run_for(secs(10));
    let received = net.texts(1, reader).len();
    assert_eq!((received, net.nodes[0].participant.overwritten(writer)), (3000, 0));
    assert!(full > 0);
}

#[test]
fn transient_keep_all_writer_displaces_acknowledged_samples() {
    let mut net = Net::new(1);
    let (a, b) = (net.add_with(|config| config.limits.kept = 20), net.add());
    let qos = QoS::keep_all().transient_local();
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    for number in 0..50 {
        net.write(a, writer, &sample(number, 100)).unwrap();
        net.run_for(millis(50));
    }
    net.nodes[b].stopped = true;
    for number in 50..70 {
        net.write(a, writer, &sample(number, 100)).unwrap();
    }
    assert_eq!(net.write(a, writer, &sample(70, 100)).unwrap_err().reader.entity, reader);
    let late = net.add();
    let late_reader = net.reader(late, TOPIC, qos);
    net.run_for(secs(1));
    assert_eq!(net.texts(late, late_reader).len(), 20);
}

/// The writer publishes nothing more: only the time shows that the reader does not return.
#[test]
fn samples_of_unmatched_reader_are_released() {
    let (mut net, writer, reader) = pair(1, QoS::keep_last(10));
    let bytes: Bytes = sample(1, 1000).into();
    net.blackout = true;
    let (now, stamp) = (net.now, net.stamp());
    net.nodes[0].participant.write(now, stamp, writer, bytes.clone()).unwrap();
    net.touch(0);
    net.remove(1, reader);
    net.blackout = false;
    net.run_until("the disposal arrives", secs(3), |net| !net.is_matched(0, writer));
    assert!(Arc::strong_count(&bytes) > 1, "it may come back");
    net.run_for(secs(10));
    // The last sample is in the datagram memory, which the next one replaces.
    net.write(0, writer, &sample(2, 8)).unwrap();
    assert_eq!(Arc::strong_count(&bytes), 1);
}
