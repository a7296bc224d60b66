//! Chunks as they are stored in the file.

use std::io::{Read, Seek};
use std::sync::Arc;

use super::chunk::Contents;
use super::head::Head;
use super::records::{CHECKSUM, COMPRESSIONS, Op};
use crate::chunks::Source;
use crate::limits::longest_decompressed;
use crate::{Compression, Error};

/// A chunk in memory.
pub(super) struct StoredChunk {
    pub(super) data: Arc<Vec<u8>>,
    pub(super) contents: Contents,
}

/// Reads a chunk. Together with damage, returns what precedes it.
pub(super) fn load<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
) -> Result<(StoredChunk, Option<Error>), Error> {
    let (compression, size) = fields(head)?;
    let stored = u64::from(head.data_len).min(source.len().saturating_sub(head.data));
    let longest = longest_decompressed(stored);
    let is_truncated = head.end() > source.len();
    if !is_truncated && u64::from(size) > longest {
        return Err(head.malformed("the chunk is longer than 1024 times its compressed data"));
    }
    let mut data = Vec::new();
    let mut damage =
        match compression.decompress(head.data_stream(source)?, longest.min(size.into()), &mut data) {
            Ok(()) => None,
            Err(_) if is_truncated => Some(Error::Truncated { at: head.at }),
            Err(error) => Some(Error::Decompression { at: head.at, source: error }),
        };
    let checksum = head.fields().u32(CHECKSUM).unwrap_or(0);
    if damage.is_none() && checksum != 0 && checksum != crc32fast::hash(&data) {
        return Err(Error::Checksum { at: head.at });
    }
    let contents = Contents::parse(&data);
    if let (Some(reason), None) = (contents.damage, &damage) {
        damage = Some(head.malformed(reason));
    }
    Ok((StoredChunk { data: Arc::new(data), contents }, damage))
}

/// Compression and decompressed length of a chunk.
pub(super) fn fields(head: &Head) -> Result<(Compression, u32), Error> {
    let fields = head.fields();
    if fields.op() != Some(Op::Chunk as u8) {
        return Err(head.malformed("the index refers to a record that is no chunk"));
    }
    let name = fields.text("compression").ok_or_else(|| head.malformed("the chunk has no compression"))?;
    let size = fields.u32("size").ok_or_else(|| head.malformed("the chunk has no size"))?;
    let compression = COMPRESSIONS.into_iter().find(|compression| compression.name() == name);
    let compression = compression.ok_or(Error::UnsupportedCompression { at: head.at, name })?;
    Ok((compression, size))
}
