//! The memory that one process writes for one peer.
//!
//! ```text
//!  word 0       its position in the peer's ring
//!  word 8       how often it has asked to be told of room in its own ring
//!  word 16      segments of the peer that it has mapped, or FULL
//!  word 17      0, or at the end of the session: 1 once it has read its last record, 2 once its links went on elsewhere
//!  word 24 ..   the slots that it gives back to the peer (`returns`)
//!  word 4128 .. its ring of records
//! ```
//! What is written at different times lies in different cache lines.

use std::io;
use std::sync::atomic::AtomicU64;

use runnel_io::memory::{Foreign, ForeignWords, Shared};

use super::cells::{Cells, OwnCells};
use super::{returns, ring};

/// Words of the ring of records: a power of two.
pub(crate) const RING: usize = 1 << 15;

/// Slots of one process that may be lent to one peer at a time: a power of two.
pub(crate) const LOANS: usize = 4096;

const POSITION: usize = 0;
const WANTS: usize = 8;
const MAPPED: usize = 16;
const END: usize = 17;
const RETURNS: usize = 24;
const RECORDS: usize = (RETURNS + returns::words(LOANS)).next_multiple_of(8);
const BYTES: usize = (RECORDS + RING) * 8;

/// In place of a count of segments: it maps no more.
const FULL: u64 = 1 << 63;

/// How far the end of a session has come for one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// It has read its last record: its position stays.
    Read = 1,
    /// It has taken the other's position for the last: what the other reads from now on it gets twice.
    GoneOn = 2,
}

/// What this process writes.
pub(crate) struct Outbox(Shared);

/// What the peer writes.
pub(crate) struct Inbox(Foreign);

impl Outbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Shared::new("runnel-session", BYTES)?))
    }

    pub(crate) fn memory(&self) -> &Shared {
        &self.0
    }

    pub(crate) fn ring(&self) -> &[AtomicU64] {
        &self.0.words()[RECORDS..RECORDS + RING]
    }

    pub(crate) fn returns(&self) -> &[AtomicU64] {
        &self.0.words()[RETURNS..RECORDS]
    }

    /// Tells the position in the peer's ring, then looks whether the peer asks to be told of room: how often it has.
    pub(crate) fn tell(&self, reader: &ring::RingReader, inbox: &Inbox) -> u64 {
        reader.tell(self.0.words(), POSITION);
        self.0.words().fence();
        Cells::load(&inbox.0.words(), WANTS)
    }

    /// Asks to be told of room in this process's own ring.
    pub(crate) fn ask_for_room(&self) {
        let words = self.0.words();
        words.store(WANTS, words.load(WANTS).wrapping_add(1));
        words.fence();
    }

    /// Tells how far the end of the session has come.
    pub(crate) fn tell_end(&self, end: End) {
        self.0.words().store_release(END, end as u64);
        self.0.words().fence();
    }

    /// So many segments of the peer are mapped.
    pub(crate) fn tell_mapped(&self, count: usize) {
        self.0.words().store_release(MAPPED, count as u64);
    }

    /// No more segments are mapped.
    pub(crate) fn tell_full(&self) {
        let words = self.0.words();
        words.store_release(MAPPED, words.load(MAPPED) | FULL);
    }
}

impl Inbox {
    pub(crate) fn new(memory: Foreign) -> Self {
        Self(memory)
    }

    /// Bytes that the memory of a peer must have.
    pub(crate) const BYTES: usize = BYTES;

    pub(crate) fn ring(&self) -> Window<'_> {
        Window { words: self.0.words(), start: RECORDS }
    }

    pub(crate) fn returns(&self) -> Window<'_> {
        Window { words: self.0.words(), start: RETURNS }
    }

    /// The peer's position in this process's ring.
    pub(crate) fn position(&self) -> u64 {
        ring::told(&self.0.words(), POSITION)
    }

    /// Whether the end of the session has come so far for the peer.
    #[inline]
    pub(crate) fn has_come(&self, end: End) -> bool {
        self.0.words().load_acquire(END) >= end as u64
    }

    /// Segments of this process that the peer has mapped, and whether it maps no more.
    pub(crate) fn mapped(&self) -> (u64, bool) {
        let told = self.0.words().load_acquire(MAPPED);
        (told & !FULL, told & FULL != 0)
    }
}

/// A part of a peer's memory.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    words: ForeignWords<'a>,
    start: usize,
}

impl Cells for Window<'_> {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        Cells::load(&self.words, self.start + index)
    }
    #[inline]
    fn load_acquire(&self, index: usize) -> u64 {
        self.words.load_acquire(self.start + index)
    }
    #[inline]
    fn fence(&self) {
        self.words.fence();
    }
}
