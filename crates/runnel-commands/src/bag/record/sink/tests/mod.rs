//! What is recorded of the messages that arrive.

mod full_disks;
mod snapshots;
mod splits;

use std::fs;
use std::time::Duration;

use runnel::Gid;
use runnel::core::time::Instant;
use runnel_bag::{Schema, SchemaLanguage};

use super::Limits;
use super::arrival::{Arrival, Source};
use super::fixture::{Recording, arrival, messages, ros2, source, texts};
use crate::bag::files;
use crate::bag::storage::Storage;

const GID: Gid = Gid([7; 16]);

#[test]
fn both_generations_are_in_one_bag() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    recording.sink.take(topic, &arrival(source("/one"), 1, "one"));
    recording.sink.take(topic, &arrival(ros2("/two"), 2, "two"));
    let questions = recording.sink.channels_mut().take_questions();
    let schema = Schema { language: SchemaLanguage::Ros2Msg, data: b"string data".to_vec() };
    recording.sink.channels_mut().define(questions[0].0.clone(), schema);
    recording.sink.channels_mut().set_offered_qos(topic, "- depth: 3\n".to_owned());
    recording.sink.store_waited();
    recording.sink.take(topic, &arrival(ros2("/two"), 3, "three"));
    recording.sink.finish().expect("it is written");
    let path = recording.path("a.mcap");
    assert_eq!(texts(&path), ["one", "two", "three"]);
    let reader = files::open(&path).expect("a bag");
    let encodings: Vec<_> = reader.channels().iter().map(|channel| channel.encoding.name()).collect();
    assert_eq!(encodings, ["ros1", "cdr"]);
    assert_eq!(reader.channels()[1].offered_qos.as_deref(), Some("- depth: 3\n"));
}

#[test]
fn synced_messages_survive_the_recorder() {
    for storage in [Storage::Mcap, Storage::Rosbag] {
        let mut recording = Recording::of(storage, Limits::default());
        let topic = recording.sink.add_topic("/a");
        recording.sink.take(topic, &arrival(source("/one"), 1, "safe"));
        recording.sink.sync(Instant::default());
        recording.sink.take(topic, &arrival(source("/one"), 2, "lost"));
        let name = if storage == Storage::Mcap { "a.mcap" } else { "a.bag.active" };
        // As after kill -9: what is in the file now.
        let copy = recording.path("copy");
        fs::copy(recording.path(name), &copy).expect("a copy");
        assert_eq!(texts(&copy), ["safe"], "{storage:?}");
    }
}

#[test]
fn counts_are_in_the_bag() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    for number in [1, 2, 5] {
        let message = Arrival { number: Some((GID, number)), ..arrival(source("/one"), number, "text") };
        recording.sink.take(topic, &message);
    }
    recording.sink.set_lost(topic, 1, 0);
    recording.sink.finish().expect("it is written");
    let metadata = files::open(&recording.path("a.mcap")).expect("a bag").metadata().expect("sound");
    let counts = &metadata.iter().find(|one| one.name == "runnel.loss").expect("counts").values["/a"];
    assert_eq!(counts, r#"{"messages":3,"bytes":12,"lost":1,"dropped":1,"refused":0}"#);
}

