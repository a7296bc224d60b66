//! Slots on their way back to their owner: a ring of numbers that the borrower writes and the owner reads.
//!
//! ```text
//!  word 0      how many entries were ever written
//!  word 1 ..   the entries, each at its count modulo the capacity
//! ```
//! It never overflows, since the owner lends no more slots than there are places: an entry's place is written again only
//! for a slot that was lent anew, after its owner had read the entry.

use super::Falsified;
use super::cells::{Cells, OwnCells};

/// Where the count lies in the cells that are passed here.
const WRITTEN: usize = 0;

/// Where the entries begin.
const ENTRIES: usize = 1;

/// How many words a return ring of `capacity` entries takes.
pub(crate) const fn words(capacity: usize) -> usize {
    ENTRIES + capacity
}

/// The place of the entry with this count. `capacity` is a power of two.
fn place(count: u64, capacity: usize) -> usize {
    ENTRIES + (count as usize & (capacity - 1))
}

/// The borrower's end.
#[derive(Debug)]
pub(crate) struct ReturnWriter {
    capacity: usize,
    written: u64,
    /// Slots that arrived and were not given back.
    borrowed: usize,
}

impl ReturnWriter {
    /// Of a ring that nobody wrote yet, with `capacity` entries: a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        Self { capacity, written: 0, borrowed: 0 }
    }

    /// Counts a slot that arrived. False if its owner broke the agreement: it has lent more slots than can be given back.
    pub(crate) fn borrow(&mut self) -> bool {
        let may = self.borrowed < self.capacity;
        self.borrowed += usize::from(may);
        may
    }

    /// Gives a slot back. False, and nothing is written, if more are given back than arrived.
    pub(crate) fn push(&mut self, own: &(impl OwnCells + ?Sized), entry: u64) -> bool {
        let Some(borrowed) = self.borrowed.checked_sub(1) else { return false };
        self.borrowed = borrowed;
        own.store(place(self.written, self.capacity), entry);
        self.written += 1;
        own.store_release(WRITTEN, self.written);
        true
    }
}

/// The owner's end.
#[derive(Debug)]
pub(crate) struct ReturnReader {
    capacity: usize,
    read: u64,
    /// How many entries there are, as last known.
    written: u64,
}

impl ReturnReader {
    /// Of a ring that nobody read yet, with `capacity` entries: a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        Self { capacity, read: 0, written: 0 }
    }

    /// The next slot that came back, while `lent` are out. What the entry says is for the caller to check.
    pub(crate) fn next(
        &mut self,
        ring: &(impl Cells + ?Sized),
        lent: usize,
    ) -> Result<Option<u64>, Falsified> {
        if self.read == self.written {
            self.written = self.told(ring, lent)?;
        }
        if self.read == self.written {
            return Ok(None);
        }
        let entry = ring.load(place(self.read, self.capacity));
        self.read += 1;
        Ok(Some(entry))
    }

    /// The count in the ring, which can be ahead of what was read by what is lent and no more.
    fn told(&self, ring: &(impl Cells + ?Sized), lent: usize) -> Result<u64, Falsified> {
        let told = ring.load_acquire(WRITTEN);
        let ahead = told.checked_sub(self.read).ok_or(Falsified)?;
        if ahead <= lent.min(self.capacity) as u64 { Ok(told) } else { Err(Falsified) }
    }
}
