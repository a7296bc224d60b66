//! Chunks that a writer makes.

use std::collections::BTreeMap;

use super::chunk::LONGEST_CHUNK;
use super::records::{Content, MESSAGE_HEAD, op, put_head, put_message_index};
use crate::chunks::{ChunkData, ChunkFormat, FinishedChunk};
use crate::{ChannelId, Compression, NewMessage};

/// The chunks in the file, for the summary.
#[derive(Default)]
pub(super) struct Chunks {
    pub(super) chunks: u32,
    /// Their records in the summary.
    pub(super) indexes: Vec<u8>,
    /// Number of messages by the ids of their channels in the file.
    pub(super) counts: BTreeMap<u16, u64>,
    pub(super) time_range: Option<[u64; 2]>,
}

/// The id in the file.
fn file_id(channel: ChannelId) -> u16 {
    channel.0 as u16 + 1
}

fn compression_name(compression: Compression) -> &'static str {
    if compression == Compression::None { "" } else { compression.name() }
}

impl ChunkFormat for Chunks {
    const LONGEST_MESSAGE: usize = 2 << 30;
    const LONGEST: u64 = LONGEST_CHUNK;

    fn has_compression(compression: Compression) -> bool {
        compression != Compression::Bz2
    }

    fn has_checksum(_compression: Compression) -> bool {
        true
    }

    fn put_message_head(message: &NewMessage<'_>, record: &mut Vec<u8>) {
        put_head(record, op::MESSAGE, (MESSAGE_HEAD + message.data.len()) as u64);
        record.extend(file_id(message.channel).to_le_bytes());
        record.extend(message.sequence.to_le_bytes());
        record.extend(message.log_time.to_le_bytes());
        record.extend(message.publish_time.to_le_bytes());
    }

    fn chunk_head(data: &ChunkData) -> Vec<u8> {
        let [start, end] = data.time_range;
        Content::default()
            .u64(start)
            .u64(end)
            .u64(data.len)
            .u32(data.checksum)
            .text(compression_name(data.compression))
            .u64(data.stored)
            .into_record_start(op::CHUNK, data.stored)
    }

    fn end_chunk(&mut self, chunk: FinishedChunk) -> Vec<u8> {
        let mut records = Vec::new();
        let mut offsets = BTreeMap::new();
        for (channel, entries) in chunk.index.channels() {
            let id = file_id(channel);
            offsets.insert(id, chunk.end + records.len() as u64);
            *self.counts.entry(id).or_default() += entries.len() as u64;
            put_message_index(&mut records, id, entries);
        }
        let FinishedChunk { position, end, data, .. } = chunk;
        let [first, last] = data.time_range;
        let [start, latest] = self.time_range.unwrap_or(data.time_range);
        self.time_range = Some([start.min(first), latest.max(last)]);
        self.chunks += 1;
        let index = Content::default()
            .u64(first)
            .u64(last)
            .u64(position)
            .u64(end - position)
            .numbers(&offsets)
            .u64(records.len() as u64)
            .text(compression_name(data.compression))
            .u64(data.stored)
            .u64(data.len);
        self.indexes.extend(index.into_record(op::CHUNK_INDEX));
        records
    }
}
