//! Records of a file, read where they are.

use std::io::{Read, Seek, Take};

use super::records::ReadFields;
use crate::Error;
use crate::chunks::Source;

/// Longest header of a record, in bytes. Programs pad headers to a page or a block of the disk.
const LONGEST_HEADER: u32 = 1 << 20;

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
    /// The header of the record at this position.
    pub(super) fn read<R: Read + Seek>(source: &mut Source<R>, at: u64) -> Result<Self, Error> {
        let header_len = u32::from_le_bytes(source.array(at, at)?);
        let data = at + 8 + u64::from(header_len);
        if data > source.len() {
            return Err(Error::Truncated { at });
        }
        if header_len > LONGEST_HEADER {
            return Err(Error::Malformed { at, reason: "the record's header is longer than 1 MiB" });
        }
        let fields = source.range(at, at + 4, header_len.into())?;
        ReadFields::parse(&fields)
            .ok_or(Error::Malformed { at, reason: "the record's header is malformed" })?;
        let data_len = u32::from_le_bytes(source.array(at, data - 4)?);
        Ok(Self { at, fields, data, data_len })
    }

    pub(super) fn fields(&self) -> ReadFields<'_> {
        ReadFields::parse(&self.fields).expect("checked when the header was read")
    }

    /// Position of the next record.
    pub(super) fn end(&self) -> u64 {
        self.data + u64::from(self.data_len)
    }

    /// Reads the data, of at most `limit` bytes.
    pub(super) fn read_data<R: Read + Seek>(
        &self,
        source: &mut Source<R>,
        limit: u32,
    ) -> Result<Vec<u8>, Error> {
        if self.end() > source.len() {
            return Err(Error::Truncated { at: self.at });
        }
        if self.data_len > limit {
            return Err(self.malformed("the record is longer than its kind may be"));
        }
        source.range(self.at, self.data, self.data_len.into())
    }

    /// The data, up to the end of the file.
    pub(super) fn data_stream<'a, R: Read + Seek>(
        &self,
        source: &'a mut Source<R>,
    ) -> Result<Take<&'a mut R>, Error> {
        source.stream(self.data, self.data_len.into())
    }

    /// The error of this record.
    pub(super) fn malformed(&self, reason: &'static str) -> Error {
        Error::Malformed { at: self.at, reason }
    }
}
