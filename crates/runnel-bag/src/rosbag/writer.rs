//! Bag writer.

use std::io::{Seek, SeekFrom, Write};

use runnel_core::time::Time;

use super::chunk::order;
use super::connection::{Connection, ConnectionId};
use super::records::{self, Fields, MAGIC, Op, put};
use crate::{Compression, Error};

/// Bytes of messages after which a chunk ends, as in rosbag.
const CHUNK: usize = 768 << 10;

/// Longest message, in bytes. Lengths have 32 bits, and a chunk holds more than its messages.
const LONGEST: usize = 1 << 31;

/// A bag in progress. Data are written a chunk at a time; [`Writer::finish`] writes the last chunk and the index.
/// An unfinished bag has all chunks that were written; `rosbag reindex` repairs it.
pub struct Writer<W> {
    out: W,
    compression: Compression,
    /// Bytes written.
    position: u64,
    /// The record of each connection.
    connections: Vec<Vec<u8>>,
    chunk: Chunk,
    chunks: Vec<ChunkInfo>,
}

/// Messages that are not written yet.
#[derive(Default)]
struct Chunk {
    data: Vec<u8>,
    /// For each connection, the times of its messages and their positions in the data.
    index: Vec<(ConnectionId, Vec<(Time, u32)>)>,
}

/// A written chunk.
struct ChunkInfo {
    position: u64,
    times: [Time; 2],
    counts: Vec<(ConnectionId, u32)>,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a bag.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(out: W) -> Result<Self, Error> {
        let mut writer = Self {
            out,
            compression: Compression::None,
            position: 0,
            connections: Vec::new(),
            chunk: Chunk::default(),
            chunks: Vec::new(),
        };
        writer.put(MAGIC)?;
        writer.put(&records::bag_header(0, 0, 0))?;
        Ok(writer)
    }

    /// Sets the compression of the chunks to come.
    pub fn set_compression(&mut self, compression: Compression) {
        self.compression = compression;
    }

    /// Adds a connection, so that its messages can be written.
    pub fn add(&mut self, connection: &Connection) -> ConnectionId {
        let id = ConnectionId(self.connections.len() as u32);
        let record = connection.record(id);
        self.chunk.data.extend(&record);
        self.connections.push(record);
        id
    }

    /// Adds a message received at `time`.
    ///
    /// # Errors
    /// Those of the output, after which the bag cannot be continued. [`Error::TooLong`] for a message of more than
    /// 2 GiB, and [`Error::UnknownConnection`]. An id of another writer is not recognized as such.
    pub fn write(&mut self, connection: ConnectionId, time: Time, message: &[u8]) -> Result<(), Error> {
        if connection.index() >= self.connections.len() {
            return Err(Error::UnknownConnection { at: self.position, id: connection.0 });
        }
        if message.len() > LONGEST {
            return Err(Error::TooLong { len: message.len(), limit: LONGEST });
        }
        // Lengths have 32 bits.
        if self.chunk.data.len() + message.len() > LONGEST {
            self.end_chunk()?;
        }
        self.chunk.add(connection, time, message);
        if self.chunk.data.len() >= CHUNK { self.end_chunk() } else { Ok(()) }
    }

