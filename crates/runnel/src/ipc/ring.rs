//! Records from one process to another: a ring of words with one writer and one reader.
//!
//! ```text
//!  63      56 55                    32 31                               0
//! +----------+------------------------+----------------------------------+
//! |   kind   |        channel         |     length of the payload, bytes |   header: never 0
//! +----------+------------------------+----------------------------------+
//! |   the payload, in words of little-endian order; the last one is filled up with zeros ..  |
//! ```
//! Records lie one behind the other and wrap anywhere. What lies at the reader's position is a header, or 0 while there is
//! none. So the writer stores 0 where the *next* header will be, then the payload, then the header with release: a small
//! record moves one cache line and no shared count. That zero takes a place that the reader has passed, too.
//!
//! The reader tells its position in memory of its own ([`RingReader::tell`]), where the writer looks ([`told`]) only when
//! the ring seems full. The memory begins as zeros.

use std::fmt;

use super::Falsified;
use super::cells::{Cells, OwnCells};

/// Bytes of a word.
const WORD: usize = 8;

/// Words that a record needs beside its payload: its header, and the zero in place of the next.
const OVERHEAD: u64 = 2;

/// The smallest ring, in words.
pub(crate) const MIN_CAPACITY: usize = 8;

/// The most bytes that a record in a ring of `capacity` words can hold.
pub(crate) const fn longest(capacity: usize) -> usize {
    let bytes = (capacity - OVERHEAD as usize).saturating_mul(WORD);
    if bytes < u32::MAX as usize { bytes } else { u32::MAX as usize }
}

/// The reader's position as it told it last. Words before it are read, and may be written again.
pub(crate) fn told(cells: &(impl Cells + ?Sized), index: usize) -> u64 {
    cells.load_acquire(index)
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// What it is; never 0.
    pub(crate) kind: u8,
    /// Whom it concerns: 24 bits.
    pub(crate) channel: u32,
    /// Bytes of payload.
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

/// A header that no writer of ours could have written. What follows it in the ring cannot be told any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadRecord {
    /// Its kind is 0, but the word is not.
    Kind,
    /// Its length in bytes, which the ring cannot hold.
    Length(u32),
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("wrote a record of kind 0 in shared memory"),
            Self::Length(len) => {
                write!(f, "wrote a record of {len} bytes in shared memory, more than fit there")
            }
        }
    }
}

/// The writer's end, with what it alone knows. Positions count words and never wrap.
#[derive(Debug)]
pub(crate) struct RingWriter {
    capacity: usize,
    written: u64,
    /// The reader's position as last known.
    read: u64,
}

impl RingWriter {
    /// Of a ring that nobody wrote yet, of `capacity` words: a power of two, at least [`MIN_CAPACITY`].
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= MIN_CAPACITY);
        Self { capacity, written: 0, read: 0 }
    }

    /// Where the next header will be.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// How many bytes one record may hold now; 0 may also mean that not even an empty one fits. `read` gives what the
    /// reader [`told`].
    pub(crate) fn room(&mut self, read: impl FnOnce() -> u64) -> Result<usize, Falsified> {
        self.learn(read())?;
        let words = self.free().saturating_sub(OVERHEAD) as usize;
        Ok(words.saturating_mul(WORD).min(longest(self.capacity)))
    }

    /// Appends a record of a kind and a channel, its payload being the bytes of `parts` in a row; false if there is no
    /// room. `read` gives what the reader [`told`], and is asked only when there seems to be no room.
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
            self.learn(read())?;
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

    /// Words that the reader has passed, as far as is known.
    fn free(&self) -> u64 {
        self.capacity as u64 - (self.written - self.read)
    }

    /// Takes the reader's position, if it can be.
    fn learn(&mut self, read: u64) -> Result<(), Falsified> {
        if !(self.read..=self.written).contains(&read) {
            return Err(Falsified);
        }
        self.read = read;
        Ok(())
    }
}

/// Bytes that come in pieces and leave as words.
struct Payload<'a, C: ?Sized> {
    ring: &'a C,
    mask: usize,
    /// Where the next word goes.
    next: usize,
    /// Bytes that do not make a word yet.
    staged: u64,
    /// How many.
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

/// At most seven bytes as the low ones of a word.
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

/// The reader's end, with what it alone knows.
#[derive(Debug)]
pub(crate) struct RingReader {
    capacity: usize,
    position: u64,
}

impl RingReader {
    /// Of a ring that nobody read yet, of `capacity` words: a power of two, at least [`MIN_CAPACITY`]. What a peer says
    /// of it is checked before, and the cells that are passed here are that many.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// Of a ring from `position` on: for a writer that reads again in its own ring what its reader, who told the position,
    /// left there. A falsified position may lie within a record, and then what is read is anything: the caller ends at
    /// [`RingWriter::written`] or at the first [`BadRecord`].
    pub(crate) fn starting_at(capacity: usize, position: u64) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= MIN_CAPACITY);
        Self { capacity, position }
    }

    /// Where the next header is, or will be.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Tells the writer, in this side's memory, that all before the position may be written again.
    pub(crate) fn tell(&self, own: &(impl OwnCells + ?Sized), index: usize) {
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

    /// Appends the payload of the record that [`Self::peek`] gave to `out`. A peer that writes there meanwhile spoils its
    /// own message, not more.
    #[inline]
    pub(crate) fn copy(&self, ring: &(impl Cells + ?Sized), record: &Record, out: &mut Vec<u8>) {
        self.copy_from(ring, record, 0, out);
    }

    /// The same without so many words of the payload.
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

    /// The first words of the payload of the record that [`Self::peek`] gave, if it has so many.
    #[inline]
    pub(crate) fn first_words<const N: usize>(
        &self,
        ring: &(impl Cells + ?Sized),
        record: &Record,
    ) -> Option<[u64; N]> {
        let has_them = record.len as usize >= N * WORD;
        has_them.then(|| std::array::from_fn(|index| ring.load(self.place(1 + index))))
    }

    /// The payload of the record that [`Self::peek`] gave, if it is `N` words and nothing else.
    #[inline]
    pub(crate) fn words<const N: usize>(
        &self,
        ring: &(impl Cells + ?Sized),
        record: &Record,
    ) -> Option<[u64; N]> {
        let exact = record.len as usize == N * WORD && N < self.capacity;
        exact.then(|| std::array::from_fn(|index| ring.load(self.place(1 + index))))
    }

    /// Goes on to the record behind the one that [`Self::peek`] gave.
    #[inline]
    pub(crate) fn advance(&mut self, record: &Record) {
        self.position = self.position.wrapping_add(1 + record.words() as u64);
    }

    /// The place of the word that is `ahead` of the position.
    fn place(&self, ahead: usize) -> usize {
        (self.position as usize).wrapping_add(ahead) & (self.capacity - 1)
    }
}
