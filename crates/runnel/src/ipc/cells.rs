//! Access to words of shared memory.

use runnel_io::memory::ForeignWords;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words that this side reads and may not write. The result of an index out of range is unspecified, and the
/// implementation may panic.
pub(crate) trait Cells {
    /// Reads a word, unordered with other reads.
    fn load(&self, index: usize) -> u64;

    /// Reads a word. Everything that its writer did before [`OwnCells::store_release`] of this value is visible
    /// afterwards.
    fn load_acquire(&self, index: usize) -> u64;

    /// If each of two sides writes a word, passes a fence and reads the other's word, at least one of them reads what
    /// the other wrote.
    fn fence(&self);
}

/// Words that only this side writes.
pub(crate) trait OwnCells: Cells {
    /// Writes a word, unordered with other writes.
    fn store(&self, index: usize, value: u64);

    /// Writes a word after everything that was done before: see [`Cells::load_acquire`].
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
