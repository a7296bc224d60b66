//! Writer of files.

use std::collections::BTreeMap;
use std::io::{Seek, Write};

use super::MAGIC;
use super::channel::{self, SchemaRecord};
use super::records::{Content, op};
use super::written_chunks::Chunks;
use crate::chunks::ChunkWriter;
use crate::disk::{BlockWriter, Disk, Plain};
use crate::{Attachment, BagWriter, Channel, ChannelId, Compression, Error, Metadata, NewMessage};

/// Bytes of messages after which a chunk ends.
const CHUNK: u64 = 1 << 20;

/// Most channels and most schemas: their ids have 16 bits and begin at 1.
const MOST_IDS: usize = u16::MAX as usize;

/// What the messages of a file have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Nothing: each channel says its encoding.
    #[default]
    None,
    /// All are of ROS 1.
    Ros1,
    /// All are of ROS 2.
    Ros2,
}

/// An MCAP file in progress. Data are written a chunk at a time; [`BagWriter::finish`] writes the last chunk and the
/// summary. An unfinished file has all chunks that were written.
pub struct Writer<D: Disk> {
    chunks: ChunkWriter<D, Chunks>,
    /// Ids of the schemas.
    schemas: BTreeMap<SchemaRecord, u16>,
    /// The records of schemas and of channels, for the summary.
    definitions: [Vec<u8>; 2],
    channels: usize,
    /// Records of the summary for attachments and for metadata, with their numbers.
    attachments: (u32, Vec<u8>),
    metadata: (u32, Vec<u8>),
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Ros1 => "ros1",
            Self::Ros2 => "ros2",
        }
    }
}

impl<W: Write + Seek> Writer<Plain<W>> {
    /// Begins a file in an empty output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(output: W, profile: Profile) -> Result<Self, Error> {
        Self::on_disk(Plain::new(output), profile)
    }
}

impl<D: Disk> Writer<D> {
    /// Begins an empty file.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn on_disk(disk: D, profile: Profile) -> Result<Self, Error> {
        let mut out = BlockWriter::new(disk);
        let header =
            Content::default().text(profile.name()).text(concat!("runnel ", env!("CARGO_PKG_VERSION")));
        out.append(MAGIC)?;
        out.append(&header.into_record(op::HEADER))?;
        Ok(Self {
            chunks: ChunkWriter::new(out, Chunks::default(), CHUNK),
            schemas: BTreeMap::new(),
            definitions: [Vec::new(), Vec::new()],
            channels: 0,
            attachments: (0, Vec::new()),
            metadata: (0, Vec::new()),
        })
    }

    /// The disk with what it was given.
    pub fn into_disk(self) -> D {
        self.chunks.into_disk()
    }

    /// The id of a channel's schema, 0 without one.
    fn schema(&mut self, channel: &Channel) -> Result<u16, Error> {
        let Some(schema) = SchemaRecord::of(channel) else { return Ok(0) };
        if let Some(id) = self.schemas.get(&schema) {
            return Ok(*id);
        }
        let id = next_id(self.schemas.len(), channel)?;
        let record = schema.record(id);
        self.chunks.define(&record);
        self.definitions[0].extend(record);
        self.schemas.insert(schema, id);
        Ok(id)
    }

    /// The summary section, which begins at `start`, and the footer.
    fn summary(&self, start: u64) -> Vec<u8> {
        let Chunks { indexes, .. } = self.chunks.format();
        let [schemas, channels] = &self.definitions;
        let statistics = self.statistics();
        let groups = [
            (op::SCHEMA, schemas),
            (op::CHANNEL, channels),
            (op::STATISTICS, &statistics),
            (op::CHUNK_INDEX, indexes),
            (op::ATTACHMENT_INDEX, &self.attachments.1),
            (op::METADATA_INDEX, &self.metadata.1),
        ];
        let (mut summary, mut offsets) = (Vec::new(), Vec::new());
        for (op, records) in groups.into_iter().filter(|(_, records)| !records.is_empty()) {
            let (at, len) = (start + summary.len() as u64, records.len() as u64);
            offsets.extend(Content::default().u8(op).u64(at).u64(len).into_record(op::SUMMARY_OFFSET));
            summary.extend(records);
        }
        let offsets_start = start + summary.len() as u64;
        summary.extend(offsets);
        let footer = Content::default().u64(start).u64(offsets_start);
        summary.extend(footer.into_record_start(op::FOOTER, 4));
        summary.extend(crc32fast::hash(&summary).to_le_bytes());
        summary.extend(MAGIC);
        summary
    }

    fn statistics(&self) -> Vec<u8> {
        let Chunks { chunks, counts, time_range, .. } = self.chunks.format();
        let [start, end] = time_range.unwrap_or_default();
        Content::default()
            .u64(counts.values().sum())
            .u16(self.schemas.len() as u16)
            .u32(self.channels as u32)
            .u32(self.attachments.0)
            .u32(self.metadata.0)
            .u32(*chunks)
            .u64(start)
            .u64(end)
            .numbers(counts)
            .into_record(op::STATISTICS)
    }
}

