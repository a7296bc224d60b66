//! Return ring: released slots, which the borrower writes and the owner reads.
//!
//! ```text
//!  word 0      number of entries written since the beginning
//!  word 1 ..   the entries, each at its count modulo the capacity
//! ```
//! It never overflows, since the owner lends no more slots than there are entries. An entry is only overwritten for a
//! slot that was lent again after its owner had read the entry.

use super::Falsified;
use super::cells::{Cells, OwnCells};

/// Index of the count in the cells passed here.
const WRITTEN: usize = 0;

/// Index of the first entry.
const ENTRIES: usize = 1;

/// Number of words of a return ring with `capacity` entries.
pub(crate) const fn words(capacity: usize) -> usize {
    ENTRIES + capacity
}

/// The index of the entry with this count. `capacity` is a power of two.
fn place(count: u64, capacity: usize) -> usize {
    ENTRIES + (count as usize & (capacity - 1))
}

/// The borrower's end.
#[derive(Debug)]
pub(crate) struct ReturnWriter {
    capacity: usize,
    written: u64,
    /// Slots that were received and not released yet.
    borrowed: usize,
}

impl ReturnWriter {
    /// For a new ring with `capacity` entries, a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        Self { capacity, written: 0, borrowed: 0 }
    }

    /// Counts a received slot. False if its owner violates the protocol: it has lent more slots than can be released.
    pub(crate) fn borrow(&mut self) -> bool {
        let may = self.borrowed < self.capacity;
        self.borrowed += usize::from(may);
        may
    }

    /// Releases a slot. False, and nothing is written, if more slots are released than were received.
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
    /// Number of entries as last read.
    written: u64,
}

impl ReturnReader {
    /// For a new ring with `capacity` entries, a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two());
        Self { capacity, read: 0, written: 0 }
    }

    /// The next released slot, while `lent` are lent. The caller checks the entry.
    pub(crate) fn next(
        &mut self,
        ring: &(impl Cells + ?Sized),
        lent: usize,
    ) -> Result<Option<u64>, Falsified> {
        if self.read == self.written {
            self.written = self.read_count(ring, lent)?;
        }
        if self.read == self.written {
            return Ok(None);
        }
        let entry = ring.load(place(self.read, self.capacity));
        self.read += 1;
        Ok(Some(entry))
    }

    /// Reads the count in the ring, which can be ahead of the entries read by at most `lent`.
    fn read_count(&self, ring: &(impl Cells + ?Sized), lent: usize) -> Result<u64, Falsified> {
        let count = ring.load_acquire(WRITTEN);
        let ahead = count.checked_sub(self.read).ok_or(Falsified)?;
        if ahead <= lent.min(self.capacity) as u64 { Ok(count) } else { Err(Falsified) }
    }
}
