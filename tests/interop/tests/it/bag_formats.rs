//! Bags of all formats, exchanged with PyPI's `mcap` and `rosbags` in both directions.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use interop::{bag_tool, outcome};
use runnel_bag::disk::Plain;
use runnel_bag::mcap::{self, Profile};
use runnel_bag::rosbag;
use runnel_bag::rosbag2::{self, Folder, METADATA_FILE};
use runnel_bag::{
    Attachment, BagReader, BagWriter, Channel, Compression, Encoding, Metadata, NewMessage, Schema,
    SchemaLanguage, Selection, open,
};
use tempfile::TempDir;

pub const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

/// Messages on each topic, and bytes of each.
const MESSAGES: u64 = 40;
const LENGTH: usize = 50_000;

/// In numbers, as before version 9.
const OFFERED_QOS: &str = "- history: 1
  depth: 10
  reliability: 1
  durability: 2
  deadline: {sec: 0, nsec: 0}
  lifespan: {sec: 0, nsec: 0}
  liveliness: 1
  liveliness_lease_duration: {sec: 0, nsec: 0}
  avoid_ros_namespace_conventions: false
";

struct Disk(PathBuf);

impl Folder for Disk {
    type Disk = Plain<File>;

    fn create(&mut self, name: &str) -> io::Result<Self::Disk> {
        Ok(Plain::new(File::create_new(self.0.join(name))?))
    }

