//! Index of a file: what it has, and where.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::sync::Arc;

use super::attachment::AttachmentInfo;
use super::channel::{ChannelRecord, SchemaRecord};
use super::chunk::{ChunkHead, ChunkMessage, Contents};
use super::source::Source;
use crate::chunks::{ChunkSource, Entry, LoadedChunk};
use crate::limits::ChannelBudget;
use crate::{Channel, ChannelId, ChunkInfo, ChunkTotals, Compression, Error};

/// Channels, chunks and other records of a file.
#[derive(Default)]
pub(super) struct Index {
    pub(super) profile: String,
    pub(super) channels: Vec<Channel>,
    /// Number of messages of each channel.
    pub(super) counts: Vec<u64>,
    /// Log times of the earliest and latest message.
    pub(super) time_range: Option<[u64; 2]>,
    pub(super) chunks: Vec<ChunkInfo>,
    /// Lengths of the runs of messages outside of chunks, which are read like chunks, by position.
    pub(super) runs: BTreeMap<u64, u64>,
    pub(super) totals: Vec<(Compression, ChunkTotals)>,
    pub(super) attachments: Vec<AttachmentInfo>,
    /// Positions of the metadata records.
    pub(super) metadata: Vec<u64>,
    schemas: BTreeMap<u16, SchemaRecord>,
    /// The channels by their ids in the file.
    ids: BTreeMap<u16, ChannelId>,
    budget: ChannelBudget,
}

impl Index {
    pub(super) fn add_schema(&mut self, id: u16, schema: SchemaRecord) {
        self.schemas.entry(id).or_insert(schema);
    }

    /// Adds a channel unless its id is known: chunks and the summary repeat channels. Channels beyond the limits are
    /// left out.
    pub(super) fn add_channel(&mut self, record: ChannelRecord) {
        if self.ids.contains_key(&record.id) {
            return;
        }
        let (id, schema) = (record.id, self.schemas.get(&record.schema));
        let channel = record.into_channel(schema);
        if self.budget.admits(&channel) {
            self.ids.insert(id, ChannelId(self.channels.len() as u32));
            self.channels.push(channel);
            self.counts.push(0);
        }
    }

    /// The channel with this id in the file, which a record at `at` names.
    pub(super) fn id(&self, at: u64, id: u16) -> Result<ChannelId, Error> {
        self.ids.get(&id).copied().ok_or(Error::UndefinedChannel { at, id: id.into() })
    }

    /// Counts a message.
    pub(super) fn count(&mut self, channel: ChannelId, log_time: u64) {
        self.counts[channel.index()] += 1;
        let [start, end] = self.time_range.unwrap_or([log_time; 2]);
        self.time_range = Some([start.min(log_time), end.max(log_time)]);
    }

    /// The messages of the chunk or run at `at`.
    pub(super) fn loaded(&self, at: u64, contents: Contents) -> Result<LoadedChunk, Error> {
        let entry = |message: &ChunkMessage| {
            let ChunkMessage { channel, sequence, log_time, publish_time, start, end } = *message;
            Ok(Entry { channel: self.id(at, channel)?, log_time, publish_time, sequence, start, end })
        };
        let entries = contents.messages.iter().map(entry).collect::<Result<_, Error>>()?;
        Ok(LoadedChunk { data: Arc::new(contents.data), entries })
    }
}

/// A file with its index.
pub(super) struct IndexedFile<R> {
    pub(super) source: Source<R>,
    pub(super) index: Index,
}

impl<R: Read + Seek> ChunkSource for IndexedFile<R> {
    fn chunks(&self) -> &[ChunkInfo] {
        &self.index.chunks
    }

    fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error> {
        let ChunkInfo { position, is_damaged, .. } = self.index.chunks[chunk];
        if let Some(len) = self.index.runs.get(&position) {
            let contents = Contents::parse(self.source.range(position, position, *len)?);
            return self.index.loaded(position, contents);
        }
        let head = self.source.head(position)?;
        let (contents, damage) = ChunkHead::read(&mut self.source, &head)?.load(&mut self.source, &head)?;
        match damage {
            Some(error) if !is_damaged => Err(error),
            _ => self.index.loaded(position, contents),
        }
    }
}
