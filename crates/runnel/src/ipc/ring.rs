//! Record ring from one process to another: words with one writer and one reader.
//!
//! ```text
//!  63      56 55                    32 31                               0
//! +----------+------------------------+----------------------------------+
//! |   kind   |        channel         |     length of the payload, bytes |   header: never 0
//! +----------+------------------------+----------------------------------+
//! |   the payload, in little-endian words; the last one is padded with zeros                 |
//! ```
//! Records are contiguous and wrap at any word. The word at the reader's position is a header, or 0 while there is
//! none. So the writer stores 0 at the place of the *next* header, then the payload, then the header with release
//! order: a short record moves one cache line and no shared count. That zero also needs a word that the reader has
//! passed.
//!
//! The reader reports its position in its own memory ([`RingReader::report`]). The writer reads it ([`reported`]) only
//! when the ring seems full. The memory is initially zero.

use std::fmt;

use super::Falsified;
use super::cells::{Cells, OwnCells};

/// Bytes of a word.
const WORD: usize = 8;

/// Words of a record besides its payload: its header, and the zero at the place of the next one.
const OVERHEAD: u64 = 2;

/// The smallest ring, in words.
pub(crate) const MIN_CAPACITY: usize = 8;

/// The longest payload in a ring of `capacity` words, in bytes.
pub(crate) const fn longest(capacity: usize) -> usize {
    let bytes = (capacity - OVERHEAD as usize).saturating_mul(WORD);
    if bytes < u32::MAX as usize { bytes } else { u32::MAX as usize }
}

/// The last reported position of the reader. Words before it are read and may be overwritten.
pub(crate) fn reported(cells: &(impl Cells + ?Sized), index: usize) -> u64 {
    cells.load_acquire(index)
}

/// A decoded header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its kind; never 0.
    pub(crate) kind: u8,
    /// Its channel: 24 bits.
    pub(crate) channel: u32,
    /// Length of the payload in bytes.
    pub(crate) len: u32,
}

impl Record {
    fn to_word(self) -> u64 {
        u64::from(self.kind) << 56 | u64::from(self.channel) << 32 | u64::from(self.len)
    }

    fn from_word(word: u64) -> Self {
        Self { kind: (word >> 56) as u8, channel: (word >> 32) as u32 & 0xff_ffff, len: word as u32 }
    }

    /// Words of its payload.
    fn words(self) -> usize {
        (self.len as usize).div_ceil(WORD)
    }
}

/// A header that no correct writer writes. The rest of the ring cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadRecord {
    /// Its kind is 0, but the word is not.
    Kind,
    /// Its length in bytes exceeds the ring.
    Length(u32),
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("wrote a record of kind 0 into shared memory"),
            Self::Length(len) => {
                write!(f, "wrote a record of {len} bytes into shared memory, more than the ring holds")
            }
        }
    }
}

/// The writer's end, with its private state. Positions count words and never wrap.
#[derive(Debug)]
pub(crate) struct RingWriter {
    capacity: usize,
    written: u64,
    /// The reader's position as last read.
    read: u64,
}

impl RingWriter {
    /// For a new ring of `capacity` words: a power of two, at least [`MIN_CAPACITY`].
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= MIN_CAPACITY);
        Self { capacity, written: 0, read: 0 }
    }

    /// The position of the next header.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The longest payload that fits now, in bytes; 0 may also mean that not even an empty record fits. `read` returns
    /// the [`reported`] position.
    pub(crate) fn available(&mut self, read: impl FnOnce() -> u64) -> Result<usize, Falsified> {
        self.update_read(read())?;
        let words = self.free().saturating_sub(OVERHEAD) as usize;
        Ok(words.saturating_mul(WORD).min(longest(self.capacity)))
    }

    /// Appends a record whose payload is the concatenation of `parts`. False if it does not fit. `read` returns the
    /// [`reported`] position; it is only called when the ring seems full.
    #[inline]
    pub(crate) fn push(
        &mut self,
        ring: &(impl OwnCells + ?Sized),
        (kind, channel): (u8, u32),
        parts: &[&[u8]],
        read: impl FnOnce() -> u64,
    ) -> Result<bool, Falsified> {
        debug_assert!(kind != 0 && channel >> 24 == 0);
        let len = parts.iter().fold(0_usize, |len, part| len.saturating_add(part.len()));
        if len > longest(self.capacity) {
            return Ok(false);
        }
        let record = Record { kind, channel, len: len as u32 };
        let needed = record.words() as u64 + OVERHEAD;
        if needed > self.free() {
            self.update_read(read())?;
            if needed > self.free() {
                return Ok(false);
            }
        }
        self.commit(ring, record, parts);
        Ok(true)
    }

    /// Writes a record that fits.
    #[inline]
    fn commit(&mut self, ring: &(impl OwnCells + ?Sized), record: Record, parts: &[&[u8]]) {
        let (header, mask) = (self.written as usize, self.capacity - 1);
        self.written += 1 + record.words() as u64;
        ring.store(self.written as usize & mask, 0);
        let mut payload = Payload { ring, mask, next: header + 1, staged: 0, filled: 0 };
        for part in parts {
            payload.put(part);
        }
        payload.finish();
        ring.store_release(header & mask, record.to_word());
    }

    /// Words that the reader is known to have passed.
    fn free(&self) -> u64 {
        self.capacity as u64 - (self.written - self.read)
    }

    /// Updates the reader's position, if it is possible.
    fn update_read(&mut self, read: u64) -> Result<(), Falsified> {
        if !(self.read..=self.written).contains(&read) {
            return Err(Falsified);
        }
        self.read = read;
        Ok(())
    }
}

