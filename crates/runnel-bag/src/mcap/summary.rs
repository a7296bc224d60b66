//! Index of a finished file: its summary section.

use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Seek};

use super::attachment::AttachmentInfo;
use super::channel::{ChannelRecord, SchemaRecord};
use super::head::Head;
use super::index::Index;
use super::records::{FOOTER_LEN, Fields, HEAD, op, split_record};
use super::{MAGIC, chunk};
use crate::chunks::Source;
use crate::{ChunkInfo, ChunkTotals, Error};

/// Longest summary that is read, in bytes: that of a hundred million messages. Without it the data section is read.
const LONGEST_SUMMARY: u64 = 1 << 30;

/// The last record.
pub(super) struct Footer {
    at: u64,
    summary: u64,
    checksum: u32,
    /// The bytes up to the checksum.
    start: [u8; 25],
}

/// Counts of the summary.
struct Statistics {
    messages: u64,
    channels: u32,
    chunks: u32,
    time_range: [u64; 2],
    counts: BTreeMap<u16, u64>,
}

/// The footer; `None` if the file is unfinished or cut.
pub(super) fn footer<R: Read + Seek>(source: &mut Source<R>) -> Result<Option<Footer>, Error> {
    let end = MAGIC.len() as u64;
    let len = HEAD + FOOTER_LEN + end;
    let Some(at) = source.len().checked_sub(len).filter(|at| *at >= end) else { return Ok(None) };
    if source.array(at, source.len() - end)? != *MAGIC {
        return Ok(None);
    }
    let head = Head::read(source, at)?;
    if (head.op, head.len) != (op::FOOTER, FOOTER_LEN) {
        return Ok(None);
    }
    let start: [u8; 25] = source.array(at, at)?;
    let rest: [u8; FOOTER_LEN as usize] = source.array(at, head.content())?;
    let mut fields = Fields::new(&rest);
    let parsed = (|| Some((fields.u64()?, fields.u64()?, fields.u32()?)))();
    Ok(parsed.map(|(summary, _, checksum)| Footer { at, summary, checksum, start }))
}

/// The index in the summary section; `None` if the file has none, or not all that is needed.
///
/// # Errors
/// Those of the input, and when the section is damaged.
pub(super) fn index<R: Read + Seek>(source: &mut Source<R>, footer: &Footer) -> Result<Option<Index>, Error> {
    if footer.summary == 0 {
        return Ok(None);
    }
    let at = footer.summary;
    let Some(len) = footer.at.checked_sub(at) else {
        return Err(Error::Malformed { at: footer.at, reason: "the summary is not before the footer" });
    };
    if len > LONGEST_SUMMARY {
        return Ok(None);
    }
    let section = source.range(at, at, len)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&section);
    hasher.update(&footer.start);
    if footer.checksum != 0 && footer.checksum != hasher.finalize() {
        return Err(Error::Checksum { at });
    }
    let mut index = Index::default();
    index.profile = profile(source)?;
    let mut summary = Summary { index, statistics: None, lacks_channels: false, start: at };
    summary.add_records(&section)?;
    Ok(summary.complete())
}

/// The profile of the header.
fn profile<R: Read + Seek>(source: &mut Source<R>) -> Result<String, Error> {
    let head = Head::read(source, MAGIC.len() as u64)?;
    let content = head.read_content(source)?;
    let profile = Fields::new(&content).text().filter(|_| head.op == op::HEADER);
    profile.ok_or_else(|| head.malformed("the first record is no header"))
}

struct Summary {
    index: Index,
    statistics: Option<Statistics>,
    /// Whether only the data section has the channels of some chunks.
    lacks_channels: bool,
    /// Position in the file.
    start: u64,
}

