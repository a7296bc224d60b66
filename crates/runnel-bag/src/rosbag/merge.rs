//! Messages of all chunks in the order of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{Read, Seek};
use std::sync::Arc;

use super::chunk::{Entry, order};
use super::connection::ConnectionId;
use super::reader::{ChunkInfo, Message, Reader, Selection};
use crate::{Bytes, Error};

/// Decompressed chunks in memory, in bytes. Chunks overlap in time where several threads wrote them; above the limit,
/// those that are needed last are read once more.
const MEMORY_LIMIT: usize = 256 << 20;

/// Iterates over the messages of a bag by time. After an error it continues with the next chunk.
pub struct Messages<'a, R> {
    reader: &'a mut Reader<R>,
    selection: Selection,
    /// Chunks to be opened, the earliest last.
    pending: Vec<usize>,
    open: BTreeMap<usize, OpenChunk>,
    /// The time of the next message of each open chunk.
    next: BinaryHeap<Reverse<((u32, u32), usize)>>,
    /// Bytes of the decompressed chunks in memory.
    loaded: usize,
    memory_limit: usize,
}

/// A chunk of which messages remain.
struct OpenChunk {
    /// The remaining messages, the earliest last.
    entries: Vec<(ConnectionId, Entry)>,
    /// `None` if it has to be read once more.
    data: Option<Arc<Vec<u8>>>,
}

impl<'a, R: Read + Seek> Messages<'a, R> {
    pub(super) fn new(reader: &'a mut Reader<R>, selection: &Selection) -> Self {
        let chunks = reader.chunks();
        let mut pending: Vec<usize> =
            (0..chunks.len()).filter(|chunk| selection.overlaps(&chunks[*chunk])).collect();
        pending.sort_by_key(|chunk| Reverse((order(chunks[*chunk].start), *chunk)));
        let selection = selection.clone();
        let (open, next) = (BTreeMap::new(), BinaryHeap::new());
        Self { reader, selection, pending, open, next, loaded: 0, memory_limit: MEMORY_LIMIT }
    }

    /// Limits the decompressed chunks in memory to this many bytes, but for one chunk. The default is 256 MiB.
    pub fn with_memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// The next chunk, if it may have a message that precedes those of all open chunks.
    fn chunk_to_open(&self) -> Option<usize> {
        let chunk = *self.pending.last()?;
        let start = order(self.reader.chunks()[chunk].start);
        match self.next.peek() {
            Some(Reverse((time, _))) if *time < start => None,
            _ => Some(chunk),
        }
    }

    fn open_chunk(&mut self, chunk: usize) -> Result<(), Error> {
        self.pending.pop();
        let loaded = self.reader.load(chunk)?;
        let mut entries = Vec::new();
        for entry in loaded.contents.entries {
            let id = entry.connection;
            let at = self.reader.chunks()[chunk].position;
            let connection = self.reader.connection(id).ok_or(Error::UnknownConnection { at, id })?;
            if self.selection.has(connection, &entry) {
                entries.push((connection, entry));
            }
        }
        entries.reverse();
        entries.sort_by_key(|(_, entry)| Reverse(order(entry.time)));
        if let Some((_, entry)) = entries.last() {
            self.next.push(Reverse((order(entry.time), chunk)));
            self.loaded += loaded.data.len();
            self.open.insert(chunk, OpenChunk { entries, data: Some(loaded.data) });
            self.unload(chunk);
        }
        Ok(())
    }

    /// Frees the data of the chunks that are needed last, but not those of this one.
    fn unload(&mut self, kept: usize) {
        while self.loaded > self.memory_limit {
            let loaded = self.open.iter_mut().filter(|(chunk, open)| **chunk != kept && open.data.is_some());
            let last = loaded.max_by_key(|(_, open)| open.entries.last().map(|(_, entry)| order(entry.time)));
            let Some((_, OpenChunk { data, .. })) = last else { return };
            self.loaded -= data.take().map_or(0, |data| data.len());
        }
    }

    /// Removes the first message of this chunk.
    fn take(&mut self, chunk: usize) -> Result<Option<Message>, Error> {
        let data = match self.open.get(&chunk).map(|open| open.data.clone()) {
            None => return Ok(None),
            Some(Some(data)) => data,
            Some(None) => self.load_again(chunk)?,
        };
        let Some(open) = self.open.get_mut(&chunk) else { return Ok(None) };
        let Some((connection, entry)) = open.entries.pop() else { return Ok(None) };
        match open.entries.last() {
            Some((_, entry)) => self.next.push(Reverse((order(entry.time), chunk))),
            None => self.close(chunk),
        }
        // The file may have changed since the chunk was read first.
        let range = entry.range();
        let at = self.reader.chunks()[chunk].position;
        data.get(range.clone()).ok_or(Error::Truncated { at })?;
        Ok(Some(Message { connection, time: entry.time, data: Bytes::part(&data, range) }))
    }

    fn load_again(&mut self, chunk: usize) -> Result<Arc<Vec<u8>>, Error> {
        let data = match self.reader.load(chunk) {
            Ok(loaded) => loaded.data,
            Err(error) => {
                self.close(chunk);
                return Err(error);
            }
        };
        self.loaded += data.len();
        if let Some(open) = self.open.get_mut(&chunk) {
            open.data = Some(Arc::clone(&data));
        }
        self.unload(chunk);
        Ok(data)
    }

    fn close(&mut self, chunk: usize) {
        let closed = self.open.remove(&chunk).and_then(|open| open.data);
        self.loaded -= closed.map_or(0, |data| data.len());
    }
}

impl<R: Read + Seek> Iterator for Messages<'_, R> {
    type Item = Result<Message, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(chunk) = self.chunk_to_open() {
                if let Err(error) = self.open_chunk(chunk) {
                    return Some(Err(error));
                }
                continue;
            }
            let Reverse((_, chunk)) = self.next.pop()?;
            if let Some(message) = self.take(chunk).transpose() {
                return Some(message);
            }
        }
    }
}

impl Selection {
    fn overlaps(&self, chunk: &ChunkInfo) -> bool {
        self.start.is_none_or(|start| order(start) <= order(chunk.end))
            && self.end.is_none_or(|end| order(chunk.start) <= order(end))
            && chunk.counts.iter().any(|(connection, _)| self.has_connection(*connection))
    }

    fn has(&self, connection: ConnectionId, entry: &Entry) -> bool {
        self.has_connection(connection)
            && self.start.is_none_or(|start| order(start) <= order(entry.time))
            && self.end.is_none_or(|end| order(entry.time) <= order(end))
    }

    fn has_connection(&self, connection: ConnectionId) -> bool {
        self.connections.as_ref().is_none_or(|selected| selected.contains(&connection))
    }
}