    /// Ends the chunk and writes it, so that a reader of the unfinished bag finds all messages.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.end_chunk()?;
        Ok(self.out.flush()?)
    }

    /// Writes the rest and the index; returns the output.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> Result<W, Error> {
        self.end_chunk()?;
        let index = self.position;
        let mut end = self.connections.concat();
        self.chunks.iter().for_each(|chunk| chunk.put(&mut end));
        self.put(&end)?;
        let header = records::bag_header(index, self.connections.len() as u32, self.chunks.len() as u32);
        self.out.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        self.out.write_all(&header)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Without messages there is no chunk: the connections wait for the first message.
    fn end_chunk(&mut self) -> Result<(), Error> {
        let Some(info) = self.chunk.info(self.position) else { return Ok(()) };
        let Chunk { data, index } = std::mem::take(&mut self.chunk);
        let size = data.len() as u32;
        let data = self.compression.compress(data)?;
        let fields = Fields::of(Op::Chunk)
            .with("compression", self.compression.name().as_bytes())
            .with("size", &size.to_le_bytes());
        let mut record = Vec::with_capacity(data.len() + 100);
        put(&mut record, fields, &data);
        index.iter().for_each(|(connection, entries)| put_index(&mut record, *connection, entries));
        self.put(&record)?;
        self.chunks.push(info);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

impl Chunk {
    fn add(&mut self, connection: ConnectionId, time: Time, message: &[u8]) {
        let entry = (time, self.data.len() as u32);
        match self.index.iter_mut().find(|(known, _)| *known == connection) {
            Some((_, entries)) => entries.push(entry),
            None => self.index.push((connection, vec![entry])),
        }
        let fields = Fields::of(Op::Message)
            .with("conn", &connection.0.to_le_bytes())
            .with("time", &records::time(time));
        put(&mut self.data, fields, message);
    }

    /// The entry of the chunk in the index; `None` if it has no message.
    fn info(&self, position: u64) -> Option<ChunkInfo> {
        let times = || self.index.iter().flat_map(|(_, entries)| entries.iter().map(|(time, _)| *time));
        let counts = self.index.iter().map(|(connection, entries)| (*connection, entries.len() as u32));
        let [start, end] =
            [times().min_by_key(|time| order(*time))?, times().max_by_key(|time| order(*time))?];
        Some(ChunkInfo { position, times: [start, end], counts: counts.collect() })
    }
}

impl ChunkInfo {
    fn put(&self, out: &mut Vec<u8>) {
        let Self { position, times: [start, end], counts } = self;
        let fields = Fields::of(Op::ChunkInfo)
            .with("ver", &1_u32.to_le_bytes())
            .with("chunk_pos", &position.to_le_bytes())
            .with("start_time", &records::time(*start))
            .with("end_time", &records::time(*end))
            .with("count", &(counts.len() as u32).to_le_bytes());
        let data: Vec<u8> = counts
            .iter()
            .flat_map(|(connection, count)| [connection.0, *count])
            .flat_map(u32::to_le_bytes)
            .collect();
        put(out, fields, &data);
    }
}

fn put_index(out: &mut Vec<u8>, connection: ConnectionId, entries: &[(Time, u32)]) {
    let fields = Fields::of(Op::Index)
        .with("ver", &1_u32.to_le_bytes())
        .with("conn", &connection.0.to_le_bytes())
        .with("count", &(entries.len() as u32).to_le_bytes());
    let mut data = Vec::with_capacity(12 * entries.len());
    for (time, offset) in entries {
        data.extend(records::time(*time));
        data.extend(offset.to_le_bytes());
    }
    put(out, fields, &data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn chatter() -> Connection {
        Connection {
            topic: "/chatter".into(),
            type_name: "std_msgs/String".into(),
            md5: "992ce8a1687cec8c8bd883ec73ca41d1".into(),
            definition: "string data\n".into(),
            publisher: Some("/talker".into()),
            latching: false,
        }
    }

    fn at(sec: i32) -> Time {
        Time { sec, nanosec: 5 }
    }

    #[test]
    fn finished_bag_header_has_index_position() {
        let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
        let chatter = writer.add(&chatter());
        writer.write(chatter, at(1), b"\x02\0\0\0hi").unwrap();
        let bag = writer.finish().unwrap().into_inner();
        let place = bag.windows(10).position(|bytes| bytes == b"index_pos=").unwrap() + 10;
        let index = u64::from_le_bytes(bag[place..place + 8].try_into().unwrap()) as usize;
        // The connection record is repeated there.
        assert!(bag[index..].windows(4).position(|bytes| bytes == b"op=\x07").unwrap() < 12);
    }

    #[test]
    fn full_chunk_ends_and_empty_bag_has_none() {
        let chunks = |messages: usize| {
            let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
            let chatter = writer.add(&chatter());
            for index in 0..messages {
                writer.write(chatter, at(index as i32), &vec![0; CHUNK / 2]).unwrap();
            }
            let bag = writer.finish().unwrap().into_inner();
            bag.windows(4).filter(|bytes| bytes == b"op=\x05").count()
        };
        assert_eq!([0, 1, 2, 3, 4].map(chunks), [0, 1, 1, 2, 2]);
    }

    #[test]
    fn unknown_connection_is_refused() {
        let mut writer = Writer::new(Cursor::new(Vec::new())).unwrap();
        let error = writer.write(ConnectionId(0), at(0), b"").unwrap_err();
        assert!(matches!(error, Error::UnknownConnection { id: 0, .. }));
    }
}
