//! Bags of any format: reading and writing.

use std::collections::{BTreeMap, HashSet};
use std::{fmt, iter};

use runnel_core::wire;

use crate::{Attachment, Bytes, Channel, ChannelId, Compression, Error};

/// A bag of any format that is read.
pub trait BagReader {
    /// What is known without reading the messages.
    fn summary(&self) -> &Summary;

    /// The channels; a [`ChannelId`] is a position in them.
    fn channels(&self) -> &[Channel];

    /// The first damage of the bag: everything before it is read. Damaged chunks of a bag that has its index are
    /// errors of [`BagReader::messages`] instead.
    fn damage(&self) -> Option<&Error>;

    /// Iterates over the selected messages by log time; messages of one time are in the order of the bag. After an
    /// error it continues with the next chunk.
    fn messages(
        &mut self,
        selection: &Selection,
    ) -> Box<dyn Iterator<Item = Result<Message, Error>> + Send + '_>;

    /// The files of a bag that has several, in their order: their names, and the log times of their first messages. Files
    /// without messages are left out.
    fn file_starts(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Files that the metadata of a folder list, but that do not exist.
    fn missing_files(&self) -> &[String] {
        &[]
    }

    /// Named metadata of the bag. SQLite files have none.
    ///
    /// # Errors
    /// Those of the input, and when a record is malformed.
    fn metadata(&mut self) -> Result<Vec<Metadata>, Error> {
        Ok(Vec::new())
    }

    /// Reads the attachments one after another, in the order of the bag. Formats other than MCAP have none. Those of more
    /// than 1 GiB are errors.
    fn read_attachments(&mut self) -> Box<dyn Iterator<Item = Result<Attachment, Error>> + Send + '_> {
        Box::new(iter::empty())
    }
}

/// A bag of any format that is written.
pub trait BagWriter {
    /// Sets the compression of the chunks to come.
    ///
    /// # Errors
    /// When the format does not have it.
    fn set_compression(&mut self, compression: Compression) -> Result<(), Error>;

    /// Compresses the chunks to come on this many threads of their own, at least one. At most twice as many chunks are
    /// in memory. Without it, chunks are compressed by the caller.
    ///
    /// # Errors
    /// Those of the output, and if a thread cannot be started.
    #[cfg(feature = "files")]
    fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error>;

    /// Sets the length of messages at which the chunks to come end, in bytes. The default is that of the format.
    fn set_chunk_len(&mut self, bytes: u64);

    /// Adds a channel, so that its messages can be written.
    ///
    /// # Errors
    /// Those of the output, and when the format cannot have such a channel.
    fn add_channel(&mut self, channel: &Channel) -> Result<ChannelId, Error>;

    /// Adds a message. Messages of all channels should come in the order of their log times; those that do not are
    /// found, but reading them takes more memory.
    ///
    /// # Errors
    /// Those of the output, after which the bag cannot be continued. [`Error::TooLong`], and
    /// [`Error::UnknownChannel`] for an id that [`BagWriter::add_channel`] did not return.
    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error>;

    /// Adds named metadata, such as counts of lost messages; whether the format has them.
    ///
    /// # Errors
    /// Those of the output.
    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        let _ = metadata;
        Ok(false)
    }

    /// Adds metadata to the unfinished bag: the last ones of a name count, if it begins with `runnel.`. Whether the format
    /// can have metadata before it is finished.
    ///
    /// # Errors
    /// Those of the output.
    fn update_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        let _ = metadata;
        Ok(false)
    }

    /// Adds an attachment; whether the format has them.
    ///
    /// # Errors
    /// Those of the output.
    fn add_attachment(&mut self, attachment: &Attachment) -> Result<bool, Error> {
        let _ = attachment;
        Ok(false)
    }

    /// Ends the chunk and gives everything to the output: what has been written so far can be read from an unfinished
    /// bag.
    ///
    /// # Errors
    /// Those of the output.
    fn flush(&mut self) -> Result<(), Error>;

    /// Flushes, and waits until everything is safe from a power failure.
    ///
    /// # Errors
    /// Those of the output.
    fn sync(&mut self) -> Result<(), Error>;

    /// Length of the bag so far, in bytes.
    fn file_len(&self) -> u64;

    /// Writes the rest and the index.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(&mut self) -> Result<(), Error>;
}

/// A message to write.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    /// The message's channel.
    pub channel: ChannelId,
    /// When it was received, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was published, in nanoseconds since 1970; the log time if that is unknown.
    pub publish_time: u64,
    /// Its number at its publisher, 0 if unknown. Formats that cannot store it leave it out.
    pub sequence: u32,
    /// The serialized message.
    pub data: wire::Bytes<'a>,
}

