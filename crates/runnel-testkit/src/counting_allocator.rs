//! Counting allocator, for test programs that check allocations:
//! `#[global_allocator] static ALLOCATOR: CountingAllocator = CountingAllocator;`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Forwards to the system's allocator, and counts allocations.
pub struct CountingAllocator;

static OF_PROCESS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Allocations and reallocations of this thread.
pub fn allocations_of_thread() -> u64 {
    OF_THREAD.get()
}

/// Allocations and reallocations of the process.
pub fn allocations_of_process() -> u64 {
    OF_PROCESS.load(Ordering::SeqCst)
}

/// Bytes allocated now.
pub fn held_bytes() -> usize {
    HELD.load(Ordering::SeqCst)
}

/// Bytes of the largest block that this thread has allocated since [`begin_largest_block`].
pub fn largest_block() -> usize {
    LARGEST.get()
}

/// Starts recording the largest block.
pub fn begin_largest_block() {
    LARGEST.set(0);
}

fn count(size: usize) {
    OF_PROCESS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends may still free and allocate after its counter is destroyed.
    let _ = OF_THREAD.try_with(|count| count.set(count.get() + 1));
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: each call is forwarded unchanged to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller fulfils the contract of this function, which is that of the called one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        HELD.fetch_add(size, Ordering::Relaxed);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
