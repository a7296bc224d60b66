//! Chunks, and messages outside of chunks.

use std::collections::HashSet;
use std::io::{Read, Seek};

use super::channel::{ChannelRecord, SchemaRecord};
use super::head::Head;
use super::records::{Fields, op, split_record};
use crate::chunks::Source;
use crate::limits::{MOST_MESSAGES, longest_decompressed};
use crate::{Compression, Error};

/// Longest decompressed chunk, in bytes.
pub(super) const LONGEST_CHUNK: u64 = 4 << 30;

/// Longest name of a compression, in bytes.
const LONGEST_NAME: u64 = 64;

/// What the record of a chunk says about its data.
pub(super) struct ChunkHead {
    /// Earliest and latest log time.
    pub(super) time_range: [u64; 2],
    /// `None` for an unsupported one.
    pub(super) compression: Option<Compression>,
    compression_name: String,
    /// Position and length of the data in the file.
    data: u64,
    pub(super) stored: u64,
    /// Length of the data decompressed, in bytes.
    pub(super) len: u64,
    /// 0 if it is unknown.
    checksum: u32,
}

/// A message's place in its chunk.
#[derive(Clone, Copy)]
pub(super) struct ChunkMessage {
    /// Id of the channel in the file.
    pub(super) channel: u16,
    pub(super) sequence: u32,
    pub(super) log_time: u64,
    pub(super) publish_time: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A schema or channel in a chunk.
pub(super) enum Definition {
    Schema(u16, SchemaRecord),
    Channel(ChannelRecord),
}

/// The compression with this name in a file.
pub(super) fn compression(name: &str) -> Option<Compression> {
    [("", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)]
        .into_iter()
        .find_map(|(known, compression)| (known == name).then_some(compression))
}

/// Decompressed data and the records in them, in the order of the file.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) data: Vec<u8>,
    pub(super) definitions: Vec<Definition>,
    pub(super) messages: Vec<ChunkMessage>,
    /// Why the rest of the data is left out.
    damage: Option<&'static str>,
    /// The definitions by the kind of their records and their ids: each is kept once.
    known: HashSet<(u8, u16)>,
}

impl ChunkHead {
    pub(super) fn read<R: Read + Seek>(source: &mut Source<R>, head: &Head) -> Result<Self, Error> {
        if head.op != op::CHUNK {
            return Err(head.malformed("the index refers to a record that is no chunk"));
        }
        let start = head.read_start(source, 40 + LONGEST_NAME)?;
        let mut fields = Fields::new(&start);
        let parsed = (|| {
            let time_range = [fields.u64()?, fields.u64()?];
            let (len, checksum) = (fields.u64()?, fields.u32()?);
            Some((time_range, len, checksum, fields.text()?, fields.u64()?))
        })();
        let Some((time_range, len, checksum, name, stored)) = parsed else {
            return Err(if head.end() > source.len() {
                Error::Truncated { at: head.at }
            } else {
                head.malformed("the chunk's head is malformed")
            });
        };
        let compression = compression(&name);
        let data = head.content() + 40 + name.len() as u64;
        Ok(Self { time_range, compression, compression_name: name, data, stored, len, checksum })
    }

    /// Reads the data. Together with damage, returns what precedes it.
    pub(super) fn load<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        head: &Head,
    ) -> Result<(Contents, Option<Error>), Error> {
        let at = head.at;
        let is_truncated = head.end() > source.len();
        if !is_truncated && self.data.saturating_add(self.stored) > head.end() {
            return Err(head.malformed("the chunk's data are longer than the chunk"));
        }
        let stored = self.stored.min(source.len().saturating_sub(self.data));
        let longest = longest_decompressed(stored).min(LONGEST_CHUNK);
        if !is_truncated && self.len > longest {
            let reason = "the chunk is longer than 4 GiB or 1024 times its compressed data";
            return Err(head.malformed(reason));
        }
        let name = || self.compression_name.clone();
        let compression =
            self.compression.ok_or_else(|| Error::UnsupportedCompression { at, name: name() })?;
        let mut data = Vec::new();
        let input = source.stream(self.data, self.stored)?;
        let decompressed = compression.decompress(input, self.len.min(longest), &mut data);
        let mut damage = match decompressed {
            _ if is_truncated => Some(Error::Truncated { at }),
            Ok(()) => None,
            Err(error) => Some(Error::Decompression { at, source: error }),
        };
        if damage.is_none() && self.checksum != 0 && self.checksum != crc32fast::hash(&data) {
            return Err(Error::Checksum { at });
        }
        let contents = Contents::parse(data);
        if let (Some(reason), None) = (contents.damage, &damage) {
            damage = Some(head.malformed(reason));
        }
        Ok((contents, damage))
    }
}

impl Contents {
    pub(super) fn parse(data: Vec<u8>) -> Self {
        let mut contents = Self::default();
        let mut rest = &data[..];
        while let Some((op, content, later)) = split_record(rest) {
            let end = data.len() - later.len();
            if contents.add(op, content, end).is_none() {
                break;
            }
            rest = later;
        }
        if !rest.is_empty() {
            contents.damage.get_or_insert("a record in the chunk is malformed");
        }
        Self { data, ..contents }
    }

    /// Adds a record that ends at `end`; `None` if it is malformed or left out.
    fn add(&mut self, op: u8, content: &[u8], end: usize) -> Option<()> {
        match op {
            0 => return None,
            op::SCHEMA | op::CHANNEL if !self.known.insert((op, Fields::new(content).u16()?)) => {}
            op::SCHEMA => {
                let (id, schema) = SchemaRecord::parse(content)?;
                self.definitions.push(Definition::Schema(id, schema));
            }
            op::CHANNEL => self.definitions.push(Definition::Channel(ChannelRecord::parse(content)?)),
            op::MESSAGE if self.messages.len() == MOST_MESSAGES => {
                self.damage = Some("the chunk has more than 4194304 messages");
                return None;
            }
            op::MESSAGE => self.messages.push(ChunkMessage::parse(content, end)?),
            _ => {}
        }
        Some(())
    }
}

impl ChunkMessage {
    /// The message whose content ends at `end`; `None` if it is too short.
    pub(super) fn parse(content: &[u8], end: usize) -> Option<Self> {
        let mut fields = Fields::new(content);
        Some(Self {
            channel: fields.u16()?,
            sequence: fields.u32()?,
            log_time: fields.u64()?,
            publish_time: fields.u64()?,
            start: end - fields.len(),
            end,
        })
    }
}
