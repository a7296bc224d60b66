//! Bags of ROS 1, exchanged with rosbag in both directions.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use interop::{Ros1Graph, outcome};
use runnel_bag::disk::Plain;
use runnel_bag::rosbag::{Reader, Writer};
use runnel_bag::{
    BagReader, BagWriter, Channel, Compression, Message, NewMessage, Schema, SchemaLanguage, Selection,
};

use crate::bag_formats::metadata;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Bz2, Compression::Lz4];

/// No master is needed.
fn no_graph() -> Ros1Graph {
    Ros1Graph::at("http://127.0.0.1:1")
}

fn file(graph: &Ros1Graph, name: &str) -> PathBuf {
    graph.home().join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

fn chatter() -> Channel {
    Channel {
        topic: "/chatter".to_owned(),
        type_name: "std_msgs/String".to_owned(),
        md5: Some("992ce8a1687cec8c8bd883ec73ca41d1".to_owned()),
        schema: Schema { language: SchemaLanguage::Ros1Msg, data: b"string data\n".to_vec() },
        publisher: Some("/talker".to_owned()),
        ..Channel::default()
    }
}

/// Writes 20 messages of 100 kB, of which at most eight fill a chunk; returns the unfinished bag.
fn write(path: &Path, compression: Compression) -> Writer<Plain<File>> {
    let mut writer = Writer::new(File::create(path).expect("a file")).expect("a bag");
    writer.set_compression(compression).expect("rosbag has it");
    let channel = writer.add_channel(&chatter()).expect("a channel");
    let message = [&100_000_u32.to_le_bytes()[..], "x".repeat(100_000).as_bytes()].concat();
    for sec in 1..=20 {
        let log_time = sec * 1_000_000_000;
        let message =
            NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data: (&message).into() };
        writer.write(&message).expect("it is written");
    }
    writer
}

#[test]
fn rosbag_reads_every_compression() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, compression.name());
        let mut bag = write(&path, compression);
        assert!(bag.add_metadata(&metadata()).expect("they are added"));
        bag.finish().expect("it is finished");
        let listing = outcome(graph.rospy("bag.py", &[text(&path)]));
        assert_eq!(listing.lines, ["/chatter std_msgs/String 20"], "{}", compression.name());
    }
}

#[test]
fn rosbag_reindexes_unfinished_bag() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, &format!("{}.bag", compression.name()));
        write(&path, compression).flush().expect("the file takes all");
        let reindex = outcome(graph.tool("rosbag", &["reindex", text(&path)]));
        assert_eq!(reindex.code, Some(0), "{:#?}", reindex.lines);
        let listing = outcome(graph.rospy("bag.py", &[text(&path)]));
        assert_eq!(listing.lines, ["/chatter std_msgs/String 20"]);
    }
}

fn open(path: &Path) -> Reader<BufReader<File>> {
    Reader::open(BufReader::new(File::open(path).expect("a file"))).expect("a bag")
}

/// Checks the messages of `write_bag.py`: their order, times and contents.
fn check_messages(messages: &[Message], reader: &Reader<BufReader<File>>) {
    for (number, message) in messages.iter().enumerate() {
        assert_eq!(message.log_time, 1_000_000_000_000 + number as u64 * 100_000_000, "message {number}");
        let channel = &reader.channels()[message.channel.index()];
        if number % 3 == 0 {
            assert_eq!(channel.topic, "/point");
            assert_eq!(message.data[..4], (number as u32).to_le_bytes());
        } else {
            let text = format!("number {number}").repeat(number % 5 + 1);
            assert_eq!(message.data[4..], *text.as_bytes());
        }
    }
}

#[test]
fn finished_bags_of_rosbag_are_read() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, &format!("{}.bag", compression.name()));
        let written = outcome(graph.rospy("write_bag.py", &[text(&path), compression.name()]));
        assert_eq!(written.code, Some(0), "{:#?}", written.lines);
        let mut reader = open(&path);
        let summary = reader.summary();
        assert!(summary.is_finished && reader.damage().is_none() && reader.chunks().len() > 2);
        assert!(matches!(&summary.chunks[..], [(found, _)] if *found == compression), "{:?}", summary.chunks);
        let messages: Vec<_> =
            reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("messages");
        assert_eq!(messages.len(), 100);
        check_messages(&messages, &reader);
        let found = reader.channels().iter().find(|found| found.topic == "/chatter").expect("a channel");
        assert_eq!((&found.publisher, found.latching), (&Some("/talker".to_owned()), true));
        assert_eq!((&*found.type_name, &found.md5), ("std_msgs/String", &chatter().md5));
    }
}

#[test]
fn bag_of_killed_rosbag_is_read() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, &format!("{}.bag", compression.name()));
        let killed = outcome(graph.rospy("write_bag.py", &[text(&path), compression.name(), "killed"]));
        assert_eq!(killed.code, None, "{:#?}", killed.lines);
        let mut reader = open(&path);
        assert!(!reader.summary().is_finished);
        let messages: Vec<_> =
            reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("messages");
        assert!(messages.len() > 30, "{} messages", messages.len());
        check_messages(&messages, &reader);
        fs::remove_file(&path).expect("it is removed");
    }
}

/// Checks that a bag is complete and has this compression, and this number of messages.
fn check_complete(path: &Path, compression: Compression, count: usize) -> Vec<Message> {
    let mut reader = open(path);
    let summary = reader.summary();
    assert!(summary.is_finished && reader.damage().is_none(), "{}", path.display());
    assert!(matches!(&summary.chunks[..], [(found, _)] if *found == compression), "{:?}", summary.chunks);
    let messages = reader.messages(&Selection::default()).collect::<Result<Vec<_>, _>>().expect("messages");
    assert_eq!(messages.len(), count, "{}", path.display());
    messages
}

#[test]
fn bags_that_rosbag_has_rewritten_are_read() {
    let graph = no_graph();
    for (option, compression) in [("--lz4", Compression::Lz4), ("--bz2", Compression::Bz2)] {
        let [path, filtered] =
            ["", "_filtered"].map(|name| file(&graph, &format!("{}{name}.bag", compression.name())));
        let rosbag = |words: &[&str]| outcome(graph.tool("rosbag", words)).success();
        let written = outcome(graph.rospy("write_bag.py", &[text(&path), "none"]));
        assert_eq!(written.code, Some(0), "{:#?}", written.lines);
        rosbag(&["compress", option, text(&path)]);
        check_messages(&check_complete(&path, compression, 100), &open(&path));
        rosbag(&["filter", text(&path), text(&filtered), "topic == '/chatter' and len(m.data) > 10"]);
        for message in check_complete(&filtered, Compression::None, 53) {
            assert!(message.data.len() > 4 + 10);
        }
        rosbag(&["decompress", "--force", text(&path)]);
        check_messages(&check_complete(&path, Compression::None, 100), &open(&path));
    }
}
