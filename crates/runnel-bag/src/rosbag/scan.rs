//! Index of a bag: read from its end, or made anew from the whole file.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek};

use runnel_core::time::Time;

use super::chunk::{Entry, order};
use super::connection::{Connection, ConnectionId};
use super::reader::{ChunkInfo, load_chunk};
use super::records::Op;
use super::source::{Head, Source};
use crate::Error;

/// Longest record of a connection or of a chunk's entry in the index, in bytes.
const LONGEST_ENTRY: u32 = 64 << 20;

/// Connections and chunks of a bag.
#[derive(Default)]
pub(super) struct Index {
    pub(super) connections: Vec<Connection>,
    /// Ids of the connections in the file.
    pub(super) ids: Vec<u32>,
    pub(super) chunks: Vec<ChunkInfo>,
    known: BTreeMap<u32, ConnectionId>,
}

impl Index {
    /// Adds a connection unless its id is known: chunks and the index repeat connections.
    fn add(&mut self, id: u32, connection: Connection) {
        if !self.known.contains_key(&id) {
            self.known.insert(id, ConnectionId(self.connections.len() as u32));
            self.connections.push(connection);
            self.ids.push(id);
        }
    }

    fn id(&self, at: u64, id: u32) -> Result<ConnectionId, Error> {
        self.known.get(&id).copied().ok_or(Error::UnknownConnection { at, id })
    }

    fn add_connection_record<R: Read + Seek>(
        &mut self,
        source: &mut Source<R>,
        head: &Head,
    ) -> Result<(), Error> {
        let data = source.data(head, LONGEST_ENTRY)?;
        let (id, connection) = Connection::parse(head.fields(), &data)
            .ok_or_else(|| head.malformed("the connection lacks a field"))?;
        self.add(id, connection);
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
    let (Some(connections), Some(chunks)) = counts else {
        return Err(header.malformed("the bag header lacks the number of connections or chunks"));
    };
    let mut index = Index::default();
    let mut at = position;
    for _ in 0..connections {
        let head = expect(source, at, Op::Connection, "the index lacks a connection")?;
        index.add_connection_record(source, &head)?;
        at = head.end();
    }
    let mut positions = HashSet::new();
    for _ in 0..chunks {
        let head = expect(source, at, Op::ChunkInfo, "the index lacks a chunk")?;
        let data = source.data(&head, LONGEST_ENTRY)?;
        let info = chunk_info(&index, &head, &data)?;
        if info.position >= position || !positions.insert(info.position) {
            return Err(head.malformed("the index has a false position of a chunk"));
        }
        index.chunks.push(info);
        at = head.end();
    }
    // A chunk without messages has no times.
    index.chunks.retain(|chunk| !chunk.counts.is_empty());
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

fn chunk_info(index: &Index, head: &Head, data: &[u8]) -> Result<ChunkInfo, Error> {
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
    let counts = pairs
        .iter()
        .map(|[id, count]| {
            Ok((index.id(head.at, u32::from_le_bytes(*id))?, u32::from_le_bytes(*count).into()))
        })
        .collect::<Result<_, Error>>()?;
    Ok(ChunkInfo { position, start, end, counts, is_damaged: false })
}

/// Makes the index anew from the records that begin at `at`. Also returns the first damage, after which nothing is
/// read.
pub(super) fn file<R: Read + Seek>(
    source: &mut Source<R>,
    mut at: u64,
) -> Result<(Index, Option<Error>), Error> {
    let mut index = Index::default();
    while at < source.len() {
        let head = match source.head(at) {
            Ok(head) => head,
            Err(Error::Io(error)) => return Err(Error::Io(error)),
            Err(damage) => return Ok((index, Some(damage))),
        };
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
        Some(Op::Connection) => index.add_connection_record(source, head).map(|()| None),
        _ => Ok(None),
    }
}

fn scan_chunk<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
    index: &mut Index,
) -> Result<Option<Error>, Error> {
    let (chunk, damage) = load_chunk(source, head)?;
    chunk.contents.connections.into_iter().for_each(|(id, connection)| index.add(id, connection));
    if let Some([start, end]) = times(&chunk.contents.entries) {
        let mut counts = BTreeMap::new();
        for entry in &chunk.contents.entries {
            *counts.entry(index.id(head.at, entry.connection)?).or_default() += 1;
        }
        let counts = counts.into_iter().collect();
        index.chunks.push(ChunkInfo { position: head.at, start, end, counts, is_damaged: damage.is_some() });
    }
    Ok(damage)
}

/// Earliest and latest time; `None` without messages.
fn times(entries: &[Entry]) -> Option<[Time; 2]> {
    let times = || entries.iter().map(|entry| entry.time);
    Some([times().min_by_key(|time| order(*time))?, times().max_by_key(|time| order(*time))?])
}
