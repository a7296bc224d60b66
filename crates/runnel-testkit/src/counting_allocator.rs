//! An allocator that counts, for programs of tests that say what may be allocated:
//! `#[global_allocator] static ALLOCATOR: CountingAllocator = CountingAllocator;`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Passes everything on to the system's allocator, and counts it.
pub struct CountingAllocator;

static OF_PROCESS: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread has allocated or resized memory.
pub fn allocations_of_thread() -> u64 {
    OF_THREAD.get()
}

/// How often the process has allocated or resized memory.
pub fn allocations_of_process() -> u64 {
    OF_PROCESS.load(Ordering::SeqCst)
}

/// Bytes that are allocated now.
pub fn held_bytes() -> usize {
    HELD.load(Ordering::SeqCst)
}

fn count() {
    OF_PROCESS.fetch_add(1, Ordering::Relaxed);
    // A thread that ends may free and allocate when it has no such place any more.
    let _ = OF_THREAD.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: each call is passed on to the system's allocator as it is; counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of this function, which is that of the one called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        HELD.fetch_add(size, Ordering::Relaxed);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
