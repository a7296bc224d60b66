//! Memory that one process writes for one peer.
//!
//! ```text
//!  word 0       its position in the peer's ring
//!  word 8       how often it has requested to be notified of free space in its own ring
//!  word 16      segments of the peer that it has mapped, or FULL
//!  word 17      teardown: 0 before, 1 once it has read its last record, 2 once its links use the network again
//!  word 24 ..   slots that it releases to the peer (`returns`)
//!  word 4128 .. its ring of records
//! ```
//! Words written at different times are in different cache lines.

use std::io;
use std::sync::atomic::AtomicU64;

use runnel_io::memory::{ForeignWords, SharedWords};

use super::cells::{Cells, OwnCells};
use super::flow_control::{self, Teardown};
use super::{returns, ring};

/// Words of the ring of records: a power of two.
pub(crate) const RING: usize = 1 << 15;

/// Limit of slots of one process lent to one peer: a power of two.
pub(crate) const LOANS: usize = 4096;

const MAPPED: usize = 16;
const RETURNS: usize = 24;
const RECORDS: usize = (RETURNS + returns::words(LOANS)).next_multiple_of(8);
const BYTES: usize = (RECORDS + RING) * 8;

/// Instead of a count of segments: no more are mapped.
const FULL: u64 = 1 << 63;

/// The memory that this process writes.
pub(crate) struct Outbox(SharedWords);

/// The memory that the peer writes.
pub(crate) struct Inbox(ForeignWords);

impl Outbox {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(SharedWords::new("runnel-session", BYTES)?))
    }

    pub(crate) fn memory(&self) -> &SharedWords {
        &self.0
    }

    pub(crate) fn ring(&self) -> &[AtomicU64] {
        &self.0.words()[RECORDS..RECORDS + RING]
    }

    pub(crate) fn returns(&self) -> &[AtomicU64] {
        &self.0.words()[RETURNS..RECORDS]
    }

    /// Reports the position in the peer's ring. Returns how often the peer has requested to be notified of free space.
    pub(crate) fn report_position(&self, reader: &ring::RingReader, inbox: &Inbox) -> u64 {
        flow_control::report_position(reader, self.0.words(), &inbox.0)
    }

    /// Requests to be notified of free space in this process's own ring.
    pub(crate) fn request_space(&self) {
        flow_control::request_space(self.0.words());
    }

    /// Announces a step of the teardown.
    pub(crate) fn announce_teardown(&self, end: Teardown) {
        flow_control::announce_teardown(self.0.words(), end);
    }

    /// Announces how many segments of the peer are mapped.
    pub(crate) fn announce_mapped(&self, count: usize) {
        self.0.words().store_release(MAPPED, count as u64);
    }

    /// Announces that no more segments are mapped.
    pub(crate) fn announce_full(&self) {
        let words = self.0.words();
        words.store_release(MAPPED, words.load(MAPPED) | FULL);
    }
}

impl Inbox {
    pub(crate) fn new(memory: ForeignWords) -> Self {
        Self(memory)
    }

    /// Required bytes of a peer's memory.
    pub(crate) const BYTES: usize = BYTES;

    pub(crate) fn ring(&self) -> Window<'_> {
        Window { words: &self.0, start: RECORDS }
    }

    pub(crate) fn returns(&self) -> Window<'_> {
        Window { words: &self.0, start: RETURNS }
    }

    /// The peer's position in this process's ring.
    pub(crate) fn position(&self) -> u64 {
        flow_control::position(&self.0)
    }

    /// Whether the peer has reached a step of the teardown.
    #[inline]
    pub(crate) fn has_reached(&self, end: Teardown) -> bool {
        flow_control::has_reached(&self.0, end)
    }

    /// The number of segments of this process that the peer has mapped, and whether it maps no more.
    pub(crate) fn mapped(&self) -> (u64, bool) {
        let mapped = self.0.load_acquire(MAPPED);
        (mapped & !FULL, mapped & FULL != 0)
    }
}

/// A part of a peer's memory.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    words: &'a ForeignWords,
    start: usize,
}

impl Cells for Window<'_> {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        Cells::load(self.words, self.start + index)
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
