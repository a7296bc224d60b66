//! Words of shared memory, wherever they lie.

use runnel_io::memory::ForeignWords;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words that this side reads, and perhaps does not write. An index beyond them is a mistake of the caller's: what is
/// read there is not defined, and the implementation may panic.
pub(crate) trait Cells {
    /// Reads a word, with no order among other reads.
    fn load(&self, index: usize) -> u64;

    /// Reads a word; what its writer did before [`OwnCells::store_release`] of the value read is seen from here on.
    fn load_acquire(&self, index: usize) -> u64;

    /// Of two sides that each write a word, pass a fence and then read the other's word, one at least reads what the
    /// other wrote.
    fn fence(&self);
}

/// Words that this side alone writes.
pub(crate) trait OwnCells: Cells {
    /// Writes a word, with no order among other writes.
    fn store(&self, index: usize, value: u64);

    /// Writes a word after all that was done before: see [`Cells::load_acquire`].
    fn store_release(&self, index: usize, value: u64);
}

impl Cells for [AtomicU64] {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        self[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn load_acquire(&self, index: usize) -> u64 {
        self[index].load(Ordering::Acquire)
    }

    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl Cells for ForeignWords {
    #[inline]
    fn load(&self, index: usize) -> u64 {
        ForeignWords::load(self, index, Ordering::Relaxed)
    }

    #[inline]
    fn load_acquire(&self, index: usize) -> u64 {
        ForeignWords::load(self, index, Ordering::Acquire)
    }

    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl OwnCells for [AtomicU64] {
    #[inline]
    fn store(&self, index: usize, value: u64) {
        self[index].store(value, Ordering::Relaxed);
    }

    #[inline]
    fn store_release(&self, index: usize, value: u64) {
        self[index].store(value, Ordering::Release);
    }
}
