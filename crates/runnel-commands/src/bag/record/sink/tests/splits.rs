//! Bags that follow each other.

use std::time::Duration;

use runnel::Gid;
use runnel::core::time::Instant;
use runnel_bag::Schema;

use crate::bag::record::sink::arrival::{Arrival, Source};
use crate::bag::record::sink::fixture::{Recording, arrival, ros2, source, texts};
use crate::bag::record::sink::{Limits, TopicLimit};

#[test]
fn each_split_begins_with_latched_messages() {
    let limits = Limits { duration: Some(Duration::from_secs(10)), split: true, ..Limits::default() };
    let mut recording = Recording::new(limits);
    let [map, scan] = ["/map", "/scan"].map(|topic| recording.sink.add_topic(topic));
    let latched = |publisher| Source { is_latching: true, ..source(publisher) };
    recording.sink.take(map, &arrival(latched("/one"), 1, "old map"));
    recording.sink.take(map, &arrival(latched("/one"), 2, "map"));
    recording.sink.take(map, &arrival(latched("/two"), 3, "other map"));
    for second in 4..25 {
        recording.sink.take(scan, &arrival(source("/one"), second, "scan"));
    }
    recording.sink.finish().expect("it is written");
    assert_eq!(recording.names(), ["a_0.mcap", "a_1.mcap", "a_2.mcap"]);
    assert_eq!(texts(&recording.path("a_0.mcap"))[..3], ["old map", "map", "other map"]);
    for name in ["a_1.mcap", "a_2.mcap"] {
        let texts = texts(&recording.path(name));
        assert_eq!(texts[..2], ["map", "other map"], "{name}");
        assert!(texts[2..].iter().all(|text| text == "scan"), "{name}: {texts:?}");
    }
    let scans = recording.names().into_iter().map(|name| texts(&recording.path(&name)).len());
    assert_eq!(scans.sum::<usize>(), 3 + 21 + 4, "no message is lost or doubled");
}

#[test]
fn splits_begin_with_the_latched_messages_of_all_publishers_of_a_node() {
    let limits = Limits { duration: Some(Duration::from_secs(10)), split: true, ..Limits::default() };
    let mut recording = Recording::new(limits);
    let topic = recording.sink.add_topic("/tf_static");
    let latched = Source { is_latching: true, ..ros2("/node") };
    for (byte, text) in [(1, "arm"), (2, "base")] {
        let message = Arrival { number: Some((Gid([byte; 16]), 1)), ..arrival(latched, 1, text) };
        recording.sink.take(topic, &message);
    }
    let questions = recording.sink.channels_mut().take_questions();
    recording.sink.channels_mut().define(questions[0].0.clone(), Schema::default());
    recording.sink.channels_mut().set_offered_qos(topic, String::new());
    recording.sink.store_waited();
    let message = Arrival { number: Some((Gid([3; 16]), 1)), ..arrival(latched, 20, "camera") };
    recording.sink.take(topic, &message);
    recording.sink.finish().expect("it is written");
    assert_eq!(texts(&recording.path("a_1.mcap")), ["arm", "base", "camera"]);
}

#[test]
fn repeated_messages_do_not_fill_a_split() {
    let limits = Limits { size: Some(10_000), split: true, ..Limits::default() };
    let mut recording = Recording::new(limits);
    let [map, scan] = ["/map", "/scan"].map(|topic| recording.sink.add_topic(topic));
    let text = "x".repeat(20_000);
    recording.sink.take(map, &arrival(Source { is_latching: true, ..source("/one") }, 1, &text));
    for second in 2..10 {
        recording.sink.take(scan, &arrival(source("/one"), second, "scan"));
        recording.sink.sync(Instant::default());
    }
    recording.sink.finish().expect("it is written");
    assert_eq!(recording.names(), ["a_0.mcap", "a_1.mcap"]);
    assert_eq!(texts(&recording.path("a_1.mcap")).len(), 1 + 8);
}

#[test]
fn requested_split_begins_with_latched_messages() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    let latched = Source { is_latching: true, ..source("/two") };
    recording.sink.take(topic, &arrival(latched, 1, "map"));
    recording.sink.take(topic, &arrival(source("/one"), 2, "before"));
    assert!(recording.sink.split(3_000_000_000));
    recording.sink.take(topic, &arrival(source("/one"), 4, "after"));
    recording.sink.finish().expect("it is written");
    assert_eq!(recording.names(), ["a.mcap", "a_1.mcap"]);
    assert_eq!(texts(&recording.path("a.mcap")), ["map", "before"]);
    assert_eq!(texts(&recording.path("a_1.mcap")), ["map", "after"]);
    let splits = recording.sink.take_splits();
    assert_eq!(splits.len(), 1);
    assert_eq!(splits[0].closed, recording.path("a.mcap"));
    assert_eq!(splits[0].opened, recording.path("a_1.mcap"));
}

#[test]
fn rate_of_a_topic_thins_out_its_messages() {
    let limit = TopicLimit { interval: Some(Duration::from_secs(3)), ..TopicLimit::default() };
    let topics = [("/a".to_owned(), limit)].into();
    let mut recording = Recording::new(Limits { topics, ..Limits::default() });
    let [a, b] = ["/a", "/b"].map(|topic| recording.sink.add_topic(topic));
    for second in 0..9 {
        recording.sink.take(a, &arrival(source("/one"), second, "a"));
        recording.sink.take(b, &arrival(source("/one"), second, "b"));
    }
    recording.sink.finish().expect("it is written");
    let texts = texts(&recording.path("a.mcap"));
    let count = |text: &str| texts.iter().filter(|one| *one == text).count();
    assert_eq!((count("a"), count("b")), (3, 9));
}
