use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor};
use std::path::Path;

use crate::disk::{Disk, MemoryDisk, Plain};
use crate::mcap::Profile;
use crate::rosbag2::{
    BagFile, BagMetadata, CUSTOM_DATA, CompressionMode, Folder, METADATA_FILE, Reader, Writer,
};
use crate::{
    BagReader, BagWriter, Channel, ChannelId, Encoding, Error, Format, Message, NewMessage, Selection,
    Summary, mcap, open,
};

/// A folder of the file system.
pub(super) struct Real<'a>(pub(super) &'a Path);

impl Folder for Real<'_> {
    type Disk = Plain<fs::File>;

    fn create(&mut self, name: &str) -> io::Result<Self::Disk> {
        Ok(Plain::new(fs::File::create_new(self.0.join(name))?))
    }

    fn write_metadata(&mut self, text: &str) -> io::Result<()> {
        fs::write(self.0.join(METADATA_FILE), text)
    }
}

pub(super) fn channel(topic: &str) -> Channel {
    Channel {
        topic: topic.into(),
        type_name: "std_msgs/msg/String".into(),
        encoding: Encoding::Cdr,
        offered_qos: Some("- reliability: 1\n".into()),
        ..Channel::default()
    }
}

pub(super) fn message(channel: ChannelId, log_time: u64, data: &[u8]) -> NewMessage<'_> {
    NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data: data.into() }
}

/// Three files of 10 messages each.
pub(super) fn write<F: Folder>(folder: F) -> Writer<F> {
    let mut writer = Writer::new(folder, "drive", Profile::Ros2, "jazzy").unwrap();
    writer.add_custom_data("robot", "r1");
    let channels = ["/a", "/b"].map(|topic| writer.add_channel(&channel(topic)).unwrap());
    for number in 0..30_u8 {
        if number > 0 && number % 10 == 0 {
            writer.split().unwrap();
        }
        let channel = channels[usize::from(number % 3 == 0)];
        writer.write(&message(channel, 1000 + u64::from(number), &[number])).unwrap();
    }
    writer
}

pub(super) fn numbers(reader: &mut dyn BagReader, selection: &Selection) -> Vec<u8> {
    reader.messages(selection).map(|message| message.unwrap().data[0]).collect()
}

#[test]
fn split_bag_is_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    write(Real(folder.path())).finish().unwrap();
    let mut reader = open(folder.path()).unwrap();
    assert!(reader.damage().is_none());
    let topics: Vec<_> = reader.channels().iter().map(|channel| &*channel.topic).collect();
    assert_eq!(topics, ["/a", "/b"]);
    let summary = reader.summary();
    assert_eq!((summary.format, summary.is_finished), (Format::Rosbag2Mcap, true));
    assert_eq!((summary.start, summary.end, &summary.counts[..]), (Some(1000), Some(1029), &[20, 10][..]));
    assert_eq!(reader.channels()[0].offered_qos.as_deref(), Some("- reliability: reliable\n"));
    assert_eq!(numbers(&mut *reader, &Selection::default()), (0..30).collect::<Vec<_>>());
    let (channels, start) = (Some(vec![ChannelId(1)]), Some(1010));
    let selection = Selection { channels, start, end: Some(1025) };
    assert_eq!(numbers(&mut *reader, &selection), [12, 15, 18, 21, 24]);
    let records = reader.metadata().unwrap();
    let record = &records[2].values["serialized_metadata"];
    assert!(record.starts_with("version: 9\nstorage_identifier: "), "without the root key: {record}");
    let last = BagMetadata::parse(record).unwrap();
    assert_eq!((records.len(), &*records[2].name, last.files.len()), (4, "rosbag2", 3));
    assert_eq!((&*records[3].name, &*records[3].values["robot"]), (CUSTOM_DATA, "r1"));
    let metadata =
        BagMetadata::parse(&fs::read_to_string(folder.path().join(METADATA_FILE)).unwrap()).unwrap();
    assert_eq!(metadata, last);
    assert_eq!((metadata.start, metadata.duration, metadata.message_count), (1000, 29, 30));
    assert_eq!((&*metadata.files[1].path, metadata.files[1].start), ("drive_1.mcap", 1010));
    assert_eq!(metadata.topics[0].offered_qos.as_deref(), Some("- reliability: reliable\n"));
}

/// More files than may be open at once.
#[test]
fn bag_of_many_files_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(Real(folder.path()), "x", Profile::Ros2, "").unwrap();
    let id = writer.add_channel(&channel("/a")).unwrap();
    for number in 0..100 {
        writer.write(&message(id, number, &[number as u8])).unwrap();
        writer.split().unwrap();
    }
    writer.finish().unwrap();
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    let mut reader = open(folder.path()).unwrap();
    assert!(open_files() < before + 50, "other tests open a few");
    assert_eq!(numbers(&mut *reader, &Selection::default()), (0..100).collect::<Vec<_>>());
}

