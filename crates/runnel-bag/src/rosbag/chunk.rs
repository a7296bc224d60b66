//! Contents of a decompressed chunk.

use std::ops::Range;

use runnel_core::time::Time;

use super::connection::Connection;
use super::records::{Op, Record};

/// A message's place in its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) time: Time,
    /// Id of the connection in the file.
    pub(super) connection: u32,
    start: u32,
    end: u32,
}

impl Entry {
    /// Place of the message's bytes in the chunk.
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The records of a chunk, in the order of the file.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) connections: Vec<(u32, Connection)>,
    pub(super) entries: Vec<Entry>,
    /// Whether the data end in a malformed or incomplete record, which is left out.
    pub(super) is_damaged: bool,
}

impl Contents {
    /// Parses a chunk's data, whose length has 32 bits.
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
        contents.is_damaged = !rest.is_empty();
        contents
    }

    /// Adds a record that ends at `end`; `None` if a field is missing.
    fn add(&mut self, record: &Record<'_>, end: usize) -> Option<()> {
        match Op::from_number(record.fields.op()?) {
            Some(Op::Message) => self.entries.push(Entry {
                time: record.fields.time("time")?,
                connection: record.fields.u32("conn")?,
                start: (end - record.data.len()) as u32,
                end: end as u32,
            }),
            Some(Op::Connection) => self.connections.push(Connection::parse(record.fields, record.data)?),
            _ => {}
        }
        Some(())
    }
}

/// Orders times as ROS 1 does, where seconds are unsigned.
pub(super) fn order(time: Time) -> (u32, u32) {
    (time.sec as u32, time.nanosec)
}
