//! Messages of all chunks in the order of time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::{ChunkInfo, ChunkSource, Entry, LoadedChunk};
use crate::bag::SelectedChannels;
use crate::{Bytes, Error, Message, Selection};

/// Decompressed chunks and the places of their messages in memory, in bytes. Chunks overlap in time where several
/// threads wrote them; above the limit, those that are needed last are read once more.
const MEMORY_LIMIT: usize = 256 << 20;

/// Iterates over the messages of a bag by log time. After an error it continues with the next chunk.
pub(crate) struct Messages<'a, S> {
    source: &'a mut S,
    selection: Selection,
    channels: SelectedChannels,
    /// Chunks to be opened, the earliest last.
    pending: Vec<usize>,
    open: BTreeMap<usize, OpenChunk>,
    /// The time of the next message of each open chunk.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Bytes of the chunks in memory.
    loaded: usize,
    memory_limit: usize,
}

/// A chunk of which messages remain.
struct OpenChunk {
    /// Number of the remaining messages.
    remaining: usize,
    /// Time of the next one.
    next: u64,
    /// `None` if it has to be read once more.
    loaded: Option<Loaded>,
}

/// A chunk in memory.
struct Loaded {
    /// The remaining messages, the earliest last.
    entries: Vec<Entry>,
    data: Arc<Vec<u8>>,
}

impl Loaded {
    /// Length in bytes. It stays, since the memory of the entries does.
    fn len(&self) -> usize {
        self.data.len() + self.entries.capacity() * size_of::<Entry>()
    }
}

impl<'a, S: ChunkSource> Messages<'a, S> {
    pub(crate) fn new(source: &'a mut S, selection: &Selection) -> Self {
        let chunks = source.chunks();
        let channels = SelectedChannels::of(selection);
        let is_selected = |chunk: &usize| is_selected(&chunks[*chunk], selection, &channels);
        let mut pending: Vec<usize> = (0..chunks.len()).filter(is_selected).collect();
        pending.sort_by_key(|chunk| Reverse((chunks[*chunk].start, *chunk)));
        let selection = selection.clone();
        let (open, next) = (BTreeMap::new(), BinaryHeap::new());
        Self { source, selection, channels, pending, open, next, loaded: 0, memory_limit: MEMORY_LIMIT }
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
        let loaded = self.load(chunk)?;
        if let Some(entry) = loaded.entries.last() {
            let (remaining, next) = (loaded.entries.len(), entry.log_time);
            self.next.push(Reverse((next, chunk)));
            self.loaded += loaded.len();
            self.open.insert(chunk, OpenChunk { remaining, next, loaded: Some(loaded) });
            self.unload(chunk);
        }
        Ok(())
    }

    /// Reads a chunk with its selected messages.
    fn load(&mut self, chunk: usize) -> Result<Loaded, Error> {
        let LoadedChunk { data, mut entries } = self.source.load(chunk)?;
        entries.retain(|entry| self.channels.has(entry.channel) && self.selection.has_time(entry.log_time));
        entries.shrink_to_fit();
        entries.reverse();
        entries.sort_by_key(|entry| Reverse(entry.log_time));
        Ok(Loaded { entries, data })
    }

    /// Frees the chunks that are needed last, but not this one.
    fn unload(&mut self, kept: usize) {
        while self.loaded > self.memory_limit {
            let loaded =
                self.open.iter_mut().filter(|(chunk, open)| **chunk != kept && open.loaded.is_some());
            let Some((_, last)) = loaded.max_by_key(|(_, open)| open.next) else { return };
            self.loaded -= last.loaded.take().map_or(0, |loaded| loaded.len());
        }
    }

    /// Removes the first message of this chunk.
    fn take(&mut self, chunk: usize) -> Result<Option<Message>, Error> {
        self.ensure_loaded(chunk)?;
        let Some(open) = self.open.get_mut(&chunk) else { return Ok(None) };
        let Some(Loaded { entries, data }) = &mut open.loaded else { return Ok(None) };
        let (data, entry) = (Arc::clone(data), entries.pop());
        open.remaining -= 1;
        match entries.last() {
            Some(next) => {
                open.next = next.log_time;
                self.next.push(Reverse((next.log_time, chunk)));
            }
            None => self.close(chunk),
        }
        let Some(entry) = entry else { return Ok(None) };
        // The file may have changed since the chunk was read first.
        let at = self.source.chunks()[chunk].position;
        data.get(entry.range()).ok_or(Error::Truncated { at })?;
        let Entry { channel, log_time, publish_time, sequence, .. } = entry;
        let data = Bytes::part(&data, entry.range());
        Ok(Some(Message { channel, log_time, publish_time, sequence, data }))
    }

    /// Reads an open chunk once more if it was freed.
    fn ensure_loaded(&mut self, chunk: usize) -> Result<(), Error> {
        let freed = self.open.get(&chunk).filter(|open| open.loaded.is_none());
        let Some(remaining) = freed.map(|open| open.remaining) else { return Ok(()) };
        let mut loaded = self.load(chunk).inspect_err(|_| self.close(chunk))?;
        loaded.entries.truncate(remaining);
        self.loaded += loaded.len();
        if let Some(open) = self.open.get_mut(&chunk) {
            open.loaded = Some(loaded);
        }
        self.unload(chunk);
        Ok(())
    }

    fn close(&mut self, chunk: usize) {
        let closed = self.open.remove(&chunk).and_then(|open| open.loaded);
        self.loaded -= closed.map_or(0, |loaded| loaded.len());
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

fn is_selected(chunk: &ChunkInfo, selection: &Selection, selected: &SelectedChannels) -> bool {
    let channels = chunk.channels.as_ref();
    selection.overlaps(chunk.start, chunk.end)
        && channels.is_none_or(|channels| channels.iter().any(|channel| selected.has(*channel)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChannelId;

    /// Chunks without data. Chunk `n` of `count` has the messages of times `n`, `n + count`, and so on.
    struct Interleaved(Vec<ChunkInfo>);

    impl ChunkSource for Interleaved {
        fn chunks(&self) -> &[ChunkInfo] {
            &self.0
        }

        fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error> {
            let times = (self.0[chunk].start..=self.0[chunk].end).step_by(self.0.len());
            let entry = |log_time| Entry {
                channel: ChannelId(0),
                log_time,
                publish_time: 0,
                sequence: 0,
                start: 0,
                end: 0,
            };
            Ok(LoadedChunk { data: Arc::default(), entries: times.map(entry).collect() })
        }
    }

    #[test]
    fn places_of_messages_count_against_the_memory_limit() {
        let chunk = |position: u64| ChunkInfo {
            position,
            start: position,
            end: 40 + position,
            channels: None,
            is_damaged: false,
        };
        let mut source = Interleaved((0..4).map(chunk).collect());
        let mut messages = Messages::new(&mut source, &Selection::default()).with_memory_limit(0);
        for time in 0..44 {
            assert_eq!(messages.next().unwrap().unwrap().log_time, time);
            let loaded = messages.open.values().filter(|open| open.loaded.is_some()).count();
            assert!(loaded <= 1, "{loaded}");
        }
        assert!(messages.next().is_none());
        assert_eq!(messages.loaded, 0);
    }
}
