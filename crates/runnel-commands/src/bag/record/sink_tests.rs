//! Recordings without a graph, into files of a temporary folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runnel::Gid;
use runnel::core::schema::Generation;
use runnel_bag::disk::{Disk, MemoryDisk};
use runnel_bag::mcap::{self, Profile};
use runnel_bag::{BagWriter, Channel, Compression, Error, Message, Schema, SchemaLanguage, Selection};
use tempfile::TempDir;

use super::arrival::{Arrival, Content, Source};
use super::limits::Limits;
use super::output_files::OutputFiles;
use super::sink::{Bags, Sink};
use crate::bag::files;
use crate::bag::storage::Storage;
use crate::error::CliError;

const GID: Gid = Gid([7; 16]);

/// A recording, and the folder of its files.
struct Recording {
    folder: TempDir,
    sink: Sink,
}

impl Recording {
    fn new(limits: Limits) -> Self {
        Self::of(Storage::Mcap, limits)
    }

    fn of(storage: Storage, limits: Limits) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().join("a");
        let files = OutputFiles::new(base, (storage, Compression::None), Profile::None, limits.split);
        let sink = Sink::new(Box::new(files), limits, storage == Storage::Mcap).expect("a bag");
        Self { folder, sink }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("a folder");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("a file"))).collect();
        names.sort();
        names
    }
}

fn source(publisher: &str) -> Source<'_> {
    Source {
        generation: Generation::Ros1,
        type_name: "std_msgs/String",
        sum: "992ce8a1687cec8c8bd883ec73ca41d1",
        definition: "string data\n",
        publisher,
        is_latching: false,
    }
}

fn ros2(publisher: &str) -> Source<'_> {
    let (type_name, sum) = ("std_msgs/msg/String", "RIHS01_ab");
    Source { generation: Generation::Ros2, type_name, sum, definition: "", ..source(publisher) }
}

/// A message with this text, received at a number of seconds.
fn arrival<'a>(source: Source<'a>, seconds: u64, text: &'a str) -> Arrival<'a> {
    let log_time = seconds * 1_000_000_000;
    let content = Content { log_time, publish_time: log_time, sequence: 0, data: text.as_bytes().into() };
    Arrival { source, number: None, content }
}

fn messages(path: &Path) -> Vec<Message> {
    let mut reader = files::open(path).expect("a bag");
    reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("sound")
}

fn texts(path: &Path) -> Vec<String> {
    let text = |message: Message| String::from_utf8(message.data.to_vec()).expect("a text");
    messages(path).into_iter().map(text).collect()
}

#[test]
fn both_generations_are_in_one_bag() {
    let mut recording = Recording::new(Limits::default());
    let topic = recording.sink.add_topic("/a");
    recording.sink.take(topic, &arrival(source("/one"), 1, "one"));
    recording.sink.take(topic, &arrival(ros2("/two"), 2, "two"));
    let questions = recording.sink.take_questions();
    let schema = Schema { language: SchemaLanguage::Ros2Msg, data: b"string data".to_vec() };
    recording.sink.define(questions[0].0.clone(), schema);
    recording.sink.set_offered_qos(topic, "- depth: 3\n".to_owned());
    recording.sink.write_waited();
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
        recording.sink.sync();
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
fn splits_begin_with_the_latched_messages_of_all_publishers_of_a_node() {
    let limits = Limits { duration: Some(Duration::from_secs(10)), split: true, ..Limits::default() };
    let mut recording = Recording::new(limits);
    let topic = recording.sink.add_topic("/tf_static");
    let latched = Source { is_latching: true, ..ros2("/node") };
    for (byte, text) in [(1, "arm"), (2, "base")] {
        let message = Arrival { number: Some((Gid([byte; 16]), 1)), ..arrival(latched, 1, text) };
        recording.sink.take(topic, &message);
    }
    let questions = recording.sink.take_questions();
    recording.sink.define(questions[0].0.clone(), Schema::default());
    recording.sink.set_offered_qos(topic, String::new());
    recording.sink.write_waited();
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
        recording.sink.sync();
    }
    recording.sink.finish().expect("it is written");
    assert_eq!(recording.names(), ["a_0.mcap", "a_1.mcap"]);
    assert_eq!(texts(&recording.path("a_1.mcap")).len(), 1 + 8);
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

/// A disk that is full after some bytes.
struct FullDisk(MemoryDisk, u64);

impl Disk for FullDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        self.0.block()
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        self.0.buffer()
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        if at + len as u64 > self.1 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write(buffer, len, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.0.finish(len)
    }
}

/// Bags on such a disk.
struct FullBags;

impl Bags for FullBags {
    fn begin(&mut self, _channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError> {
        let disk = FullDisk(MemoryDisk::new(512, 1 << 16), 1 << 18);
        Ok(Box::new(mcap::Writer::on_disk(disk, Profile::None).expect("there is space")))
    }

    fn complete(&mut self) -> Result<(), CliError> {
        Ok(())
    }

    fn failed(&self, error: &Error) -> CliError {
        files::failed(Path::new("full.mcap"), error)
    }

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

#[test]
fn full_disk_ends_the_recording_with_its_error() {
    let mut sink = Sink::new(Box::new(FullBags), Limits::default(), true).expect("there is space");
    let topic = sink.add_topic("/a");
    let text = "x".repeat(1000);
    for second in 0..1000 {
        sink.take(topic, &arrival(source("/one"), second, &text));
        sink.sync();
    }
    assert!(sink.has_ended());
    let why = sink.finish().expect_err("the disk is full").to_string();
    assert!(why.starts_with("full.mcap: ") && why.contains("storage"), "{why}");
}