fn next_id(used: usize, channel: &Channel) -> Result<u16, Error> {
    if used < MOST_IDS {
        return Ok(used as u16 + 1);
    }
    let reason = "an MCAP file has at most 65535 channels and 65535 types";
    Err(Error::UnsupportedChannel { topic: channel.topic.clone(), reason })
}

impl<D: Disk> BagWriter for Writer<D> {
    fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.chunks.set_compression(compression)
    }

    #[cfg(feature = "files")]
    fn set_compression_threads(&mut self, threads: usize) -> Result<(), Error> {
        self.chunks.set_compression_threads(threads)
    }

    fn set_chunk_len(&mut self, bytes: u64) {
        self.chunks.set_chunk_len(bytes);
    }

    fn add_channel(&mut self, channel: &Channel) -> Result<ChannelId, Error> {
        self.chunks.check_unfinished()?;
        let id = next_id(self.channels, channel)?;
        let schema = self.schema(channel)?;
        let record = channel::record(channel, id, schema);
        self.chunks.define(&record);
        self.definitions[1].extend(record);
        self.channels += 1;
        Ok(ChannelId(u32::from(id) - 1))
    }

    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        self.chunks.check(message, self.channels)?;
        self.chunks.write(message)
    }

    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.chunks.check_unfinished()?;
        self.chunks.end_chunk()?;
        let record =
            Content::default().text(&metadata.name).texts(&metadata.values).into_record(op::METADATA);
        let out = self.chunks.out();
        let index = Content::default().u64(out.position()).u64(record.len() as u64).text(&metadata.name);
        out.append(&record)?;
        self.metadata.0 += 1;
        self.metadata.1.extend(index.into_record(op::METADATA_INDEX));
        Ok(true)
    }

    fn update_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.add_metadata(metadata)
    }

    fn add_attachment(&mut self, attachment: &Attachment) -> Result<bool, Error> {
        self.chunks.check_unfinished()?;
        self.chunks.end_chunk()?;
        let head = attachment.head();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(head.as_bytes());
        hasher.update(&attachment.data);
        let out = self.chunks.out();
        let position = out.position();
        out.append(&head.into_record_start(op::ATTACHMENT, attachment.data.len() as u64 + 4))?;
        out.append(&attachment.data)?;
        out.append(&hasher.finalize().to_le_bytes())?;
        let len = out.position() - position;
        self.attachments.0 += 1;
        self.attachments.1.extend(attachment.index(position, len));
        Ok(true)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.chunks.flush()
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.chunks.sync()
    }

    fn file_len(&self) -> u64 {
        self.chunks.file_len()
    }

    /// Writes the rest and the summary. The checksum of the data section is left out, since the chunks have theirs.
    fn finish(&mut self) -> Result<(), Error> {
        if !self.chunks.finish()? {
            return Ok(());
        }
        self.chunks.write_definitions()?;
        let end = Content::default().u32(0).into_record(op::DATA_END);
        self.chunks.out().append(&end)?;
        let start = self.chunks.out().position();
        let summary = self.summary(start);
        let out = self.chunks.out();
        out.append(&summary)?;
        Ok(out.end()?)
    }
}