/// A message of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message's channel.
    pub channel: ChannelId,
    /// When it was received, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was published, in nanoseconds since 1970; the log time in formats that do not store it.
    pub publish_time: u64,
    /// Its number at its publisher; 0 if unknown.
    pub sequence: u32,
    /// The serialized message.
    pub data: Bytes,
}

/// Named metadata of a bag: texts by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The name. Several records may have the same.
    pub name: String,
    /// The texts.
    pub values: BTreeMap<String, String>,
}

/// Begins names of metadata of which the last ones in a file count.
const REPLACED: &str = "runnel.";

impl Metadata {
    /// Those records of a file that no later one replaces.
    pub(crate) fn latest(records: Vec<Self>) -> Vec<Self> {
        let mut later = HashSet::new();
        let mut is_latest =
            |record: &Self| !record.name.starts_with(REPLACED) || later.insert(record.name.clone());
        let mut latest: Vec<Self> = records.into_iter().rev().filter(|record| is_latest(record)).collect();
        latest.reverse();
        latest
    }
}

/// The messages to read. Without limits it has all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only messages of these channels.
    pub channels: Option<Vec<ChannelId>>,
    /// Only messages of this log time and later, in nanoseconds since 1970.
    pub start: Option<u64>,
    /// Only messages of this log time and earlier, in nanoseconds since 1970.
    pub end: Option<u64>,
}

/// What is known of a bag without reading its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// Length of the bag's files, in bytes.
    pub len: u64,
    /// Whether the recorder finished the bag. An unfinished one has no index: opening it reads all of it.
    pub is_finished: bool,
    /// Log time of the earliest message, in nanoseconds since 1970; `None` without messages.
    pub start: Option<u64>,
    /// Log time of the latest message, in nanoseconds since 1970; `None` without messages.
    pub end: Option<u64>,
    /// Number of messages of each channel.
    pub counts: Vec<u64>,
    /// Number of chunks, and lengths of their data in the file and decompressed, in bytes, by compression.
    pub chunks: Vec<(Compression, ChunkTotals)>,
}

/// Totals of some chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkTotals {
    /// Number of chunks.
    pub count: u64,
    /// Length of their data in the file, in bytes.
    pub stored: u64,
    /// Length of their data decompressed, in bytes.
    pub decompressed: u64,
}

/// Format of a bag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// `rosbag`'s format 2.0.
    Rosbag,
    /// One MCAP file.
    Mcap,
    /// A folder of `ros2 bag` with MCAP files.
    Rosbag2Mcap,
    /// A folder of `ros2 bag` with SQLite files.
    Rosbag2Sqlite,
}

impl ChunkTotals {
    /// Adds a chunk to the totals of its compression.
    pub(crate) fn add(
        totals: &mut Vec<(Compression, Self)>,
        compression: Compression,
        stored: u64,
        decompressed: u64,
    ) {
        Self::add_all(totals, compression, Self { count: 1, stored, decompressed });
    }

    /// Adds chunks to the totals of their compression.
    pub(crate) fn add_all(totals: &mut Vec<(Compression, Self)>, compression: Compression, added: Self) {
        let place = totals.iter().position(|(known, _)| *known == compression).unwrap_or_else(|| {
            totals.push((compression, Self::default()));
            totals.len() - 1
        });
        let (_, total) = &mut totals[place];
        total.count = total.count.saturating_add(added.count);
        total.stored = total.stored.saturating_add(added.stored);
        total.decompressed = total.decompressed.saturating_add(added.decompressed);
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rosbag => "rosbag 2.0",
            Self::Mcap => "MCAP",
            Self::Rosbag2Mcap => "rosbag2 (MCAP)",
            Self::Rosbag2Sqlite => "rosbag2 (SQLite)",
        })
    }
}

impl Selection {
    /// Whether it has messages of this channel.
    pub fn has_channel(&self, channel: ChannelId) -> bool {
        self.channels.as_ref().is_none_or(|channels| channels.contains(&channel))
    }

    /// Whether it has messages of this log time.
    pub fn has_time(&self, log_time: u64) -> bool {
        self.overlaps(log_time, log_time)
    }

    /// Whether it has messages of a log time from `start` to `end`.
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start.is_none_or(|first| first <= end) && self.end.is_none_or(|last| start <= last)
    }
}

/// The channels of a selection, to be asked for each message.
pub(crate) struct SelectedChannels(Option<HashSet<ChannelId>>);

impl SelectedChannels {
    pub(crate) fn of(selection: &Selection) -> Self {
        Self(selection.channels.as_ref().map(|channels| channels.iter().copied().collect()))
    }

    pub(crate) fn has(&self, channel: ChannelId) -> bool {
        self.0.as_ref().is_none_or(|channels| channels.contains(&channel))
    }
}
