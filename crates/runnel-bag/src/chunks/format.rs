//! What a format says about its chunks.

use crate::{Compression, NewMessage};

use super::ChunkIndex;

/// Records of a format with chunks.
pub(crate) trait ChunkFormat {
    /// Longest message, in bytes.
    const LONGEST_MESSAGE: usize;

    /// Length of a chunk's decompressed data at which the chunk ends before the next message, in bytes. A single
    /// message may exceed it.
    const LONGEST: u64;

    /// Whether chunks can have this compression.
    fn has_compression(compression: Compression) -> bool;

    /// Whether the head of a chunk with this compression has a checksum of the decompressed data.
    fn has_checksum(compression: Compression) -> bool;

    /// Appends what precedes the bytes of a message in its record.
    fn put_message_head(message: &NewMessage<'_>, record: &mut Vec<u8>);

    /// What precedes the data in the record of a chunk. Its length depends only on the compression.
    fn chunk_head(data: &ChunkData) -> Vec<u8>;

    /// Remembers the chunk for the end of the file; returns the records that follow it.
    fn end_chunk(&mut self, chunk: FinishedChunk) -> Vec<u8>;
}

/// What the head of a chunk says about the data.
#[derive(Default)]
pub(crate) struct ChunkData {
    pub(crate) compression: Compression,
    /// Earliest and latest log time.
    pub(crate) time_range: [u64; 2],
    /// Length of the data decompressed, in bytes.
    pub(crate) len: u64,
    /// Length of the data in the file, in bytes.
    pub(crate) stored: u64,
    /// Checksum of the decompressed data; 0 if it is unknown.
    pub(crate) checksum: u32,
}

/// A chunk whose data have been written.
pub(crate) struct FinishedChunk {
    /// Position in the file.
    pub(crate) position: u64,
    /// Position of the first byte behind it.
    pub(crate) end: u64,
    pub(crate) data: ChunkData,
    pub(crate) index: ChunkIndex,
}
