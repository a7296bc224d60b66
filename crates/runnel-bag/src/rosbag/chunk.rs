//! Contents of a decompressed chunk.

use std::collections::HashSet;

use super::channel;
use super::records::{Op, Record};
use crate::Channel;
use crate::limits::MOST_MESSAGES;

/// A message of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkMessage {
    /// Log time in nanoseconds since 1970.
    pub(super) time: u64,
    /// Id of the channel in the file.
    pub(super) channel: u32,
    /// Place of the message's bytes in the chunk.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The records of a chunk, in the order of the file.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) channels: Vec<(u32, Channel)>,
    pub(super) messages: Vec<ChunkMessage>,
    /// Why the rest of the data is left out.
    pub(super) damage: Option<&'static str>,
    /// Ids of the channels: each is kept once.
    known: HashSet<u32>,
}

impl Contents {
    pub(super) fn parse(data: &[u8]) -> Self {
        let mut contents = Self::default();
        let mut rest = data;
        while !rest.is_empty() {
            let Some((record, later)) = Record::parse(rest) else { break };
            let end = data.len() - later.len();
            if contents.add(&record, end).is_none() {
                break;
            }
            rest = later;
        }
        if !rest.is_empty() {
            contents.damage.get_or_insert("a record in the chunk is malformed");
        }
        contents
    }

    /// Adds a record that ends at `end`; `None` if a field is missing or the record is left out.
    fn add(&mut self, record: &Record<'_>, end: usize) -> Option<()> {
        match Op::from_number(record.fields.op()?) {
            Some(Op::Message) if self.messages.len() == MOST_MESSAGES => {
                self.damage = Some("the chunk has more than 4194304 messages");
                return None;
            }
            Some(Op::Connection) if !self.known.insert(record.fields.u32("conn")?) => {}
            Some(Op::Message) => self.messages.push(ChunkMessage {
                time: record.fields.time("time")?,
                channel: record.fields.u32("conn")?,
                start: end - record.data.len(),
                end,
            }),
            Some(Op::Connection) => self.channels.push(channel::parse(record.fields, record.data)?),
            _ => {}
        }
        Some(())
    }
}
