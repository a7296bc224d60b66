//! Attachments: files that were added to a bag.

use std::io::{self, Read, Seek, Write};

use super::head::Head;
use super::records::{Content, Fields, op};
use crate::chunks::Source;
use crate::{Attachment, Error};

/// Bytes of an attachment's record that are read for its names.
const LONGEST_HEAD: u64 = 128 << 10;

/// Longest attachment that is read into memory, in bytes.
const LONGEST_LOADED: u64 = 1 << 30;

/// A file in a bag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentInfo {
    /// Name of the file.
    pub name: String,
    /// Its media type, such as `text/plain`.
    pub media_type: String,
    /// When it was added, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was created, in nanoseconds since 1970; 0 if unknown.
    pub create_time: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Position of its record in the bag, in bytes.
    pub position: u64,
}

impl AttachmentInfo {
    /// The file whose record begins here.
    pub(super) fn read<R: Read + Seek>(source: &mut Source<R>, head: &Head) -> Result<Self, Error> {
        let start = head.read_start(source, LONGEST_HEAD)?;
        Self::parse(head, &start).map(|(info, _)| info)
    }

    /// The file, and the length of what precedes its bytes in the content of its record.
    fn parse(head: &Head, start: &[u8]) -> Result<(Self, u64), Error> {
        let malformed = || head.malformed("the attachment's head is malformed");
        let mut fields = Fields::new(start);
        let parsed = (|| {
            let (log_time, create_time) = (fields.u64()?, fields.u64()?);
            let (name, media_type) = (fields.text()?, fields.text()?);
            let len = fields.u64()?;
            Some(Self { name, media_type, log_time, create_time, len, position: head.at })
        })();
        let info = parsed.filter(|_| head.op == op::ATTACHMENT).ok_or_else(malformed)?;
        let before = (start.len() - fields.len()) as u64;
        let end = before.checked_add(info.len).and_then(|end| end.checked_add(4));
        if end == Some(head.len) { Ok((info, before)) } else { Err(malformed()) }
    }

    /// From the index: the content of a record.
    pub(super) fn parse_index(content: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(content);
        let (position, _length) = (fields.u64()?, fields.u64()?);
        let (log_time, create_time, len) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (name, media_type) = (fields.text()?, fields.text()?);
        Some(Self { name, media_type, log_time, create_time, len, position })
    }
}

/// A file in a bag with its bytes.
pub(super) fn load<R: Read + Seek>(source: &mut Source<R>, at: u64) -> Result<Attachment, Error> {
    let head = Head::read(source, at)?;
    if AttachmentInfo::read(source, &head)?.len > LONGEST_LOADED {
        return Err(head.malformed("the attachment is longer than 1 GiB"));
    }
    let mut data = Vec::new();
    let info = copy(source, at, &mut data)?;
    let AttachmentInfo { name, media_type, log_time, create_time, .. } = info;
    Ok(Attachment { name, media_type, log_time, create_time, data })
}

/// Writes the bytes of a file in a bag to an output.
pub(super) fn copy<R: Read + Seek>(
    source: &mut Source<R>,
    at: u64,
    out: &mut dyn Write,
) -> Result<AttachmentInfo, Error> {
    let head = Head::read(source, at)?;
    if head.end() > source.len() {
        return Err(Error::Truncated { at });
    }
    let start = head.read_start(source, LONGEST_HEAD)?;
    let (info, before) = AttachmentInfo::parse(&head, &start)?;
    let mut out = Summed { out, hasher: crc32fast::Hasher::new() };
    out.hasher.update(&start[..before as usize]);
    if io::copy(&mut source.stream(head.content() + before, info.len)?, &mut out)? < info.len {
        return Err(Error::Truncated { at });
    }
    let expected: [u8; 4] = source.array(at, head.end() - 4)?;
    if expected == [0; 4] || expected == out.hasher.finalize().to_le_bytes() {
        Ok(info)
    } else {
        Err(Error::Checksum { at })
    }
}

/// An output, and the checksum of what it gets.
struct Summed<'a> {
    out: &'a mut dyn Write,
    hasher: crc32fast::Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Attachment {
    /// What precedes the bytes in the content of the record.
    pub(super) fn head(&self) -> Content {
        Content::default()
            .u64(self.log_time)
            .u64(self.create_time)
            .text(&self.name)
            .text(&self.media_type)
            .u64(self.data.len() as u64)
    }

    /// The record of the index for a record at `position` of `len` bytes.
    pub(super) fn index(&self, position: u64, len: u64) -> Vec<u8> {
        Content::default()
            .u64(position)
            .u64(len)
            .u64(self.log_time)
            .u64(self.create_time)
            .u64(self.data.len() as u64)
            .text(&self.name)
            .text(&self.media_type)
            .into_record(op::ATTACHMENT_INDEX)
    }
}