/// The metadata list two of three files.
#[test]
fn bag_of_killed_recorder_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = write(Real(folder.path()));
    writer.flush().unwrap();
    drop(writer);
    for has_metadata in [true, false] {
        if !has_metadata {
            fs::remove_file(folder.path().join(METADATA_FILE)).unwrap();
        }
        let mut reader = open(folder.path()).unwrap();
        assert!(!reader.summary().is_finished && reader.damage().is_none());
        assert_eq!(numbers(&mut *reader, &Selection::default()), (0..30).collect::<Vec<_>>());
    }
    fs::write(folder.path().join(METADATA_FILE), "rosbag2_bag").unwrap();
    let mut reader = open(folder.path()).unwrap();
    assert!(reader.damage().unwrap().to_string().starts_with("metadata.yaml: "));
    assert_eq!(numbers(&mut *reader, &Selection::default()).len(), 30);
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| open(path).err().unwrap().to_string();
    let missing = folder.path().join("missing.bag");
    assert!(refused(&missing).starts_with(&format!("{}: ", missing.display())));
    assert!(refused(folder.path()).ends_with("no known signature"));
    write(Real(folder.path())).finish().unwrap();
    fs::write(folder.path().join("drive_1.mcap"), "nothing").unwrap();
    let expected = format!("{}: drive_1.mcap: not a bag", folder.path().display());
    assert!(refused(folder.path()).starts_with(&expected), "{}", refused(folder.path()));
}

/// A file whose name says nothing, with one message.
#[test]
fn format_is_recognized_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bag.txt");
    let mut mcap = mcap::Writer::new(fs::File::create(&path).unwrap(), Profile::Ros2).unwrap();
    let id = mcap.add_channel(&channel("/a")).unwrap();
    mcap.write(&message(id, 1, b"1")).unwrap();
    mcap.finish().unwrap();
    assert_eq!(open(&path).unwrap().summary().format, Format::Mcap);
    let mut bag = crate::rosbag::Writer::new(fs::File::create(&path).unwrap()).unwrap();
    bag.finish().unwrap();
    assert_eq!(open(&path).unwrap().summary().format, Format::Rosbag);
}

/// Files in memory.
#[derive(Default)]
struct Memory {
    text: String,
    limit: usize,
}

impl Folder for Memory {
    type Disk = MemoryDisk;

    fn create(&mut self, _name: &str) -> io::Result<Self::Disk> {
        self.limit = self.limit.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(MemoryDisk::new(512, 4096))
    }

    fn write_metadata(&mut self, text: &str) -> io::Result<()> {
        self.text = text.to_owned();
        Ok(())
    }
}

#[test]
fn full_folder_is_an_error_of_the_split() {
    let mut writer = Writer::new(Memory { limit: 1, ..Memory::default() }, "x", Profile::None, "").unwrap();
    assert!(matches!(writer.split(), Err(Error::Io(error)) if error.kind() == io::ErrorKind::StorageFull));
    assert!(BagMetadata::parse(&writer.into_folder().text).is_ok());
    let mut writer = Writer::new(Memory { limit: 1, ..Memory::default() }, "x", Profile::None, "").unwrap();
    writer.finish().unwrap();
    assert!(matches!(writer.split(), Err(Error::Finished)));
    assert_eq!(MemoryDisk::new(1, 1).block(), 1);
}

pub(super) fn mcap_bytes(messages: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = mcap::Writer::new(Cursor::new(Vec::new()), Profile::Ros2).unwrap();
    let id = writer.add_channel(&channel("/a")).unwrap();
    for (time, data) in messages {
        writer.write(&message(id, *time, data)).unwrap();
    }
    writer.finish().unwrap();
    writer.into_disk().into_inner().into_inner()
}

pub(super) fn mcap_file(messages: &[(u64, Vec<u8>)]) -> BagFile {
    let file = mcap_bytes(messages);
    BagFile { path: "file".into(), reader: Box::new(mcap::Reader::open(Cursor::new(file)).unwrap()) }
}

#[test]
fn files_that_overlap_are_merged() {
    let file = |times: &[u64]| {
        let messages: Vec<_> = times.iter().map(|time| (*time, vec![*time as u8])).collect();
        mcap_file(&messages)
    };
    let files = vec![file(&[5, 9, 20]), file(&[1, 6, 7, 30]), file(&[]), file(&[20, 21])];
    let mut reader = Reader::new(None, files).unwrap();
    assert_eq!(numbers(&mut reader, &Selection::default()), [1, 5, 6, 7, 9, 20, 20, 21, 30]);
    assert_eq!(reader.summary().counts, [9]);
}

#[test]
fn messages_of_one_time_are_in_the_order_of_the_files() {
    let files = vec![mcap_file(&[(20, vec![0])]), mcap_file(&[(1, vec![1]), (20, vec![2]), (20, vec![3])])];
    let mut reader = Reader::new(None, files).unwrap();
    assert_eq!(numbers(&mut reader, &Selection::default()), [1, 0, 2, 3]);
}

#[test]
fn unsupported_message_compression_is_refused() {
    let metadata = BagMetadata {
        compression_mode: CompressionMode::Message,
        compression_format: "brotli".into(),
        custom_data: BTreeMap::new(),
        ..BagMetadata::default()
    };
    let error = Reader::new(Some(&metadata), Vec::new()).err().unwrap();
    assert_eq!(error.to_string(), "message compression \"brotli\" is not supported");
}

/// The statistics of a file can say anything.
#[test]
fn sum_of_false_counts_is_limited() {
    let file = || {
        let mut file = mcap_file(&[(1, vec![1])]);
        let (summary, channels) = (file.reader.summary().clone(), file.reader.channels().to_vec());
        file.reader = Box::new(Claiming { summary: Summary { counts: vec![u64::MAX], ..summary }, channels });
        file
    };
    let reader = Reader::new(None, vec![file(), file()]).unwrap();
    assert_eq!(reader.summary().counts, [u64::MAX]);
}

/// A file with a false summary.
struct Claiming {
    summary: Summary,
    channels: Vec<Channel>,
}

impl BagReader for Claiming {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn damage(&self) -> Option<&Error> {
        None
    }

    fn messages(
        &mut self,
        _selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_> {
        Box::new(std::iter::empty())
    }
}