impl Summary {
    fn add_records(&mut self, section: &[u8]) -> Result<(), Error> {
        // Channels may precede their schemas, and chunks their channels.
        for ops in [&[op::SCHEMA][..], &[op::CHANNEL], &REST] {
            let (mut rest, mut at) = (section, self.start);
            while !rest.is_empty() {
                let Some((op, content, later)) = split_record(rest) else {
                    return Err(Error::Malformed { at, reason: "a record of the summary is malformed" });
                };
                if ops.contains(&op) {
                    let head = Head { op, at, len: content.len() as u64 };
                    let malformed = || head.malformed("a record of the summary is malformed");
                    self.add(&head, content)?.ok_or_else(malformed)?;
                }
                at += (rest.len() - later.len()) as u64;
                rest = later;
            }
        }
        Ok(())
    }

    /// Adds a record; `None` if it is malformed.
    fn add(&mut self, head: &Head, content: &[u8]) -> Result<Option<()>, Error> {
        let added = match head.op {
            op::SCHEMA => SchemaRecord::parse(content).map(|(id, schema)| self.index.add_schema(id, schema)),
            op::CHANNEL => ChannelRecord::parse(content).map(|channel| self.index.add_channel(channel)),
            op::CHUNK_INDEX => return self.add_chunk(head, content),
            op::STATISTICS => Statistics::parse(content).map(|statistics| self.statistics = Some(statistics)),
            op::ATTACHMENT_INDEX => {
                AttachmentInfo::parse_index(content).map(|info| self.index.attachments.push(info))
            }
            _ => Fields::new(content).u64().map(|position| self.index.metadata.push(position)),
        };
        Ok(added)
    }

    fn add_chunk(&mut self, head: &Head, content: &[u8]) -> Result<Option<()>, Error> {
        let mut fields = Fields::new(content);
        let parsed = (|| {
            let (start, end) = (fields.u64()?, fields.u64()?);
            let (position, _length) = (fields.u64()?, fields.u64()?);
            let (offsets, _index_len) = (fields.numbers()?, fields.u64()?);
            let name = fields.text()?;
            Some((start, end, position, offsets, name, fields.u64()?, fields.u64()?))
        })();
        let Some((start, end, position, offsets, name, stored, len)) = parsed else { return Ok(None) };
        if position >= self.start {
            return Err(head.malformed("the index has a false position of a chunk"));
        }
        let channels: Vec<_> =
            offsets.keys().flat_map(|id| self.index.bag.id(head.at, (*id).into())).collect();
        self.lacks_channels |= channels.len() < offsets.len();
        let channels = Some(channels).filter(|channels| !channels.is_empty());
        self.index.bag.chunks.push(ChunkInfo { position, start, end, channels, is_damaged: false });
        if let Some(compression) = chunk::compression(&name) {
            ChunkTotals::add(&mut self.index.totals, compression, stored, len);
        }
        Ok(Some(()))
    }

    /// The index, if it tells where all messages are.
    fn complete(mut self) -> Option<Index> {
        let statistics = self.statistics?;
        let index = &mut self.index;
        let chunks = &index.bag.chunks;
        let positions: HashSet<u64> = chunks.iter().map(|chunk| chunk.position).collect();
        let total = statistics.counts.values().fold(0, |total: u64, count| total.saturating_add(*count));
        let is_complete = !self.lacks_channels
            && chunks.len() == statistics.chunks as usize
            && positions.len() == chunks.len()
            && index.bag.channels.len() == statistics.channels as usize
            && total == statistics.messages
            && (total == 0 || !chunks.is_empty());
        if !is_complete {
            return None;
        }
        for (id, count) in statistics.counts {
            let channel = index.bag.id(0, id.into()).ok()?;
            index.bag.count(channel, count);
        }
        index.time_range = (total > 0).then_some(statistics.time_range);
        Some(self.index)
    }
}

/// Records that are read after schemas and channels.
const REST: [u8; 4] = [op::CHUNK_INDEX, op::STATISTICS, op::ATTACHMENT_INDEX, op::METADATA_INDEX];

impl Statistics {
    fn parse(content: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(content);
        let (messages, _schemas, channels) = (fields.u64()?, fields.u16()?, fields.u32()?);
        let (_attachments, _metadata, chunks) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let time_range = [fields.u64()?, fields.u64()?];
        Some(Self { messages, channels, chunks, time_range, counts: fields.numbers()? })
    }
}