/// Converts pieces of bytes to words.
struct Payload<'a, C: ?Sized> {
    ring: &'a C,
    mask: usize,
    /// Position of the next word.
    next: usize,
    /// Bytes of an incomplete word.
    staged: u64,
    /// Number of these bytes.
    filled: usize,
}

impl<C: OwnCells + ?Sized> Payload<'_, C> {
    #[inline]
    fn put(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let (first, rest) = bytes.split_at(bytes.len().min(WORD - self.filled));
            self.staged |= less_than_word(first) << (8 * self.filled);
            self.filled += first.len();
            if self.filled < WORD {
                return;
            }
            self.store(self.staged);
            bytes = rest;
        }
        let (words, rest) = bytes.as_chunks::<WORD>();
        for word in words {
            self.store(u64::from_le_bytes(*word));
        }
        (self.staged, self.filled) = (less_than_word(rest), rest.len());
    }

    #[inline]
    fn finish(mut self) {
        if self.filled > 0 {
            self.store(self.staged);
        }
    }

    #[inline]
    fn store(&mut self, word: u64) {
        self.ring.store(self.next & self.mask, word);
        self.next += 1;
    }
}

/// At most seven bytes as the low bytes of a word.
#[inline]
fn less_than_word(bytes: &[u8]) -> u64 {
    let (mut word, mut shift, mut rest) = (0, 0, bytes);
    if let Some((four, behind)) = rest.split_first_chunk::<4>() {
        (word, shift, rest) = (u64::from(u32::from_le_bytes(*four)), 32, behind);
    }
    if let Some((two, behind)) = rest.split_first_chunk::<2>() {
        word |= u64::from(u16::from_le_bytes(*two)) << shift;
        (shift, rest) = (shift + 16, behind);
    }
    rest.first().map_or(word, |&one| word | u64::from(one) << shift)
}

/// The reader's end, with its private state.
#[derive(Debug)]
pub(crate) struct RingReader {
    capacity: usize,
    position: u64,
}

impl RingReader {
    /// For a new ring of `capacity` words: a power of two, at least [`MIN_CAPACITY`]. The caller has checked the
    /// peer's memory, and passes that many cells.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Reads a ring from `position` on: for a writer that reads its own ring again, to find the records that its
    /// reader left. A falsified position may be within a record, so that anything may be read: the caller ends at
    /// [`RingWriter::written`] or at the first [`BadRecord`].
    pub(crate) fn starting_at(capacity: usize, position: u64) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= MIN_CAPACITY);
        Self { capacity, position }
    }

    /// The position of the next header.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Reports to the writer, in this side's memory, that all words before the position may be overwritten.
    pub(crate) fn report(&self, own: &(impl OwnCells + ?Sized), index: usize) {
        own.store_release(index, self.position);
    }

    /// The record at the position, if there is one.
    #[inline]
    pub(crate) fn peek(&self, ring: &(impl Cells + ?Sized)) -> Result<Option<Record>, BadRecord> {
        let word = ring.load_acquire(self.place(0));
        if word == 0 {
            return Ok(None);
        }
        let record = Record::from_word(word);
        if record.kind == 0 {
            return Err(BadRecord::Kind);
        }
        if record.len as usize > longest(self.capacity) {
            return Err(BadRecord::Length(record.len));
        }
        Ok(Some(record))
    }

    /// Appends the payload of the record that [`Self::peek`] returned to `out`. A peer that writes it meanwhile only
    /// corrupts its own message.
    #[inline]
    pub(crate) fn copy(&self, ring: &(impl Cells + ?Sized), record: &Record, out: &mut Vec<u8>) {
        self.copy_from(ring, record, 0, out);
    }

    /// Like [`Self::copy`], without the first words of the payload.
    #[inline]
    pub(crate) fn copy_from(
        &self,
        ring: &(impl Cells + ?Sized),
        record: &Record,
        skipped: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.resize(start + record.words().saturating_sub(skipped) * WORD, 0);
        let (words, _) = out[start..].as_chunks_mut::<WORD>();
        for (index, word) in words.iter_mut().enumerate() {
            *word = ring.load(self.place(1 + skipped + index)).to_le_bytes();
        }
        out.truncate(start + (record.len as usize).saturating_sub(skipped * WORD));
    }

    /// The first words of the payload of the record that [`Self::peek`] returned, if it has as many.
    #[inline]
    pub(crate) fn first_words<const N: usize>(
        &self,
        ring: &(impl Cells + ?Sized),
        record: &Record,
    ) -> Option<[u64; N]> {
        let has_them = record.len as usize >= N * WORD;
        has_them.then(|| std::array::from_fn(|index| ring.load(self.place(1 + index))))
    }

    /// The payload of the record that [`Self::peek`] returned, if it has exactly `N` words.
    #[inline]
    pub(crate) fn words<const N: usize>(
        &self,
        ring: &(impl Cells + ?Sized),
        record: &Record,
    ) -> Option<[u64; N]> {
        let exact = record.len as usize == N * WORD && N < self.capacity;
        exact.then(|| std::array::from_fn(|index| ring.load(self.place(1 + index))))
    }

    /// Advances behind the record that [`Self::peek`] returned.
    #[inline]
    pub(crate) fn advance(&mut self, record: &Record) {
        self.position = self.position.wrapping_add(1 + record.words() as u64);
    }

    /// The index of the word at this distance from the position.
    fn place(&self, ahead: usize) -> usize {
        (self.position as usize).wrapping_add(ahead) & (self.capacity - 1)
    }
}
