//! Records of a file, read where they are.

use std::io::{ErrorKind, Read, Seek, SeekFrom, Take};

use super::records::ReadFields;
use crate::Error;
use crate::padding::is_zero;

/// Longest header of a record, in bytes. Programs pad headers to a page or a block of the disk.
const LONGEST_HEADER: u32 = 1 << 20;

/// Input of a bag.
pub(super) struct Source<R> {
    input: R,
    /// Length in bytes.
    len: u64,
}

/// The header of a record in the file.
pub(super) struct Head {
    /// Position of the record.
    pub(super) at: u64,
    fields: Vec<u8>,
    /// Position of the data.
    pub(super) data: u64,
    /// Length of the data in bytes; the file may be shorter.
    pub(super) data_len: u32,
}

impl Head {
    pub(super) fn fields(&self) -> ReadFields<'_> {
        ReadFields::parse(&self.fields).expect("checked when the header was read")
    }

    /// Position of the next record.
    pub(super) fn end(&self) -> u64 {
        self.data + u64::from(self.data_len)
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

    /// The header of the record at this position.
    pub(super) fn head(&mut self, at: u64) -> Result<Head, Error> {
        let truncated = Error::Truncated { at };
        let mut len = [0; 4];
        self.fill(at, at, &mut len)?;
        let header_len = u32::from_le_bytes(len);
        let data = at + 8 + u64::from(header_len);
        if data > self.len {
            return Err(truncated);
        }
        if header_len > LONGEST_HEADER {
            return Err(Error::Malformed { at, reason: "the record's header is longer than 1 MiB" });
        }
        let mut fields = vec![0; header_len as usize];
        self.fill(at, at + 4, &mut fields)?;
        ReadFields::parse(&fields)
            .ok_or(Error::Malformed { at, reason: "the record's header is malformed" })?;
        self.fill(at, data - 4, &mut len)?;
        Ok(Head { at, fields, data, data_len: u32::from_le_bytes(len) })
    }

    /// The data of a record, of at most `limit` bytes.
    pub(super) fn data(&mut self, head: &Head, limit: u32) -> Result<Vec<u8>, Error> {
        if head.end() > self.len {
            return Err(Error::Truncated { at: head.at });
        }
        if head.data_len > limit {
            return Err(head.malformed("the record is longer than its kind may be"));
        }
        let mut data = Vec::new();
        self.stream(head)?.read_to_end(&mut data)?;
        if data.len() < head.data_len as usize { Err(Error::Truncated { at: head.at }) } else { Ok(data) }
    }

    /// The data of a record, up to the end of the file.
    pub(super) fn stream(&mut self, head: &Head) -> Result<Take<&mut R>, Error> {
        self.input.seek(SeekFrom::Start(head.data))?;
        Ok((&mut self.input).take(head.data_len.into()))
    }

    /// Fills the buffer with the bytes at `position`, which belong to the record at `record`.
    pub(super) fn fill(&mut self, record: u64, position: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.input.seek(SeekFrom::Start(position))?;
        self.input.read_exact(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Truncated { at: record },
            _ => Error::Io(error),
        })
    }
}
