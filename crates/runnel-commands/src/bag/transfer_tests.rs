//! `convert`, `filter`, `merge`, `cut` and `reindex` with files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, FromArgMatches, Parser};
use runnel_bag::mcap::Profile;
use runnel_bag::{
    Attachment, BagWriter, Channel, Compression, Encoding, Format, Message, NewMessage, Schema,
    SchemaLanguage, Selection,
};
use tempfile::TempDir;

use super::files::{self, NewFile};
use super::inputs::{Inputs, Wanted};
use super::new_bag::NewBag;
use super::reading_progress::ReadingProgress;
use super::storage::Storage;
use super::transfer::{first_output, transfer};
use super::{Command, run};
use crate::arguments::Arguments;
use crate::cli_context::CliContext;
use crate::error::CliError;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

/// Runs `runnel bag` with the words of a line, in which `@` stands for a folder.
pub fn bag(folder: &TempDir, line: &str) -> Result<(), CliError> {
    let folder = folder.path().display().to_string();
    let words = line.split_whitespace().map(|word| word.replace('@', &format!("{folder}/")));
    let matches = Line::command().try_get_matches_from(["bag".to_owned()].into_iter().chain(words))?;
    let parsed = Line::from_arg_matches(&matches).expect("parsed");
    let arguments = Arguments::split(vec!["runnel".into()]).expect("a good line");
    run(parsed.command, &CliContext::new(arguments, true, Vec::new()).expect("sound"))
}

pub fn channel(topic: &str, encoding: Encoding) -> Channel {
    let (type_name, language) = match encoding {
        Encoding::Ros1 => ("std_msgs/String", SchemaLanguage::Ros1Msg),
        _ => ("std_msgs/msg/String", SchemaLanguage::Ros2Msg),
    };
    Channel {
        topic: topic.to_owned(),
        type_name: type_name.to_owned(),
        encoding,
        schema: Schema { language, data: b"string data\n".to_vec() },
        md5: Some("992ce8a1687cec8c8bd883ec73ca41d1".to_owned()),
        ..Channel::default()
    }
}

/// A bag with a message at each of these seconds, and whose text is the topic with the second.
pub fn begin(
    path: PathBuf,
    storage: Storage,
    messages: &[(&str, Encoding, u64)],
) -> Box<dyn BagWriter + Send> {
    let file = NewFile::of_recording(path, storage);
    let mut writer = file.create((storage, Compression::None.into()), Profile::None).expect("a bag");
    for (topic, encoding, second) in messages {
        let id = writer.add_channel(&channel(topic, encoding.clone())).expect("a channel");
        let (time, text) = (second * 1_000_000_000, format!("{topic}{second}"));
        let data = text.as_bytes().into();
        let message = NewMessage { channel: id, log_time: time, publish_time: time, sequence: 0, data };
        writer.write(&message).expect("it is written");
    }
    writer
}

pub fn write(folder: &TempDir, name: &str, storage: Storage, messages: &[(&str, Encoding, u64)]) {
    let path = folder.path().join(name);
    begin(path.clone(), storage, messages).finish().expect("it is written");
    NewFile::of_recording(path, storage).complete().expect("it is free");
}

/// The texts of a bag in their order, and its format.
pub fn content(folder: &TempDir, name: &str) -> (String, Format) {
    read(&folder.path().join(name))
}

fn read(path: &Path) -> (String, Format) {
    let mut reader = files::open(path).expect("a bag");
    let format = reader.summary().format;
    let messages: Vec<Message> =
        reader.messages(&Selection::default()).collect::<Result<_, _>>().expect("sound");
    let text = |message: &Message| String::from_utf8_lossy(&message.data).into_owned();
    (messages.iter().map(text).collect::<Vec<_>>().join(" "), format)
}

/// The names of all files.
pub fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("a file"))).collect();
    names.sort();
    names
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn conversion_keeps_messages_in_either_format() {
    let folder = folder();
    let messages = [("/a", Encoding::Ros1, 1), ("/b", Encoding::Ros1, 2)];
    write(&folder, "x.bag", Storage::Rosbag, &messages);
    bag(&folder, "convert @x.bag @y.mcap --compression zstd").expect("it is converted");
    assert_eq!(content(&folder, "y.mcap"), ("/a1 /b2".to_owned(), Format::Mcap));
    bag(&folder, "convert @y.mcap @z.bag").expect("it is converted");
    assert_eq!(content(&folder, "z.bag"), ("/a1 /b2".to_owned(), Format::Rosbag));
    let refused = bag(&folder, "convert @y.mcap @z.bag").expect_err("it exists").to_string();
    assert!(refused.contains("the file exists"), "{refused}");
}

