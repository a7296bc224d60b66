//! Reader of bags, finished or not.

use std::collections::HashMap;
use std::io::{Read, Seek};
use std::sync::Arc;

use runnel_core::time::Time;

use super::chunk::Contents;
use super::connection::{Connection, ConnectionId};
use super::merge::Messages;
use super::records::{MAGIC, Op};
use super::scan::{self, Index};
use super::source::{Head, Source};
use crate::{Bytes, Compression, Error};

/// A bag that is read.
///
/// The index at the end of the file says where the messages are. Where it is missing or damaged, because the recorder
/// was killed or the file is cut, [`Reader::open`] reads the whole file and finds every message that is complete.
pub struct Reader<R> {
    source: Source<R>,
    index: Index,
    /// Positions in the list of connections, by the ids in the file.
    ids: HashMap<u32, ConnectionId>,
    damage: Option<Error>,
    is_finished: bool,
}

/// A chunk of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Position in the file, in bytes.
    pub position: u64,
    /// Time of the earliest message.
    pub start: Time,
    /// Time of the latest message.
    pub end: Time,
    /// Number of messages by connection.
    pub counts: Vec<(ConnectionId, u64)>,
    /// Whether the file ends within the chunk or the chunk is damaged.
    pub is_damaged: bool,
}

/// A message of a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The message's connection.
    pub connection: ConnectionId,
    /// Time of reception.
    pub time: Time,
    /// The serialized message.
    pub data: Bytes,
}

/// The messages to read. Without limits it has all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these connections.
    pub connections: Option<Vec<ConnectionId>>,
    /// Only messages of this time and later.
    pub start: Option<Time>,
    /// Only messages of this time and earlier.
    pub end: Option<Time>,
}

/// A chunk in memory.
pub(super) struct LoadedChunk {
    pub(super) data: Arc<Vec<u8>>,
    pub(super) contents: Contents,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a bag.
    ///
    /// # Errors
    /// Those of the input; [`Error::NotABag`], [`Error::UnsupportedVersion`], [`Error::Encrypted`]; and when the first
    /// record is malformed. Later damage is no error, see [`Reader::damage`].
    pub fn open(input: R) -> Result<Self, Error> {
        let mut source = Source::new(input)?;
        check_magic(&mut source)?;
        let header = source.head(MAGIC.len() as u64)?;
        let index_position = check_header(&header)?;
        let (index, damage) = match index_position {
            0 => scan::file(&mut source, header.end())?,
            position => match scan::index(&mut source, &header, position) {
                Ok(index) => (index, None),
                Err(Error::Io(error)) => return Err(Error::Io(error)),
                Err(error) => {
                    let (index, damage) = scan::file(&mut source, header.end())?;
                    (index, damage.or(Some(error)))
                }
            },
        };
        let ids = index.ids.iter().enumerate().map(|(place, id)| (*id, ConnectionId(place as u32))).collect();
        Ok(Self { source, index, ids, damage, is_finished: index_position != 0 })
    }

    /// The connections, in the order of their first records.
    pub fn connections(&self) -> &[Connection] {
        &self.index.connections
    }

    /// The chunks that have messages, in the order of the file.
    pub fn chunks(&self) -> &[ChunkInfo] {
        &self.index.chunks
    }

    /// Length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// Whether the recorder finished the bag. An unfinished one has no index.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// The first damage of the file: everything before it is read, nothing after it.
    pub fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// Iterates over the selected messages by time; messages of one time are in the order of the file.
    pub fn messages(&mut self, selection: &Selection) -> Messages<'_, R> {
        Messages::new(self, selection)
    }

    /// The compression of a chunk, and the lengths of its data in the file and decompressed, in bytes.
    ///
    /// # Errors
    /// Those of the input, and when the chunk's header is malformed.
    pub fn compression(&mut self, chunk: &ChunkInfo) -> Result<(Compression, u32, u32), Error> {
        let head = self.source.head(chunk.position)?;
        let (compression, size) = chunk_fields(&head)?;
        Ok((compression, head.data_len, size))
    }

    /// The connection of this id in the file.
    pub(super) fn connection(&self, id: u32) -> Option<ConnectionId> {
        self.ids.get(&id).copied()
    }

    pub(super) fn load(&mut self, chunk: usize) -> Result<LoadedChunk, Error> {
        let ChunkInfo { position, is_damaged, .. } = self.index.chunks[chunk];
        let head = self.source.head(position)?;
        let (loaded, damage) = load_chunk(&mut self.source, &head)?;
        match damage {
            Some(error) if !is_damaged => Err(error),
            _ => Ok(loaded),
        }
    }
}

/// Reads a chunk. Together with damage, returns what precedes it.
pub(super) fn load_chunk<R: Read + Seek>(
    source: &mut Source<R>,
    head: &Head,
) -> Result<(LoadedChunk, Option<Error>), Error> {
    let (compression, size) = chunk_fields(head)?;
    let mut data = Vec::new();
    let mut damage = match compression.decompress(source.stream(head)?, size, &mut data) {
        Ok(()) => None,
        Err(_) if head.end() > source.len() => Some(Error::Truncated { at: head.at }),
        Err(error) => Some(Error::Decompression { at: head.at, source: error }),
    };
    let contents = Contents::parse(&data);
    if contents.is_damaged && damage.is_none() {
        damage = Some(head.malformed("a record in the chunk is malformed"));
    }
    Ok((LoadedChunk { data: Arc::new(data), contents }, damage))
}

/// Compression and decompressed length of a chunk.
fn chunk_fields(head: &Head) -> Result<(Compression, u32), Error> {
    let fields = head.fields();
    if fields.op() != Some(Op::Chunk as u8) {
        return Err(head.malformed("the index refers to a record that is no chunk"));
    }
    let name = fields.text("compression").ok_or_else(|| head.malformed("the chunk has no compression"))?;
    let size = fields.u32("size").ok_or_else(|| head.malformed("the chunk has no size"))?;
    let compression = Compression::from_name(&name);
    let compression = compression.ok_or(Error::UnsupportedCompression { at: head.at, name })?;
    Ok((compression, size))
}

fn check_magic<R: Read + Seek>(source: &mut Source<R>) -> Result<(), Error> {
    let mut magic = [0; MAGIC.len()];
    if source.len() < MAGIC.len() as u64 {
        return Err(Error::NotABag);
    }
    source.fill(0, 0, &mut magic)?;
    if magic == *MAGIC {
        return Ok(());
    }
    let version = magic.strip_prefix(b"#ROSBAG V").or_else(|| magic.strip_prefix(b"#ROSRECORD V"));
    let version = version.map(|version| String::from_utf8_lossy(version).trim().to_owned());
    Err(version.map_or(Error::NotABag, Error::UnsupportedVersion))
}

/// Checks the bag header; returns the position of the index, 0 for an unfinished bag.
fn check_header(header: &Head) -> Result<u64, Error> {
    let fields = header.fields();
    if fields.op() != Some(Op::BagHeader as u8) {
        return Err(header.malformed("the first record is no bag header"));
    }
    match fields.text("encryptor") {
        Some(plugin) if !plugin.is_empty() => Err(Error::Encrypted(plugin)),
        _ => fields.u64("index_pos").ok_or_else(|| header.malformed("the bag header has no index_pos")),
    }
}
