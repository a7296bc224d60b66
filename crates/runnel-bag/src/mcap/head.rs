//! Records of a file, read where they are.

use std::io::{Read, Seek};

use super::records::HEAD;
use crate::Error;
use crate::chunks::Source;

/// Longest record that is read as a whole, in bytes: schemas, channels, metadata.
pub(super) const LONGEST_RECORD: u64 = 64 << 20;

/// Kind and length of a record in the file.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) op: u8,
    /// Position of the record.
    pub(super) at: u64,
    /// Length of the content in bytes; the file may be shorter.
    pub(super) len: u64,
}

impl Head {
    /// The head of the record at this position.
    pub(super) fn read<R: Read + Seek>(source: &mut Source<R>, at: u64) -> Result<Self, Error> {
        let [op, len @ ..] = source.array::<{ HEAD as usize }>(at, at)?;
        Ok(Self { op, at, len: u64::from_le_bytes(len) })
    }

    /// Position of the content.
    pub(super) fn content(&self) -> u64 {
        self.at + HEAD
    }

    /// Position of the next record.
    pub(super) fn end(&self) -> u64 {
        self.content().saturating_add(self.len)
    }

    /// Reads the content.
    pub(super) fn read_content<R: Read + Seek>(&self, source: &mut Source<R>) -> Result<Vec<u8>, Error> {
        if self.end() > source.len() {
            return Err(Error::Truncated { at: self.at });
        }
        if self.len > LONGEST_RECORD {
            return Err(self.malformed("the record is longer than its kind may be"));
        }
        source.range(self.at, self.content(), self.len)
    }

    /// Reads up to `len` bytes from the start of the content.
    pub(super) fn read_start<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        len: u64,
    ) -> Result<Vec<u8>, Error> {
        let mut start = Vec::new();
        source.stream(self.content(), self.len.min(len))?.read_to_end(&mut start)?;
        Ok(start)
    }

    /// The error of this record.
    pub(super) fn malformed(&self, reason: &'static str) -> Error {
        Error::Malformed { at: self.at, reason }
    }
}
