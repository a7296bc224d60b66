//! Records of a file, read where they are.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Take};

use super::records::HEAD;
use crate::Error;
use crate::padding::is_zero;

/// Longest record that is read as a whole, in bytes: schemas, channels, metadata.
pub(super) const LONGEST_RECORD: u64 = 64 << 20;

/// Input of a bag.
pub(super) struct Source<R> {
    input: R,
    /// Length in bytes.
    len: u64,
}

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
    /// Position of the content.
    pub(super) fn content(&self) -> u64 {
        self.at + HEAD
    }

    /// Position of the next record.
    pub(super) fn end(&self) -> u64 {
        self.content().saturating_add(self.len)
    }

    /// The error of this record.
    pub(super) fn malformed(&self, reason: &'static str) -> Error {
        Error::Malformed { at: self.at, reason }
    }
}

impl<R: Read + Seek> Source<R> {
    pub(super) fn new(mut input: R) -> Result<Self, Error> {
        let len = input.seek(SeekFrom::End(0))?;
        Ok(Self { input, len })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has only zeros from this position on: the padding of a recorder that was killed.
    pub(super) fn is_zero_from(&mut self, at: u64) -> Result<bool, Error> {
        self.input.seek(SeekFrom::Start(at))?;
        Ok(is_zero(&mut self.input)?)
    }

    /// The head of the record at this position.
    pub(super) fn head(&mut self, at: u64) -> Result<Head, Error> {
        let [op, len @ ..] = self.array::<{ HEAD as usize }>(at, at)?;
        Ok(Head { op, at, len: u64::from_le_bytes(len) })
    }

    /// The content of a record.
    pub(super) fn content(&mut self, head: &Head) -> Result<Vec<u8>, Error> {
        if head.end() > self.len {
            return Err(Error::Truncated { at: head.at });
        }
        if head.len > LONGEST_RECORD {
            return Err(head.malformed("the record is longer than its kind may be"));
        }
        self.range(head.at, head.content(), head.len)
    }

    /// Up to `len` bytes from the start of a record's content.
    pub(super) fn start(&mut self, head: &Head, len: u64) -> Result<Vec<u8>, Error> {
        let mut start = Vec::new();
        self.stream(head.content(), head.len.min(len))?.read_to_end(&mut start)?;
        Ok(start)
    }

    /// Bytes that belong to the record at `record`.
    pub(super) fn range(&mut self, record: u64, at: u64, len: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.stream(at, len)?.read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < len { Err(Error::Truncated { at: record }) } else { Ok(bytes) }
    }

    /// Up to `len` bytes from this position on.
    pub(super) fn stream(&mut self, at: u64, len: u64) -> Result<Take<&mut R>, Error> {
        self.input.seek(SeekFrom::Start(at))?;
        Ok((&mut self.input).take(len))
    }

    /// The bytes at `position`, which belong to the record at `record`.
    pub(super) fn array<const N: usize>(&mut self, record: u64, position: u64) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.input.seek(SeekFrom::Start(position))?;
        self.input.read_exact(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Truncated { at: record },
            _ => Error::Io(error),
        })?;
        Ok(bytes)
    }
}
