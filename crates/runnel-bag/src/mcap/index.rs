//! Index of a file: what it has, and where.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::sync::Arc;

use super::attachment::AttachmentInfo;
use super::channel::{ChannelRecord, SchemaRecord};
use super::chunk::{ChunkHead, ChunkMessage, Contents};
use super::head::Head;
use super::scan;
use crate::chunks::{BagIndex, Entry, FileIndex, LoadedChunk, Source};
use crate::{ChunkTotals, Compression, Error};

/// Channels, chunks and other records of a file.
#[derive(Default)]
pub(super) struct Index {
    pub(super) profile: String,
    pub(super) bag: BagIndex,
    /// Log times of the earliest and latest message.
    pub(super) time_range: Option<[u64; 2]>,
    /// Lengths of the runs of messages outside of chunks, which are read like chunks, by position.
    pub(super) runs: BTreeMap<u64, u64>,
    pub(super) totals: Vec<(Compression, ChunkTotals)>,
    pub(super) attachments: Vec<AttachmentInfo>,
    /// Positions of the metadata records.
    pub(super) metadata: Vec<u64>,
    schemas: BTreeMap<u16, SchemaRecord>,
}

impl Index {
    pub(super) fn add_schema(&mut self, id: u16, schema: SchemaRecord) {
        self.schemas.entry(id).or_insert(schema);
    }

    /// Adds a channel with its schema.
    pub(super) fn add_channel(&mut self, record: ChannelRecord) {
        let id = record.id.into();
        // Chunks and the summary repeat channels.
        if !self.bag.has_channel(id) {
            let schema = self.schemas.get(&record.schema);
            self.bag.add_channel(id, record.into_channel(schema));
        }
    }

    pub(super) fn extend_time_range(&mut self, [first, last]: [u64; 2]) {
        let [start, end] = self.time_range.unwrap_or([first, last]);
        self.time_range = Some([start.min(first), end.max(last)]);
    }

    /// The messages of the chunk or run at `at`.
    pub(super) fn loaded(&self, at: u64, contents: Contents) -> Result<LoadedChunk, Error> {
        let entry = |message: &ChunkMessage| {
            let ChunkMessage { channel, sequence, log_time, publish_time, start, end } = *message;
            let channel = self.bag.id(at, channel.into())?;
            Ok(Entry { channel, log_time, publish_time, sequence, start, end })
        };
        let entries = contents.messages.iter().map(entry).collect::<Result<_, Error>>()?;
        Ok(LoadedChunk { data: Arc::new(contents.data), entries })
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
        if let Some(len) = self.runs.get(&position) {
            let contents = Contents::parse(source.range(position, position, *len)?);
            return Ok((self.loaded(position, contents)?, None));
        }
        let head = Head::read(source, position)?;
        let (contents, damage) = ChunkHead::read(source, &head)?.load(source, &head)?;
        Ok((self.loaded(position, contents)?, damage))
    }
}