#[test]
fn counts_survive_the_recorder() {
    let mut recording = Recording::new(Limits::default());
    let [topic, _other] = ["/a", "/b"].map(|topic| recording.sink.add_topic(topic));
    recording.sink.take(topic, &arrival(source("/one"), 1, "text"));
    let loss = |recording: &Recording| {
        // As after kill -9: what is in the file now.
        let copy = recording.path("copy");
        fs::copy(recording.path("a.mcap"), &copy).expect("a copy");
        let metadata = files::open(&copy).expect("a bag").metadata().expect("sound");
        metadata.into_iter().filter(|one| one.name == "runnel.loss").map(|one| one.values).collect::<Vec<_>>()
    };
    recording.sink.sync(Instant::default());
    assert_eq!(loss(&recording).len(), 0, "nothing is lost");
    let begun = Instant::default() + Duration::from_secs(10);
    for (seconds, dropped, held) in [(0, 3, 3), (1, 3, 3), (2, 4, 3), (59, 5, 3), (60, 5, 5), (119, 6, 5)] {
        recording.sink.set_lost(topic, dropped, 0);
        recording.sink.sync(begun + Duration::from_secs(seconds));
        let expected = format!(r#"{{"lost":0,"dropped":{held},"refused":0}}"#);
        assert_eq!(loss(&recording), [[("/a".to_owned(), expected)].into()], "after {seconds} s");
    }
    recording.sink.finish().expect("it is written");
    let [values] = &loss(&recording)[..] else { panic!("one record counts") };
    assert_eq!(values["/a"], r#"{"messages":1,"bytes":4,"lost":0,"dropped":6,"refused":0}"#);
    assert_eq!(values.len(), 2);
}

#[test]
fn limits_end_the_recording() {
    let limits = Limits { messages: Some(2), ..Limits::default() };
    let mut recording = Recording::new(limits);
    let [a, b] = ["/a", "/b"].map(|topic| recording.sink.add_topic(topic));
    for second in 0..5 {
        recording.sink.take(a, &arrival(source("/one"), second, "a"));
    }
    assert!(!recording.sink.has_ended(), "the other topic has none");
    recording.sink.take(b, &arrival(source("/one"), 5, "b"));
    recording.sink.take(b, &arrival(source("/one"), 6, "b"));
    assert!(recording.sink.has_ended());
    recording.sink.finish().expect("it is written");
    assert_eq!(texts(&recording.path("a.mcap")), ["a", "a", "b", "b"]);

    let mut recording =
        Recording::new(Limits { duration: Some(Duration::from_secs(2)), ..Limits::default() });
    let topic = recording.sink.add_topic("/a");
    for second in 10..20 {
        recording.sink.take(topic, &arrival(source("/one"), second, "a"));
    }
    recording.sink.finish().expect("it is written");
    assert_eq!(texts(&recording.path("a.mcap")).len(), 3);
}

#[test]
fn paused_recording_takes_only_what_late_subscribers_get() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    let latched = Source { is_latching: true, ..source("/two") };
    recording.sink.set_paused(true, 0);
    recording.sink.take(topic, &arrival(source("/one"), 1, "no"));
    recording.sink.take(topic, &arrival(latched, 2, "old map"));
    recording.sink.take(topic, &arrival(latched, 3, "map"));
    recording.sink.set_paused(false, 4_000_000_000);
    recording.sink.take(topic, &arrival(source("/one"), 5, "yes"));
    recording.sink.set_paused(true, 0);
    recording.sink.set_paused(false, 6_000_000_000);
    recording.sink.finish().expect("it is written");
    let path = recording.path("a.mcap");
    assert_eq!(texts(&path), ["map", "yes"]);
    assert_eq!(messages(&path)[0].log_time, 4_000_000_000, "when the recording goes on");
}

#[test]
fn topic_that_cannot_be_subscribed_is_left_out() {
    let mut recording = Recording::new(Limits { messages: Some(1), ..Limits::default() });
    let [refused, a] = ["/refused", "/a"].map(|topic| recording.sink.add_topic(topic));
    recording.sink.abandon(refused);
    recording.sink.take(a, &arrival(source("/one"), 1, "a"));
    assert!(recording.sink.has_ended(), "no other topic is awaited");
    assert_eq!(recording.sink.counts().map(|(topic, _)| topic).collect::<Vec<_>>(), ["/a"]);
}

#[test]
fn rosbag_refuses_messages_of_ros2() {
    let mut recording = Recording::of(Storage::Rosbag, Limits::default());
    let topic = recording.sink.add_topic("/a");
    recording.sink.take(topic, &arrival(source("/one"), 1, "kept"));
    recording.sink.take(topic, &arrival(ros2("/one"), 2, "x"));
    assert!(recording.sink.has_ended());
    let why = recording.sink.finish().expect_err("it cannot be stored").to_string();
    assert!(why.contains("topic /a") && why.contains("Try: --storage mcap"), "{why}");
    let path = recording.path("a.bag");
    assert_eq!(texts(&path), ["kept"]);
    assert!(files::open(&path).expect("a bag").summary().is_finished);
}

#[test]
fn unknown_definition_does_not_lose_messages() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    recording.sink.take(topic, &arrival(ros2("/one"), 1, "x"));
    recording.sink.finish().expect("it is written");
    let path = recording.path("a.mcap");
    assert_eq!(texts(&path), ["x"]);
    let reader = files::open(&path).expect("a bag");
    let channel = &reader.channels()[0];
    assert_eq!(
        (&*channel.type_name, channel.type_hash.as_deref()),
        ("std_msgs/msg/String", Some("RIHS01_ab"))
    );
    assert!(channel.schema.data.is_empty());
}
