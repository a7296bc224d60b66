//! Chunk in progress.

use std::io;

use crate::disk::{BlockWriter, Disk};
use crate::{Compression, NewMessage};

use super::{ChunkFormat, ChunkIndex};

/// A chunk in progress.
pub(super) struct OpenChunk {
    /// Position in the file, for a chunk in the disk's buffer.
    pub(super) position: Option<u64>,
    pub(super) compression: Compression,
    /// Length of the data so far, in bytes.
    pub(super) len: u64,
    pub(super) messages: usize,
    pub(super) index: ChunkIndex,
}

impl OpenChunk {
    pub(super) fn new(position: Option<u64>, compression: Compression) -> Self {
        Self { position, compression, len: 0, messages: 0, index: ChunkIndex::default() }
    }

    pub(super) fn add(&mut self, record: &Record<'_>) {
        let NewMessage { channel, log_time, .. } = *record.message;
        self.index.add(channel, log_time, self.len + record.offset);
        self.len += record.len();
        self.messages += 1;
    }
}

/// The record of a message, and the definitions that precede it.
pub(super) struct Record<'a> {
    /// The definitions and what precedes the message's bytes.
    pub(super) head: &'a [u8],
    /// Length of the definitions.
    pub(super) offset: u64,
    pub(super) message: &'a NewMessage<'a>,
}

impl Record<'_> {
    pub(super) fn len(&self) -> u64 {
        (self.head.len() + self.message.data.len()) as u64
    }

    /// Checksum of the record as an uncompressed chunk; 0 if the format has none.
    pub(super) fn checksum<F: ChunkFormat>(&self) -> u32 {
        if !F::has_checksum(Compression::None) {
            return 0;
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.head);
        self.message.data.for_each_part(|part| hasher.update(part));
        hasher.finalize()
    }

    pub(super) fn append_to<D: Disk>(&self, out: &mut BlockWriter<D>) -> io::Result<()> {
        out.append(self.head)?;
        out.append_message(self.message.data)
    }
}
