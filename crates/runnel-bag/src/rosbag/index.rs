//! Index of a bag: its channels and chunks.

use std::collections::HashSet;
use std::io::{Read, Seek};

use super::chunk::ChunkMessage;
use super::head::Head;
use super::records::Op;
use super::stored_chunk::{self, StoredChunk};
use super::{channel, metadata, scan};
use crate::chunks::{BagIndex, Entry, FileIndex, LoadedChunk, Source};
use crate::{ChunkInfo, Error};

/// Longest record of a channel or of a chunk's entry in the index, in bytes.
const LONGEST_ENTRY: u32 = 64 << 20;

/// Channels and chunks of a bag.
#[derive(Default)]
pub(super) struct Index {
    pub(super) bag: BagIndex,
    /// Positions of the records of metadata.
    pub(super) metadata: Vec<u64>,
}

impl Index {
    /// Reads the index at this position.
    pub(super) fn read<R: Read + Seek>(
        source: &mut Source<R>,
        header: &Head,
        position: u64,
    ) -> Result<Self, Error> {
        let counts = (header.fields().u32("conn_count"), header.fields().u32("chunk_count"));
        let (Some(channels), Some(chunks)) = counts else {
            return Err(header.malformed("the bag header lacks the number of channels or chunks"));
        };
        let mut index = Self::default();
        let mut at = position;
        for _ in 0..channels {
            let head = expect(source, at, Op::Connection, "the index lacks a channel")?;
            index.add_channel_record(source, &head)?;
            at = head.end();
        }
        let mut positions = HashSet::new();
        for _ in 0..chunks {
            let head = expect(source, at, Op::ChunkInfo, "the index lacks a chunk")?;
            let data = head.read_data(source, LONGEST_ENTRY)?;
            let info = index.chunk_info(&head, &data)?;
            if info.position >= position || !positions.insert(info.position) {
                return Err(head.malformed("the index has a false position of a chunk"));
            }
            // A chunk without messages has no times.
            if info.channels.as_ref().is_some_and(|channels| !channels.is_empty()) {
                index.bag.chunks.push(info);
            }
            at = head.end();
        }
        index.metadata = metadata::positions(source, at)?;
        Ok(index)
    }

    pub(super) fn add_channel_record<R: Read + Seek>(
        &mut self,
        source: &mut Source<R>,
        head: &Head,
    ) -> Result<(), Error> {
        let data = head.read_data(source, LONGEST_ENTRY)?;
        let (id, channel) = channel::parse(head.fields(), &data)
            .ok_or_else(|| head.malformed("the channel's record lacks a field"))?;
        self.bag.add_channel(id, channel);
        Ok(())
    }

    fn chunk_info(&mut self, head: &Head, data: &[u8]) -> Result<ChunkInfo, Error> {
        let fields = head.fields();
        let numbers = (fields.u64("chunk_pos"), fields.time("start_time"), fields.time("end_time"));
        let (Some(position), Some(start), Some(end)) = numbers else {
            return Err(head.malformed("the chunk's entry lacks a field"));
        };
        let (numbers, []) = data.as_chunks::<4>() else {
            return Err(head.malformed("the chunk's entry has a false length"));
        };
        let (pairs, []) = numbers.as_chunks::<2>() else {
            return Err(head.malformed("the chunk's entry has a false length"));
        };
        let mut channels = Vec::new();
        for [id, count] in pairs {
            let channel = self.bag.id(head.at, u32::from_le_bytes(*id))?;
            self.bag.count(channel, u32::from_le_bytes(*count).into());
            channels.push(channel);
        }
        Ok(ChunkInfo { position, start, end, channels: Some(channels), is_damaged: false })
    }

    /// The chunk at `at` with the channels of this bag.
    pub(super) fn loaded(&self, at: u64, chunk: StoredChunk) -> Result<LoadedChunk, Error> {
        let entry = |message: &ChunkMessage| {
            let ChunkMessage { time, channel, start, end } = *message;
            let channel = self.bag.id(at, channel)?;
            Ok(Entry { channel, log_time: time, publish_time: time, sequence: 0, start, end })
        };
        let entries = chunk.contents.messages.iter().map(entry).collect::<Result<_, Error>>()?;
        Ok(LoadedChunk { data: chunk.data, entries })
    }
}

impl FileIndex for Index {
    fn bag(&self) -> &BagIndex {
        &self.bag
    }

    fn scan<R: Read + Seek>(source: &mut Source<R>) -> Result<(Self, Option<Error>), Error> {
        scan::file(source)
    }

    fn load<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        position: u64,
    ) -> Result<(LoadedChunk, Option<Error>), Error> {
        let head = Head::read(source, position)?;
        let (chunk, damage) = stored_chunk::load(source, &head)?;
        Ok((self.loaded(position, chunk)?, damage))
    }
}

/// The head of the record at this position, if it is of this kind.
fn expect<R: Read + Seek>(
    source: &mut Source<R>,
    at: u64,
    op: Op,
    reason: &'static str,
) -> Result<Head, Error> {
    let head = Head::read(source, at)?;
    if head.fields().op() == Some(op as u8) { Ok(head) } else { Err(head.malformed(reason)) }
}
