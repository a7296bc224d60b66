//! Index of a bag: read from its end, or made anew from the whole file.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Read, Seek};

use super::channel;
use super::chunk::ChunkMessage;
use super::records::Op;
use super::source::{Head, Source};
use super::stored_chunk::{self, StoredChunk};
use crate::chunks::{Entry, LoadedChunk, time_range};
use crate::limits::ChannelBudget;
use crate::{Channel, ChannelId, ChunkInfo, Error};

/// Longest record of a channel or of a chunk's entry in the index, in bytes.
const LONGEST_ENTRY: u32 = 64 << 20;

/// Channels and chunks of a bag.
#[derive(Default)]
pub(super) struct Index {
    pub(super) channels: Vec<Channel>,
    /// Number of messages of each channel.
    pub(super) counts: Vec<u64>,
    pub(super) chunks: Vec<ChunkInfo>,
    /// The channels by their ids in the file.
    ids: BTreeMap<u32, ChannelId>,
    budget: ChannelBudget,
}

impl Index {
    /// Adds a channel unless its id is known: chunks and the index repeat channels. Channels beyond the limits are left
    /// out.
    fn add(&mut self, id: u32, channel: Channel) {
        if !self.ids.contains_key(&id) && self.budget.admits(&channel) {
            self.ids.insert(id, ChannelId(self.channels.len() as u32));
            self.channels.push(channel);
            self.counts.push(0);
        }
    }

    fn count(&mut self, channel: ChannelId, messages: u64) {
        let count = &mut self.counts[channel.index()];
        *count = count.saturating_add(messages);
    }

    fn id(&self, at: u64, id: u32) -> Result<ChannelId, Error> {
        self.ids.get(&id).copied().ok_or(Error::UndefinedChannel { at, id })
    }

    /// The chunk at `at` with the channels of this bag.
    pub(super) fn loaded(&self, at: u64, chunk: StoredChunk) -> Result<LoadedChunk, Error> {
        let entry = |message: &ChunkMessage| {
            let ChunkMessage { time, channel, start, end } = *message;
            let channel = self.id(at, channel)?;
            Ok(Entry { channel, log_time: time, publish_time: time, sequence: 0, start, end })
        };
        let entries = chunk.contents.messages.iter().map(entry).collect::<Result<_, Error>>()?;
        Ok(LoadedChunk { data: chunk.data, entries })
    }

    fn add_channel_record<R: Read + Seek>(
        &mut self,
        source: &mut Source<R>,
        head: &Head,
    ) -> Result<(), Error> {
        let data = source.data(head, LONGEST_ENTRY)?;
        let (id, channel) = channel::parse(head.fields(), &data)
            .ok_or_else(|| head.malformed("the channel's record lacks a field"))?;
        self.add(id, channel);
        Ok(())
    }
}

/// Reads the index at this position.
pub(super) fn index<R: Read + Seek>(
    source: &mut Source<R>,
    header: &Head,
    position: u64,
) -> Result<Index, Error> {
    let counts = (header.fields().u32("conn_count"), header.fields().u32("chunk_count"));
    let (Some(channels), Some(chunks)) = counts else {
        return Err(header.malformed("the bag header lacks the number of channels or chunks"));
    };
    let mut index = Index::default();
    let mut at = position;
    for _ in 0..channels {
        let head = expect(source, at, Op::Connection, "the index lacks a channel")?;
        index.add_channel_record(source, &head)?;
        at = head.end();
    }
    let mut positions = HashSet::new();
    for _ in 0..chunks {
        let head = expect(source, at, Op::ChunkInfo, "the index lacks a chunk")?;
        let data = source.data(&head, LONGEST_ENTRY)?;
        let info = chunk_info(&mut index, &head, &data)?;
        if info.position >= position || !positions.insert(info.position) {
            return Err(head.malformed("the index has a false position of a chunk"));
        }
        index.chunks.push(info);
        at = head.end();
    }
    // A chunk without messages has no times.
    index.chunks.retain(|chunk| chunk.channels.as_ref().is_some_and(|channels| !channels.is_empty()));
    Ok(index)
}

fn expect<R: Read + Seek>(
    source: &mut Source<R>,
    at: u64,
    op: Op,
    reason: &'static str,
) -> Result<Head, Error> {
    let head = source.head(at)?;
    if head.fields().op() == Some(op as u8) { Ok(head) } else { Err(head.malformed(reason)) }
}

fn chunk_info(index: &mut Index, head: &Head, data: &[u8]) -> Result<ChunkInfo, Error> {
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
        let channel = index.id(head.at, u32::from_le_bytes(*id))?;
        index.count(channel, u32::from_le_bytes(*count).into());
        channels.push(channel);
    }
    Ok(ChunkInfo { position, start, end, channels: Some(channels), is_damaged: false })
}

/// Makes the index anew from the records that begin at `at`; zeros at the end are padding. Also returns the first
/// damage, after which nothing is read.
pub(super) fn file<R: Read + Seek>(
    source: &mut Source<R>,
    mut at: u64,
) -> Result<(Index, Option<Error>), Error> {
    let mut index = Index::default();
    while at < source.len() {
        let head = match source.head(at) {
            Ok(head) => head,
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Err(_) if source.is_zero_from(at)? => break,
            Err(damage) => return Ok((index, Some(damage))),
        };
        if head.fields().op().is_none() && source.is_zero_from(at)? {
            break;
        }
        match scan_record(source, &head, &mut index) {
            Ok(None) if head.end() > source.len() => return Ok((index, Some(Error::Truncated { at }))),
            Ok(None) => at = head.end(),
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Ok(Some(damage)) | Err(damage) => return Ok((index, Some(damage))),
        }
    }
    Ok((index, None))
}

/// Adds a record to the index; returns the damage of a chunk of which a part is added.
fn scan_record<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
    index: &mut Index,
) -> Result<Option<Error>, Error> {
    match head.fields().op().and_then(Op::from_number) {
        Some(Op::Chunk) => scan_chunk(source, head, index),
        Some(Op::Connection) => index.add_channel_record(source, head).map(|()| None),
        _ => Ok(None),
    }
}

fn scan_chunk<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
    index: &mut Index,
) -> Result<Option<Error>, Error> {
    let (mut chunk, damage) = stored_chunk::load(source, head)?;
    for (id, channel) in std::mem::take(&mut chunk.contents.channels) {
        index.add(id, channel);
    }
    let chunk = index.loaded(head.at, chunk)?;
    if let Some([start, end]) = time_range(&chunk.entries) {
        let mut channels = BTreeSet::new();
        for entry in &chunk.entries {
            index.count(entry.channel, 1);
            channels.insert(entry.channel);
        }
        let channels = Some(channels.into_iter().collect());
        let is_damaged = damage.is_some();
        index.chunks.push(ChunkInfo { position: head.at, start, end, channels, is_damaged });
    }
    Ok(damage)
}
