use std::fs;

use crate::files::Folder;
use crate::mcap::Profile;
use crate::rosbag2::{BagMetadata, FolderWriter, METADATA_FILE, SplitLimits, Writer};
use crate::{BagWriter, Channel, ChannelId, Compression, Encoding, Metadata, NewMessage, Selection, open};

fn channel(topic: &str) -> Channel {
    Channel {
        topic: topic.into(),
        type_name: "std_msgs/msg/String".into(),
        encoding: Encoding::Cdr,
        offered_qos: Some("- durability: 1\n".into()),
        ..Channel::default()
    }
}

fn write(writer: &mut impl BagWriter, channel: ChannelId, log_time: u64) {
    let data = [log_time as u8];
    let data = data[..].into();
    writer.write(&NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data }).unwrap();
}

/// The metadata on the disk.
fn metadata(folder: &std::path::Path) -> BagMetadata {
    BagMetadata::parse(&fs::read_to_string(folder.join(METADATA_FILE)).unwrap()).unwrap()
}

/// A recorder with a writer for each file. Each file has the channels in another order, begins with a latched message, and
/// has metadata of its own.
#[test]
fn files_of_a_recorder_are_one_bag() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("drive");
    let mut folder = FolderWriter::new(Folder::create(&path).unwrap(), "drive", "jazzy");
    folder.add_custom_data("robot", "r1");
    for number in 0..3_u64 {
        let mut file = folder.begin_file(Profile::Ros2).unwrap();
        file.set_compression(Compression::Lz4).unwrap();
        file.set_compression_threads(2).unwrap();
        file.set_chunk_len(1);
        let mut topics = ["/latched", "/a"];
        topics.rotate_left(number as usize % 2);
        let mut ids = topics.map(|topic| file.add_channel(&channel(topic)).unwrap());
        ids.rotate_left(number as usize % 2);
        write(&mut file, ids[0], 10 * number);
        (1..4).for_each(|step| write(&mut file, ids[1], 10 * number + step));
        let values = [("/a".to_owned(), number.to_string())].into();
        file.add_metadata(&Metadata { name: "loss".to_owned(), values }).unwrap();
        file.finish().unwrap();
        folder.write_metadata().unwrap();
        assert_eq!(metadata(&path), folder.metadata());
    }
    let known = metadata(&path);
    assert_eq!((known.start, known.duration, known.message_count), (0, 23, 12));
    let topics: Vec<_> = known.topics.iter().map(|topic| (&*topic.name, topic.message_count)).collect();
    assert_eq!(topics, [("/latched", 3), ("/a", 9)]);
    assert_eq!(known.topics[0].offered_qos.as_deref(), Some("- durability: transient_local\n"));
    assert_eq!((&*known.files[2].path, known.files[2].message_count), ("drive_2.mcap", 4));
    let mut reader = open(&path).unwrap();
    assert!(reader.damage().is_none());
    assert_eq!(reader.summary().counts, [3, 9]);
    assert!(reader.summary().chunks.iter().all(|(compression, _)| *compression == Compression::Lz4));
    let records = reader.metadata().unwrap();
    let names: Vec<_> = records.iter().map(|record| &*record.name).collect();
    assert_eq!(names, [&["loss", "rosbag2"].repeat(3)[..], &["custom_data"]].concat());
    for (number, record) in records.iter().filter(|record| record.name == "rosbag2").enumerate() {
        let of_file = BagMetadata::parse(&record.values["serialized_metadata"]).unwrap();
        assert_eq!((of_file.files.len(), &*of_file.custom_data["robot"]), (number + 1, "r1"));
    }
    assert_eq!(folder.forget_oldest().as_deref(), Some("drive_0.mcap"));
    folder.write_metadata().unwrap();
    fs::remove_file(path.join("drive_0.mcap")).unwrap();
    let mut reader = open(&path).unwrap();
    let times: Vec<_> =
        reader.messages(&Selection::default()).map(|message| message.unwrap().log_time).collect();
    assert_eq!(times, [10, 11, 12, 13, 20, 21, 22, 23]);
    assert_eq!((metadata(&path).start, metadata(&path).message_count), (10, 8));
}

/// The metadata list what was finished; the file in progress is found behind it.
#[test]
fn file_in_progress_is_read_without_its_metadata() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("drive");
    let mut folder = FolderWriter::new(Folder::create(&path).unwrap(), "drive", "");
    for is_finished in [true, false] {
        let mut file = folder.begin_file(Profile::Ros2).unwrap();
        let id = file.add_channel(&channel("/a")).unwrap();
        write(&mut file, id, 1);
        if is_finished { file.finish() } else { file.sync() }.unwrap();
        folder.write_metadata().unwrap();
    }
    assert_eq!(metadata(&path).files.len(), 1);
    assert_eq!(open(&path).unwrap().summary().counts, [2]);
    let why = Folder::create(&path).err().unwrap().to_string();
    assert!(why.starts_with(&format!("{}: cannot create the folder: ", path.display())), "{why}");
}

/// Each message has its time as its number.
#[test]
fn bag_begins_next_file_at_its_limits() {
    for (limits, expected) in [
        (SplitLimits { len: None, duration: Some(2) }, &[3, 3, 2][..]),
        (SplitLimits { len: Some(1), duration: None }, &[1; 8]),
        (SplitLimits::default(), &[8]),
    ] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("run");
        let mut writer = Writer::new(Folder::create(&path).unwrap(), "run", Profile::Ros2, "").unwrap();
        writer.set_split_limits(limits);
        let id = writer.add_channel(&channel("/a")).unwrap();
        (0..8).for_each(|time| write(&mut writer, id, time));
        writer.finish().unwrap();
        let counts: Vec<u64> = metadata(&path).files.iter().map(|file| file.message_count).collect();
        assert_eq!(counts, expected, "{limits:?}");
        let mut reader = open(&path).unwrap();
        let messages: Vec<u8> =
            reader.messages(&Selection::default()).map(|read| read.unwrap().data[0]).collect();
        assert_eq!(messages, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
