//! Messages of all chunks in the order of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::{ChunkInfo, ChunkSource, Entry};
use crate::{Bytes, Error, Message, Selection};

/// Decompressed chunks in memory, in bytes. Chunks overlap in time where several threads wrote them; above the limit,
/// those that are needed last are read once more.
const MEMORY_LIMIT: usize = 256 << 20;

/// Iterates over the messages of a bag by log time. After an error it continues with the next chunk.
pub(crate) struct Messages<'a, S> {
    source: &'a mut S,
    selection: Selection,
    /// Chunks to be opened, the earliest last.
    pending: Vec<usize>,
    open: BTreeMap<usize, OpenChunk>,
    /// The time of the next message of each open chunk.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Bytes of the decompressed chunks in memory.
    loaded: usize,
    memory_limit: usize,
}

/// A chunk of which messages remain.
struct OpenChunk {
    /// The remaining messages, the earliest last.
    entries: Vec<Entry>,
    /// `None` if it has to be read once more.
    data: Option<Arc<Vec<u8>>>,
}

impl<'a, S: ChunkSource> Messages<'a, S> {
    pub(crate) fn new(source: &'a mut S, selection: &Selection) -> Self {
        let chunks = source.chunks();
        let mut pending: Vec<usize> =
            (0..chunks.len()).filter(|chunk| is_selected(&chunks[*chunk], selection)).collect();
        pending.sort_by_key(|chunk| Reverse((chunks[*chunk].start, *chunk)));
        let selection = selection.clone();
        let (open, next) = (BTreeMap::new(), BinaryHeap::new());
        Self { source, selection, pending, open, next, loaded: 0, memory_limit: MEMORY_LIMIT }
    }

    /// Limits the decompressed chunks in memory to this many bytes, but for one chunk.
    #[cfg(test)]
    pub(crate) fn with_memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// The next chunk, if it may have a message that precedes those of all open chunks.
    fn chunk_to_open(&self) -> Option<usize> {
        let chunk = *self.pending.last()?;
        let start = self.source.chunks()[chunk].start;
        match self.next.peek() {
            Some(Reverse((time, _))) if *time < start => None,
            _ => Some(chunk),
        }
    }

    fn open_chunk(&mut self, chunk: usize) -> Result<(), Error> {
        self.pending.pop();
        let loaded = self.source.load(chunk)?;
        let mut entries = loaded.entries;
        entries.retain(|entry| {
            self.selection.has_channel(entry.channel) && self.selection.has_time(entry.log_time)
        });
        entries.reverse();
        entries.sort_by_key(|entry| Reverse(entry.log_time));
        if let Some(entry) = entries.last() {
            self.next.push(Reverse((entry.log_time, chunk)));
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
            let last = loaded.max_by_key(|(_, open)| open.entries.last().map(|entry| entry.log_time));
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
        let Some(entry) = open.entries.pop() else { return Ok(None) };
        match open.entries.last() {
            Some(next) => self.next.push(Reverse((next.log_time, chunk))),
            None => self.close(chunk),
        }
        // The file may have changed since the chunk was read first.
        let at = self.source.chunks()[chunk].position;
        data.get(entry.range()).ok_or(Error::Truncated { at })?;
        let Entry { channel, log_time, publish_time, sequence, .. } = entry;
        let data = Bytes::part(&data, entry.range());
        Ok(Some(Message { channel, log_time, publish_time, sequence, data }))
    }

    fn load_again(&mut self, chunk: usize) -> Result<Arc<Vec<u8>>, Error> {
        let data = match self.source.load(chunk) {
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

impl<S: ChunkSource> Iterator for Messages<'_, S> {
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

fn is_selected(chunk: &ChunkInfo, selection: &Selection) -> bool {
    let channels = chunk.channels.as_ref();
    selection.overlaps(chunk.start, chunk.end)
        && channels.is_none_or(|channels| channels.iter().any(|channel| selection.has_channel(*channel)))
}
