//! Bag writer.

use std::io::{Seek, Write};

use super::records::{self, COMPRESSIONS, Fields, LATEST, MAGIC, Op, put, put_head};
use super::{channel, metadata};
use crate::chunks::{ChunkData, ChunkFormat, ChunkWriter, FinishedChunk};
use crate::disk::{BlockWriter, Disk, Plain};
use crate::{BagWriter, Channel, ChannelId, Compression, Error, Metadata, NewMessage};

/// Bytes of messages after which a chunk ends, as in rosbag.
const CHUNK: u64 = 768 << 10;

/// Longest message, in bytes. Lengths have 32 bits, and a chunk holds more than its messages.
const LONGEST: usize = 1 << 31;

/// A bag in progress. Data are written a chunk at a time; [`BagWriter::finish`] writes the last chunk and the index.
/// An unfinished bag has all chunks that were written; `rosbag reindex` repairs it.
pub struct Writer<D: Disk> {
    chunks: ChunkWriter<D, Chunks>,
    /// The record of each channel.
    channels: Vec<Vec<u8>>,
    /// Records of metadata.
    metadata: Vec<u8>,
}

/// The chunks in the file.
#[derive(Default)]
struct Chunks(Vec<WrittenChunk>);

struct WrittenChunk {
    position: u64,
    time_range: [u64; 2],
    counts: Vec<(ChannelId, u32)>,
}

impl<W: Write + Seek> Writer<Plain<W>> {
    /// Begins a bag in an empty output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(output: W) -> Result<Self, Error> {
        Self::on_disk(Plain::new(output))
    }
}

impl<D: Disk> Writer<D> {
    /// Begins a bag in an empty file.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn on_disk(disk: D) -> Result<Self, Error> {
        let start = start_of_file(0, 0, 0);
        let mut out = BlockWriter::new(disk).with_rewritable_start(start.len());
        out.append(&start)?;
        let chunks = ChunkWriter::new(out, Chunks::default(), CHUNK);
        Ok(Self { chunks, channels: Vec::new(), metadata: Vec::new() })
    }

    /// The disk with what it was given.
    pub fn into_disk(self) -> D {
        self.chunks.into_disk()
    }
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
        let id = ChannelId(self.channels.len() as u32);
        let record = channel::record(channel, id)?;
        self.chunks.define(&record);
        self.channels.push(record);
        Ok(id)
    }

    fn write(&mut self, message: &NewMessage<'_>) -> Result<(), Error> {
        self.chunks.check(message, self.channels.len())?;
        if message.log_time > LATEST {
            return Err(Error::TooLate { time: message.log_time });
        }
        self.chunks.write(message)
    }

    /// They are written at the end. Those of more than 64 MiB are left out.
    fn add_metadata(&mut self, metadata: &Metadata) -> Result<bool, Error> {
        self.chunks.check_unfinished()?;
        let record = metadata::record(metadata);
        self.metadata.extend(record.iter().flatten());
        Ok(record.is_some())
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

    fn finish(&mut self) -> Result<(), Error> {
        if !self.chunks.finish()? {
            return Ok(());
        }
        let index = self.chunks.out().position();
        let mut end = self.channels.concat();
        let Chunks(chunks) = self.chunks.format();
        let start = start_of_file(index, self.channels.len() as u32, chunks.len() as u32);
        chunks.iter().for_each(|chunk| chunk.put(&mut end));
        end.append(&mut self.metadata);
        let out = self.chunks.out();
        out.append(&end)?;
        // A header with the position of the index says that the bag is whole.
        out.sync()?;
        out.rewrite_start(&start)?;
        Ok(out.end()?)
    }
}

/// Everything before the first chunk.
fn start_of_file(index: u64, channels: u32, chunks: u32) -> Vec<u8> {
    [MAGIC, &records::bag_header(index, channels, chunks)].concat()
}

impl ChunkFormat for Chunks {
    const LONGEST_MESSAGE: usize = LONGEST;
    const LONGEST: u64 = LONGEST as u64;

    fn has_compression(compression: Compression) -> bool {
        COMPRESSIONS.contains(&compression)
    }

    /// LZ4 and bzip2 have checksums of their own.
    fn has_checksum(compression: Compression) -> bool {
        compression == Compression::None
    }

    fn put_message_head(message: &NewMessage<'_>, record: &mut Vec<u8>) {
        let fields = Fields::of(Op::Message)
            .with("conn", &message.channel.0.to_le_bytes())
            .with("time", &records::time(message.log_time));
        put_head(record, &fields, message.data.len());
    }

    fn chunk_head(data: &ChunkData) -> Vec<u8> {
        let mut fields = Fields::of(Op::Chunk)
            .with("compression", data.compression.name().as_bytes())
            .with("size", &(data.len as u32).to_le_bytes());
        if Self::has_checksum(data.compression) {
            fields = fields.with(records::CHECKSUM, &data.checksum.to_le_bytes());
        }
        let mut head = Vec::new();
        put_head(&mut head, &fields, data.stored as usize);
        head
    }

    fn end_chunk(&mut self, chunk: FinishedChunk) -> Vec<u8> {
        let counts = chunk.index.channels().map(|(channel, entries)| (channel, entries.len() as u32));
        let counts = counts.collect();
        self.0.push(WrittenChunk { position: chunk.position, time_range: chunk.data.time_range, counts });
        let mut records = Vec::new();
        for (channel, entries) in chunk.index.channels() {
            put_index(&mut records, channel, entries);
        }
        records
    }
}

impl WrittenChunk {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { position, time_range: [start, end], counts } = self;
        let fields = Fields::of(Op::ChunkInfo)
            .with("ver", &1_u32.to_le_bytes())
            .with("chunk_pos", &position.to_le_bytes())
            .with("start_time", &records::time(*start))
            .with("end_time", &records::time(*end))
            .with("count", &(counts.len() as u32).to_le_bytes());
        let data: Vec<u8> = counts
            .iter()
            .flat_map(|(channel, count)| [channel.0, *count])
            .flat_map(u32::to_le_bytes)
            .collect();
        put(out, fields, &data);
    }
}

fn put_index(out: &mut Vec<u8>, channel: ChannelId, entries: &[(u64, u64)]) {
    let fields = Fields::of(Op::Index)
        .with("ver", &1_u32.to_le_bytes())
        .with("conn", &channel.0.to_le_bytes())
        .with("count", &(entries.len() as u32).to_le_bytes());
    let mut data = Vec::with_capacity(12 * entries.len());
    for (time, offset) in entries {
        data.extend(records::time(*time));
        data.extend((*offset as u32).to_le_bytes());
    }
    put(out, fields, &data);
}
