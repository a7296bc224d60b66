//! Snapshot mode.

use std::time::Duration;

use crate::bag::record::sink::arrival::Source;
use crate::bag::record::sink::fixture::{Recording, arrival, messages, source, texts};
use crate::bag::record::sink::{MemoryLimits, SinkOptions};
use crate::bag::storage::Storage;

fn recording(bytes: usize, seconds: u64) -> Recording {
    let memory = Some(MemoryLimits { bytes, duration: Some(Duration::from_secs(seconds)) });
    Recording::with(Storage::Mcap, SinkOptions { memory, ..SinkOptions::default() })
}

#[test]
fn snapshots_have_the_last_seconds_once() {
    let mut recording = recording(1 << 20, 3);
    let topic = recording.sink.add_topic("/a");
    for second in 1..=10 {
        recording.sink.take(topic, &arrival(source("/one"), second, &second.to_string()));
    }
    assert!(recording.names().is_empty(), "nothing is written before a request");
    assert!(recording.sink.snapshot(11_000_000_000));
    assert_eq!(recording.names(), ["a_0.mcap"]);
    assert_eq!(texts(&recording.path("a_0.mcap")), ["8", "9", "10"], "those of the last 3 s");
    assert!(!recording.sink.snapshot(11_000_000_000), "there are no others");
    recording.sink.take(topic, &arrival(source("/one"), 12, "12"));
    assert!(recording.sink.snapshot(13_000_000_000));
    recording.sink.take(topic, &arrival(source("/one"), 14, "14"));
    recording.sink.finish().expect("it is written");
    assert_eq!(texts(&recording.path("a_1.mcap")), ["12"]);
    assert_eq!(recording.names().len(), 2, "what nobody requested is not written");
    assert_eq!(recording.sink.counts().map(|(_, counts)| counts.messages).sum::<u64>(), 4);
}

#[test]
fn snapshot_begins_with_the_latched_messages_of_before() {
    let mut recording = recording(1 << 20, 3);
    let [map, scan] = ["/map", "/scan"].map(|topic| recording.sink.add_topic(topic));
    let latched = |publisher| Source { is_latching: true, ..source(publisher) };
    recording.sink.take(map, &arrival(latched("/one"), 1, "old map"));
    recording.sink.take(map, &arrival(latched("/one"), 2, "map"));
    for second in 3..=10 {
        recording.sink.take(scan, &arrival(source("/one"), second, "scan"));
    }
    recording.sink.take(map, &arrival(latched("/one"), 9, "new map"));
    assert!(recording.sink.snapshot(10_000_000_000));
    let path = recording.path("a_0.mcap");
    assert_eq!(texts(&path), ["map", "scan", "scan", "scan", "new map", "scan"]);
    assert_eq!(messages(&path)[0].log_time, 7_000_000_000, "when the snapshot begins");
    recording.sink.take(scan, &arrival(source("/one"), 12, "scan"));
    assert!(recording.sink.snapshot(12_000_000_000));
    assert_eq!(texts(&recording.path("a_1.mcap")), ["new map", "scan"]);
}

#[test]
fn memory_of_snapshots_is_bounded() {
    let mut recording = recording(100_000, 1000);
    let topic = recording.sink.add_topic("/a");
    let text = "x".repeat(10_000);
    for second in 1..=100 {
        recording.sink.take(topic, &arrival(source("/one"), second, &text));
    }
    recording.sink.take(topic, &arrival(source("/one"), 101, &"x".repeat(100_000)));
    assert!(recording.sink.snapshot(101_000_000_000));
    assert_eq!(texts(&recording.path("a_0.mcap")).len(), 9);
    let (_, counts) = recording.sink.counts().next().expect("a topic");
    assert_eq!((counts.messages, counts.refused), (9, 1), "the largest one never fits");
}

#[test]
fn paused_recording_keeps_nothing_for_a_snapshot() {
    let mut recording = recording(1 << 20, 1000);
    let topic = recording.sink.add_topic("/a");
    recording.sink.set_paused(true, 0);
    recording.sink.take(topic, &arrival(source("/one"), 1, "no"));
    assert!(!recording.sink.snapshot(2_000_000_000));
    recording.sink.set_paused(false, 3_000_000_000);
    recording.sink.take(topic, &arrival(source("/one"), 4, "yes"));
    assert!(recording.sink.snapshot(5_000_000_000));
    assert_eq!(texts(&recording.path("a_0.mcap")), ["yes"]);
    assert!(!recording.sink.split(6_000_000_000), "there is no open bag");
}
