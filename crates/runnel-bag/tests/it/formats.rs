//! The formats that are tested, and the messages of the tests.

use std::io::Cursor;

use runnel_bag::disk::Disk;
use runnel_bag::mcap::Profile;
use runnel_bag::{
    BagReader, BagWriter, Channel, ChannelId, Compression, Encoding, Error, NewMessage, Schema,
    SchemaLanguage, Selection, mcap, rosbag,
};

use crate::random::Random;

/// Log time and bytes of a message.
pub type Logged = (u64, Vec<u8>);

/// What a reader finds.
#[derive(Default)]
pub struct Read {
    /// The messages that can be read.
    pub messages: Vec<Logged>,
    pub is_damaged: bool,
}

/// A format: its writer on a disk, and the messages that its reader finds.
pub struct Format<D> {
    pub name: &'static str,
    pub writer: fn(D) -> Result<Box<dyn BagWriter>, Error>,
    pub read: fn(Vec<u8>) -> Read,
    /// One of this many repetitions is enough for the short form of a test.
    pub share: u64,
}

impl<D> Format<D> {
    fn new(
        (name, share): (&'static str, u64),
        writer: fn(D) -> Result<Box<dyn BagWriter>, Error>,
        read: fn(Vec<u8>) -> Read,
    ) -> Self {
        Self { name, writer, read, share }
    }

    pub fn is_compressed(&self) -> bool {
        self.name.contains(" with ")
    }
}

const NONE: Compression = Compression::None;

/// Each compressed chunk begins with megabytes of buffers.
const SLOW: u64 = 10;

/// All formats of one file.
pub fn formats<D: Disk + 'static>() -> Vec<Format<D>> {
    vec![
        Format::new(("rosbag", 1), |disk| rosbag_writer(disk, NONE), rosbag),
        Format::new(("rosbag with lz4", SLOW), |disk| rosbag_writer(disk, Compression::Lz4), rosbag),
        Format::new(("rosbag with bz2", SLOW), |disk| rosbag_writer(disk, Compression::Bz2), rosbag),
        Format::new(("MCAP", 1), |disk| mcap_writer(disk, NONE), mcap),
        Format::new(("MCAP with lz4", SLOW), |disk| mcap_writer(disk, Compression::Lz4), mcap),
        Format::new(("MCAP with zstd", SLOW), |disk| mcap_writer(disk, Compression::Zstd), mcap),
    ]
}

fn rosbag_writer<D: Disk + 'static>(disk: D, compression: Compression) -> Result<Box<dyn BagWriter>, Error> {
    let mut writer = rosbag::Writer::on_disk(disk)?;
    writer.set_compression(compression)?;
    if compression != NONE {
        writer.set_compression_threads(2)?;
    }
    Ok(Box::new(writer))
}

fn mcap_writer<D: Disk + 'static>(disk: D, compression: Compression) -> Result<Box<dyn BagWriter>, Error> {
    let mut writer = mcap::Writer::on_disk(disk, Profile::Ros1)?;
    writer.set_compression(compression)?;
    Ok(Box::new(writer))
}

fn rosbag(bytes: Vec<u8>) -> Read {
    rosbag::Reader::open(Cursor::new(bytes)).map_or(Read::default(), |mut reader| read(&mut reader))
}

fn mcap(bytes: Vec<u8>) -> Read {
    mcap::Reader::open(Cursor::new(bytes)).map_or(Read::default(), |mut reader| read(&mut reader))
}

fn read(reader: &mut dyn BagReader) -> Read {
    let is_damaged = reader.damage().is_some();
    let messages = reader.messages(&Selection::default()).filter_map(Result::ok);
    let messages = messages.map(|message| (message.log_time, message.data.to_vec())).collect();
    Read { messages, is_damaged }
}

/// A channel of ROS 1, with a definition of some length.
pub fn add_channel(writer: &mut dyn BagWriter) -> Result<ChannelId, Error> {
    writer.add_channel(&Channel {
        topic: "/chatter".into(),
        type_name: "std_msgs/String".into(),
        encoding: Encoding::Ros1,
        schema: Schema { language: SchemaLanguage::Ros1Msg, data: "string data\n".repeat(20).into_bytes() },
        md5: Some("992ce8a1687cec8c8bd883ec73ca41d1".into()),
        ..Channel::default()
    })
}

/// Adds a message.
pub fn write(writer: &mut dyn BagWriter, channel: ChannelId, (time, bytes): &Logged) -> Result<(), Error> {
    writer.write(&NewMessage {
        channel,
        log_time: *time,
        publish_time: *time,
        sequence: 0,
        data: bytes[..].into(),
    })
}

/// A message of random length, with a time and content of its own.
pub fn random_message(random: &mut Random, number: usize) -> Logged {
    let longest = [10, 600, 9000, 40_000][random.below(4) as usize];
    let len = random.below(longest) as usize;
    let byte = |place: usize| (number * 31 + place / 3) as u8 | 1;
    ((number as u64 + 1) * 1_000_000, (0..len).map(byte).collect())
}
