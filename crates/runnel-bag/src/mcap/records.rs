//! Records of MCAP.
//!
//! ```text
//! +------+----------------+---------+
//! | kind | length, 8 byte | content |
//! +------+----------------+---------+
//! ```
//! Numbers are little-endian. A text has 4 bytes of length, and so has a mapping or list, in bytes. Source:
//! mcap.dev/spec.

use std::collections::BTreeMap;

/// Kind of a record.
pub(super) mod op {
    pub(in super::super) const HEADER: u8 = 0x01;
    pub(in super::super) const FOOTER: u8 = 0x02;
    pub(in super::super) const SCHEMA: u8 = 0x03;
    pub(in super::super) const CHANNEL: u8 = 0x04;
    pub(in super::super) const MESSAGE: u8 = 0x05;
    pub(in super::super) const CHUNK: u8 = 0x06;
    pub(in super::super) const MESSAGE_INDEX: u8 = 0x07;
    pub(in super::super) const CHUNK_INDEX: u8 = 0x08;
    pub(in super::super) const ATTACHMENT: u8 = 0x09;
    pub(in super::super) const ATTACHMENT_INDEX: u8 = 0x0A;
    pub(in super::super) const STATISTICS: u8 = 0x0B;
    pub(in super::super) const METADATA: u8 = 0x0C;
    pub(in super::super) const METADATA_INDEX: u8 = 0x0D;
    pub(in super::super) const SUMMARY_OFFSET: u8 = 0x0E;
    pub(in super::super) const DATA_END: u8 = 0x0F;
}

/// Length of a record's kind and length, in bytes.
pub(super) const HEAD: u64 = 9;

/// Length of a message's record without its head and data, in bytes.
pub(super) const MESSAGE_HEAD: usize = 22;

/// Length of the footer's content, in bytes.
pub(super) const FOOTER_LEN: u64 = 20;

/// Content of a record that was read. Each method takes a value from its start; `None` if it is too short.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self(content)
    }

    /// Bytes that remain.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*value)
    }

    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (value, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(value)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes after a length of 4 bytes.
    pub(super) fn blob(&mut self) -> Option<&'a [u8]> {
        let len = self.u32()?;
        self.bytes(len as usize)
    }

    /// A text. Bytes that are no UTF-8 are replaced.
    pub(super) fn text(&mut self) -> Option<String> {
        self.blob().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// A mapping of texts. Of equal keys the first is kept.
    pub(super) fn texts(&mut self) -> Option<BTreeMap<String, String>> {
        let mut entries = Fields(self.blob()?);
        let mut texts = BTreeMap::new();
        while !entries.is_empty() {
            let key = entries.text()?;
            let value = entries.text()?;
            texts.entry(key).or_insert(value);
        }
        Some(texts)
    }

    /// A mapping of channels' ids to numbers.
    pub(super) fn numbers(&mut self) -> Option<BTreeMap<u16, u64>> {
        let mut entries = Fields(self.blob()?);
        let mut numbers = BTreeMap::new();
        while !entries.is_empty() {
            numbers.insert(entries.u16()?, entries.u64()?);
        }
        Some(numbers)
    }
}

/// The record at the start of these bytes: its kind, its content and what follows; `None` if it is incomplete.
pub(super) fn split_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (op, rest) = bytes.split_first()?;
    let (len, rest) = rest.split_first_chunk()?;
    let (content, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
    Some((*op, content, rest))
}

/// Content of a record to be written.
#[derive(Default)]
pub(super) struct Content(Vec<u8>);

impl Content {
    pub(super) fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Bytes after a length of 4 bytes, which the caller ensures to suffice.
    pub(super) fn blob(mut self, bytes: &[u8]) -> Self {
        self.0.extend((bytes.len() as u32).to_le_bytes());
        self.0.extend(bytes);
        self
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.blob(text.as_bytes())
    }

    pub(super) fn texts(self, texts: &BTreeMap<String, String>) -> Self {
        let entries =
            texts.iter().fold(Self::default(), |entries, (key, value)| entries.text(key).text(value));
        self.blob(&entries.0)
    }

    pub(super) fn numbers(self, numbers: &BTreeMap<u16, u64>) -> Self {
        let entries =
            numbers.iter().fold(Self::default(), |entries, (id, value)| entries.u16(*id).u64(*value));
        self.blob(&entries.0)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The head of the record, whose content continues with `more` bytes, and the content so far.
    pub(super) fn into_record_start(self, op: u8, more: u64) -> Vec<u8> {
        let mut record = Vec::with_capacity(self.0.len() + HEAD as usize);
        put_head(&mut record, op, self.0.len() as u64 + more);
        record.extend(self.0);
        record
    }

    pub(super) fn into_record(self, op: u8) -> Vec<u8> {
        self.into_record_start(op, 0)
    }
}

/// Appends the kind and length of a record.
pub(super) fn put_head(out: &mut Vec<u8>, op: u8, len: u64) {
    out.push(op);
    out.extend(len.to_le_bytes());
}

/// Appends the index of a chunk's messages of one channel: log times and positions in the chunk.
pub(super) fn put_message_index(out: &mut Vec<u8>, channel: u16, entries: &[(u64, u64)]) {
    let len = 16 * entries.len();
    put_head(out, op::MESSAGE_INDEX, 6 + len as u64);
    out.extend(channel.to_le_bytes());
    out.extend((len as u32).to_le_bytes());
    for (log_time, offset) in entries {
        out.extend(log_time.to_le_bytes());
        out.extend(offset.to_le_bytes());
    }
}