#[test]
fn generations_are_split_into_two_files() {
    let folder = folder();
    let messages = [("/a", Encoding::Ros1, 1), ("/b", Encoding::Cdr, 2), ("/a", Encoding::Ros1, 3)];
    write(&folder, "x.mcap", Storage::Mcap, &messages);
    bag(&folder, "convert @x.mcap @y.mcap --split-generations").expect("it is converted");
    assert_eq!(content(&folder, "y_ros1.mcap").0, "/a1 /a3");
    assert_eq!(content(&folder, "y_ros2.mcap").0, "/b2");
    let refused = bag(&folder, "convert @x.mcap @y.bag").expect_err("ROS 2 in rosbag").to_string();
    assert!(refused.contains("topic /b") && refused.contains("Try: "), "{refused}");
    assert_eq!(
        names(&folder),
        ["x.mcap", "y_ros1.mcap", "y_ros2.mcap"],
        "no part of the refused bag is left"
    );
}

#[test]
fn refused_repair_leaves_the_bag_as_it_is() {
    let folder = folder();
    write(&folder, "x.mcap", Storage::Mcap, &[("/a", Encoding::Ros1, 1)]);
    for taken in ["x.orig.mcap", "x.mcap.partial"] {
        let taken = folder.path().join(taken);
        fs::write(&taken, "mine").expect("a file");
        let refused = bag(&folder, "reindex --force @x.mcap").expect_err("a name is taken").to_string();
        assert!(refused.contains("the file exists"), "{refused}");
        assert_eq!(fs::read(&taken).expect("a file"), b"mine");
        fs::remove_file(&taken).expect("a file");
        assert_eq!(names(&folder), ["x.mcap"]);
    }
    bag(&folder, "reindex --force @x.mcap").expect("all names are free");
    assert_eq!(names(&folder), ["x.mcap", "x.orig.mcap"]);
}

#[test]
fn merged_messages_are_in_the_order_of_their_times() {
    let folder = folder();
    write(&folder, "x.bag", Storage::Rosbag, &[("/a", Encoding::Ros1, 1), ("/a", Encoding::Ros1, 4)]);
    write(&folder, "y.mcap", Storage::Mcap, &[("/b", Encoding::Cdr, 2), ("/b", Encoding::Cdr, 5)]);
    bag(&folder, "merge @x.bag @y.mcap @z.mcap").expect("they are merged");
    assert_eq!(content(&folder, "z.mcap").0, "/a1 /b2 /a4 /b5");
}

#[test]
fn messages_are_selected_by_topic_and_time() {
    let folder = folder();
    let messages = [10, 11, 12, 13].map(|second| ("/a", Encoding::Ros1, second));
    write(&folder, "x.mcap", Storage::Mcap, &[&messages[..], &[("/b", Encoding::Ros1, 14)]].concat());
    bag(&folder, "cut @x.mcap @y.mcap --start 1 --end 2").expect("it is cut");
    assert_eq!(content(&folder, "y.mcap").0, "/a11 /a12");
    bag(&folder, "filter @x.mcap @z.mcap --topics b").expect("it is filtered");
    assert_eq!(content(&folder, "z.mcap").0, "/b14");
    let refused = bag(&folder, "filter @x.mcap @w.mcap --topics /c").expect_err("no such topic");
    assert!(refused.to_string().contains("topic /c is not in the bag"), "{refused}");
    assert!(!folder.path().join("w.mcap").exists());
}

