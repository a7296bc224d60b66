//! Chunks of messages, which rosbag's format 2.0 and MCAP share.
//!
//! A reader has a file with its index ([`IndexedFile`]) and merges the messages of all chunks by time ([`Messages`]). A
//! writer collects messages in a chunk, in the disk's buffer or compressed ([`ChunkWriter`]).

mod bag_index;
mod format;
mod index;
mod indexed_file;
mod merge;
mod open_chunk;
mod source;
mod writer;

use std::ops::Range;
use std::sync::Arc;

use crate::{ChannelId, Error};

pub(crate) use bag_index::BagIndex;
pub(crate) use format::{ChunkData, ChunkFormat, FinishedChunk};
pub(crate) use index::ChunkIndex;
pub(crate) use indexed_file::{FileIndex, IndexedFile};
pub(crate) use merge::Messages;
pub(crate) use source::Source;
pub(crate) use writer::ChunkWriter;

/// A chunk of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Position in the file, in bytes.
    pub position: u64,
    /// Log time of the earliest message, in nanoseconds since 1970.
    pub start: u64,
    /// Log time of the latest message, in nanoseconds since 1970.
    pub end: u64,
    /// The channels of the messages; `None` if they are unknown.
    pub channels: Option<Vec<ChannelId>>,
    /// Whether the file ends within the chunk or the chunk is damaged, and only its first messages can be read.
    pub is_damaged: bool,
}

/// A message's place in its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) channel: ChannelId,
    pub(crate) log_time: u64,
    pub(crate) publish_time: u64,
    pub(crate) sequence: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Entry {
    /// Place of the message's bytes in the chunk.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// A chunk in memory.
pub(crate) struct LoadedChunk {
    /// The decompressed data.
    pub(crate) data: Arc<Vec<u8>>,
    /// The messages in the order of the file. Their bytes lie within the data.
    pub(crate) entries: Vec<Entry>,
}

/// A file with chunks.
pub(crate) trait ChunkSource {
    /// The chunks that have messages, in the order of the file.
    fn chunks(&self) -> &[ChunkInfo];

    /// Reads the chunk at this position in the list.
    ///
    /// # Errors
    /// Those of the input, and when the chunk is damaged but not known to be.
    fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error>;
}