    fn write_metadata(&mut self, text: &str) -> io::Result<()> {
        fs::write(self.0.join(METADATA_FILE), text)
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

pub fn ros1_channel() -> Channel {
    Channel {
        topic: "/ros1".to_owned(),
        type_name: "std_msgs/String".to_owned(),
        schema: Schema { language: SchemaLanguage::Ros1Msg, data: b"string data\n".to_vec() },
        publisher: Some("/talker".to_owned()),
        ..Channel::default()
    }
}

pub fn ros2_channel() -> Channel {
    Channel {
        topic: "/ros2".to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        encoding: Encoding::Cdr,
        schema: Schema { language: SchemaLanguage::Ros2Msg, data: b"string data\n".to_vec() },
        offered_qos: Some(OFFERED_QOS.to_owned()),
        ..Channel::default()
    }
}

/// Metadata of a bag. In rosbag's format they are an extension that other readers do not see.
pub fn metadata() -> Metadata {
    let values = [("city".to_owned(), "Turin".to_owned())].into();
    Metadata { name: "place".to_owned(), values }
}

/// A string message of ROS 1 or 2.
fn string(encoding: &Encoding, text: &str) -> Vec<u8> {
    let len = text.len() as u32;
    match encoding {
        Encoding::Cdr => [&[0, 1, 0, 0][..], &(len + 1).to_le_bytes(), text.as_bytes(), b"\0"].concat(),
        _ => [&len.to_le_bytes(), text.as_bytes()].concat(),
    }
}

/// Writes the messages of each channel, between other calls.
pub fn write_messages<W: BagWriter>(
    writer: &mut W,
    channels: &[Channel],
    mut between: impl FnMut(&mut W, u64),
) {
    let ids: Vec<_> =
        channels.iter().map(|channel| writer.add_channel(channel).expect("a channel")).collect();
    for number in 0..MESSAGES {
        between(writer, number);
        for (channel, id) in channels.iter().zip(&ids) {
            let log_time = (1000 + number) * 1_000_000_000;
            let data = string(&channel.encoding, &"x".repeat(LENGTH));
            let message = NewMessage {
                channel: *id,
                log_time,
                publish_time: log_time,
                sequence: number as u32,
                data: (&data).into(),
            };
            writer.write(&message).expect("it is written");
        }
    }
}

/// The line of a peer about a channel.
pub fn line(channel: &Channel) -> String {
    format!("{} {} {MESSAGES} {}", channel.topic, channel.type_name, MESSAGES as usize * LENGTH)
}

/// One file holds both generations.
#[test]
fn mcap_package_reads_every_compression() {
    let folder = TempDir::new().expect("a folder");
    for compression in COMPRESSIONS {
        let path = folder.path().join(compression.name());
        let mut writer =
            mcap::Writer::new(File::create(&path).expect("a file"), Profile::None).expect("a bag");
        writer.set_compression(compression).expect("MCAP has it");
        write_messages(&mut writer, &[ros1_channel(), ros2_channel()], |_, _| ());
        let attachment = Attachment {
            name: "note.txt".to_owned(),
            media_type: "text/plain".to_owned(),
            data: b"hello".to_vec(),
            ..Attachment::default()
        };
        writer.add_attachment(&attachment).expect("it is added");
        writer.add_metadata(&metadata()).expect("they are added");
        writer.finish().expect("it is finished");
        let listing = outcome(bag_tool("mcap_file.py", &["read", text(&path)]));
        let expected = [
            "profile ".to_owned(),
            line(&ros1_channel()),
            line(&ros2_channel()),
            "attachment note.txt text/plain hello".to_owned(),
            "metadata place {'city': 'Turin'}".to_owned(),
        ];
        assert_eq!(listing.lines, expected, "{}", compression.name());
    }
}

#[test]
fn rosbags_package_reads_split_bag() {
    for compression in COMPRESSIONS {
        let folder = TempDir::new().expect("a folder");
        let disk = Disk(folder.path().to_owned());
        let mut writer = rosbag2::Writer::new(disk, "bag", Profile::Ros2, "jazzy").expect("a bag");
        writer.set_compression(compression).expect("MCAP has it");
        write_messages(&mut writer, &[ros2_channel()], |writer, number| {
            if number % 15 == 14 {
                writer.split().expect("the next file");
            }
        });
        writer.finish().expect("it is finished");
        let listing = outcome(bag_tool("rosbags_bag.py", &["read", text(folder.path())]));
        assert_eq!(listing.lines, [line(&ros2_channel())], "{}", compression.name());
    }
}

#[test]
fn rosbags_package_reads_rosbag() {
    let folder = TempDir::new().expect("a folder");
    for compression in [Compression::None, Compression::Bz2, Compression::Lz4] {
        let path = folder.path().join(format!("{}.bag", compression.name()));
        let mut writer = rosbag::Writer::new(File::create(&path).expect("a file")).expect("a bag");
        writer.set_compression(compression).expect("rosbag has it");
        write_messages(&mut writer, &[ros1_channel()], |_, _| ());
        assert!(writer.add_metadata(&metadata()).expect("they are added"));
        writer.finish().expect("it is finished");
        let listing = outcome(bag_tool("rosbags_bag.py", &["read", text(&path)]));
        // The package spells types as ROS 2 does.
        let expected = line(&Channel { type_name: "std_msgs/msg/String".to_owned(), ..ros1_channel() });
        assert_eq!(listing.lines, [expected], "{}", compression.name());
    }
}

/// Checks the 100 messages of a peer in a finished bag.
pub fn check(path: &Path, encoding: &Encoding) -> Box<dyn BagReader + Send> {
    let reader = check_messages(path, encoding);
    assert!(reader.summary().is_finished);
    reader
}

fn check_messages(path: &Path, encoding: &Encoding) -> Box<dyn BagReader + Send> {
    let mut reader = open(path).expect("a bag");
    assert!(reader.damage().is_none(), "{:?}", reader.damage());
    let [channel] = reader.channels() else { panic!("{:?}", reader.channels()) };
    assert_eq!((&*channel.topic, &channel.encoding), ("/chatter", encoding));
    assert_eq!(reader.summary().counts, [100]);
    let messages: Result<Vec<_>, _> = reader.messages(&Selection::default()).collect();
    let messages = messages.expect("messages");
    for (number, message) in messages.iter().enumerate() {
        let expected = string(encoding, &format!("number {number}").repeat(number % 5 + 1));
        assert_eq!(message.log_time, 1_000_000_000_000 + number as u64 * 100_000_000);
        // Serializers may pad.
        assert!(message.data.starts_with(&expected), "message {number}");
    }
    assert_eq!(messages.len(), 100);
    reader
}

#[test]
fn files_of_mcap_package_are_read() {
    let folder = TempDir::new().expect("a folder");
    for (profile, encoding) in [("ros1", Encoding::Ros1), ("ros2", Encoding::Cdr)] {
        for compression in COMPRESSIONS {
            let path = folder.path().join(format!("{profile}_{}", compression.name()));
            let write = ["write", text(&path), profile, compression.name()];
            let written = outcome(bag_tool("mcap_file.py", &write));
            assert_eq!(written.code, Some(0), "{:#?}", written.lines);
            let mut reader = check(&path, &encoding);
            assert!(matches!(&reader.summary().chunks[..], [(found, _)] if *found == compression));
            assert_eq!(reader.metadata().expect("metadata")[0].values["city"], "Turin");
            let mut reader = mcap::Reader::open(File::open(&path).expect("a file")).expect("a bag");
            assert_eq!(reader.profile(), profile);
            let info = reader.attachments()[0].clone();
            assert_eq!(reader.read_attachment(&info).expect("an attachment").data, b"hello");
        }
    }
}

/// MCAP and SQLite, versions 8 and 9, without compression and with each mode.
#[test]
fn bags_of_rosbags_package_are_read() {
    let folder = TempDir::new().expect("a folder");
    for storage in ["mcap", "sqlite3"] {
        for version in ["8", "9"] {
            for mode in ["none", "file", "message", "storage"] {
                if (storage, mode) == ("sqlite3", "storage") {
                    continue;
                }
                let path = folder.path().join(format!("{storage}_{version}_{mode}"));
                let written =
                    outcome(bag_tool("rosbags_bag.py", &["write", text(&path), storage, version, mode]));
                assert_eq!(written.code, Some(0), "{:#?}", written.lines);
                let reader = check(&path, &Encoding::Cdr);
                assert_eq!(reader.channels()[0].type_name, "std_msgs/msg/String");
                assert!(reader.channels()[0].type_hash.is_some());
            }
        }
    }
}

/// The storage profile `resilient` of rosbag2 is SQLite with a write-ahead log. A killed recorder leaves the log, and no
/// metadata.
#[test]
fn write_ahead_log_of_killed_recorder_is_read() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("resilient");
    let written = outcome(bag_tool("rosbags_bag.py", &["write", text(&path), "sqlite3", "8", "none"]));
    assert_eq!(written.code, Some(0), "{:#?}", written.lines);
    let killed = outcome(bag_tool("killed_sqlite.py", &[text(&path)]));
    assert_eq!(killed.code, None, "{:#?}", killed.lines);
    let log = fs::metadata(path.join("resilient.db3-wal")).expect("a log");
    assert!(log.len() > 10_000, "{log:?}");
    let reader = check_messages(&path, &Encoding::Cdr);
    assert!(!reader.summary().is_finished, "there are no metadata");
}