#[test]
fn unfinished_bags_are_repaired() {
    let folder = folder();
    for (storage, name, complete, backup) in [
        (Storage::Mcap, "x.mcap", "x.mcap", "x.orig.mcap"),
        (Storage::Rosbag, "x.bag.active", "x.bag", "x.bag.active"),
    ] {
        let messages = [("/a", Encoding::Ros1, 1), ("/b", Encoding::Ros1, 2)];
        let mut unfinished = begin(folder.path().join(complete), storage, &messages);
        unfinished.flush().expect("it is written");
        drop(unfinished);
        let bytes = fs::read(folder.path().join(name)).expect("a file");
        assert!(matches!(bag(&folder, &format!("check @{name}")), Err(CliError::Answered)));
        bag(&folder, &format!("reindex @{name}")).expect("it is repaired");
        assert_eq!(content(&folder, complete).0, "/a1 /b2");
        assert_eq!(fs::read(folder.path().join(backup)).expect("the old file"), bytes, "it is kept");
        bag(&folder, &format!("check @{complete}")).expect("it is good");
    }
}

#[test]
fn known_definitions_are_added() {
    let folder = folder();
    let path = folder.path().join("x.mcap");
    let mut writer = begin(path, Storage::Mcap, &[]);
    let unknown = Channel { schema: Schema::default(), ..channel("/a", Encoding::Ros1) };
    let id = writer.add_channel(&unknown).expect("a channel");
    let message =
        NewMessage { channel: id, log_time: 1, publish_time: 1, sequence: 0, data: b"x"[..].into() };
    writer.write(&message).expect("it is written");
    writer.finish().expect("it is written");
    bag(&folder, "convert @x.mcap @y.mcap").expect("it is converted");
    let reader = files::open(&folder.path().join("y.mcap")).expect("a bag");
    assert!(reader.channels()[0].schema.data.starts_with(b"string data"), "{:?}", reader.channels());
}

#[test]
fn attachments_are_copied() {
    let folder = folder();
    let attachment = |name: &str| Attachment {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        log_time: 3,
        create_time: 2,
        data: name.repeat(1000).into_bytes(),
    };
    for name in ["x", "y"] {
        let messages = [("/a", Encoding::Ros1, 1), ("/b", Encoding::Cdr, 2)];
        let mut writer = begin(folder.path().join(format!("{name}.mcap")), Storage::Mcap, &messages);
        assert!(writer.add_attachment(&attachment(name)).expect("it is written"));
        writer.finish().expect("it is written");
    }
    let copied = |name: &str| -> Vec<Attachment> {
        let mut reader = files::open(&folder.path().join(name)).expect("a bag");
        reader.read_attachments().collect::<Result<_, _>>().expect("sound")
    };
    bag(&folder, "merge @x.mcap @y.mcap @both.mcap").expect("they are merged");
    assert_eq!(copied("both.mcap"), ["x", "y"].map(attachment));
    assert_eq!(content(&folder, "both.mcap").0, "/a1 /a1 /b2 /b2");
    bag(&folder, "convert @x.mcap @z.mcap --split-generations").expect("it is converted");
    assert_eq!(["z_ros1.mcap", "z_ros2.mcap"].map(copied), [vec![attachment("x")], vec![attachment("x")]]);
    bag(&folder, "filter @x.mcap @z.bag --topics /a").expect("without the attachment");
    assert!(copied("z.bag").is_empty());
}

/// The checksum of the attachment is wrong.
#[test]
fn damaged_attachment_is_left_out() {
    let folder = folder();
    let path = folder.path().join("x.mcap");
    let mut writer = begin(path.clone(), Storage::Mcap, &[("/a", Encoding::Ros1, 1)]);
    let attachment = Attachment { data: b"to be damaged".to_vec(), ..Attachment::default() };
    writer.add_attachment(&attachment).expect("it is written");
    writer.finish().expect("it is written");
    let mut bytes = fs::read(&path).expect("a file");
    let place = bytes.windows(13).position(|bytes| bytes == attachment.data).expect("it is there");
    bytes[place] ^= 1;
    fs::write(&path, bytes).expect("a file");
    let mut inputs = Inputs::open(&[path]).expect("a bag");
    let output = NewBag::default().create(&folder.path().join("y.mcap"), &inputs).expect("a bag");
    let mut progress = ReadingProgress::hidden("");
    let done = transfer(&mut inputs, &Wanted::default(), vec![output], first_output, &mut progress);
    assert_eq!(done.expect("it is copied").damaged, 1);
    assert_eq!(content(&folder, "y.mcap").0, "/a1");
}
