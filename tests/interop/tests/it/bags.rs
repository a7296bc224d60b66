//! Bags of ROS 1, exchanged with rosbag in both directions.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use interop::{Ros1Graph, outcome};
use runnel::Time;
use runnel_bag::Compression;
use runnel_bag::rosbag::{Connection, Message, Reader, Selection, Writer};

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

fn chatter() -> Connection {
    Connection {
        topic: "/chatter".to_owned(),
        type_name: "std_msgs/String".to_owned(),
        md5: "992ce8a1687cec8c8bd883ec73ca41d1".to_owned(),
        definition: "string data\n".to_owned(),
        publisher: Some("/talker".to_owned()),
        latching: false,
    }
}

/// Writes 20 messages of 100 kB, of which eight fill a chunk; returns the unfinished bag.
fn write(path: &Path, compression: Compression) -> Writer<File> {
    let mut writer = Writer::new(File::create(path).expect("a file")).expect("a bag");
    writer.set_compression(compression);
    let connection = writer.add(&chatter());
    let message = [&100_000_u32.to_le_bytes()[..], "x".repeat(100_000).as_bytes()].concat();
    for sec in 1..=20 {
        writer.write(connection, Time { sec, nanosec: 0 }, &message).expect("it is written");
    }
    writer
}

#[test]
fn rosbag_reads_every_compression() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, compression.name());
        write(&path, compression).finish().expect("it is finished");
        let listing = outcome(graph.rospy("bag.py", &[text(&path)]));
        assert_eq!(listing.lines, ["/chatter std_msgs/String 20"], "{}", compression.name());
    }
}

#[test]
fn rosbag_reindexes_unfinished_bag() {
    let graph = no_graph();
    for compression in COMPRESSIONS {
        let path = file(&graph, &format!("{}.bag", compression.name()));
        drop(write(&path, compression));
        let reindex = outcome(graph.tool("rosbag", &["reindex", text(&path)]));
        assert_eq!(reindex.code, Some(0), "{:#?}", reindex.lines);
        let listing = outcome(graph.rospy("bag.py", &[text(&path)]));
        assert_eq!(listing.lines, ["/chatter std_msgs/String 16"]);
    }
}

fn open(path: &Path) -> Reader<BufReader<File>> {
    Reader::open(BufReader::new(File::open(path).expect("a file"))).expect("a bag")
}

/// Checks the messages of `write_bag.py`: their order, times and contents.
fn check_messages(messages: &[Message], reader: &Reader<BufReader<File>>) {
    for (number, message) in messages.iter().enumerate() {
        let time = Time { sec: 1000 + number as i32 / 10, nanosec: number as u32 % 10 * 100_000_000 };
        assert_eq!(message.time, time, "message {number}");
        let connection = &reader.connections()[message.connection.index()];
        if number % 3 == 0 {
            assert_eq!(connection.topic, "/point");
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
        assert!(reader.is_finished() && reader.damage().is_none() && reader.chunks().len() > 2);
        let first = reader.chunks()[0].clone();
        assert_eq!(reader.compression(&first).expect("a chunk").0, compression);
        let messages: Vec<_> =
            reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("messages");
        assert_eq!(messages.len(), 100);
        check_messages(&messages, &reader);
        let found =
            reader.connections().iter().find(|found| found.topic == "/chatter").expect("a connection");
        assert_eq!((&found.publisher, found.latching), (&Some("/talker".to_owned()), true));
        assert_eq!((&*found.type_name, &*found.md5), ("std_msgs/String", &*chatter().md5));
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
        assert!(!reader.is_finished());
        let messages: Vec<_> =
            reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("messages");
        assert!(messages.len() > 30, "{} messages", messages.len());
        check_messages(&messages, &reader);
        fs::remove_file(&path).expect("it is removed");
    }
}
