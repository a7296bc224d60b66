//! Allocator with a memory limit per thread, for tests of allocation failures.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// Bytes that this thread may still allocate. Freed bytes are added.
    static LEFT: Cell<isize> = const { Cell::new(isize::MAX) };
}

/// The system's allocator with the limit of [`with_memory`]. A test uses it as `#[global_allocator]`.
pub struct Scarce;

/// Takes `bytes` from the limit, or returns them if negative; false if they exceed it.
fn take(bytes: isize) -> bool {
    let taken = LEFT.try_with(|left| {
        let after = left.get().saturating_sub(bytes);
        if bytes > 0 && after < 0 {
            return false;
        }
        left.set(after);
        true
    });
    taken.unwrap_or(true)
}

// SAFETY: every call that is not refused is forwarded unchanged to the system's allocator. Counting does not
// allocate.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size().cast_signed()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller fulfils the contract of this function, which is that of the called one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        take(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As for a move, during which both blocks exist.
        if !take(size.cast_signed()) {
            return ptr::null_mut();
        }
        take(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Sets the number of bytes that this thread may still allocate.
pub fn limit(bytes: usize) {
    LEFT.set(bytes.cast_signed());
}

/// No limit.
pub const ENOUGH: usize = isize::MAX as usize;

/// Runs a closure on this thread with this memory limit. Assert afterwards: a failure report would lack memory.
pub fn with_memory<T>(bytes: usize, run: impl FnOnce() -> T) -> T {
    struct Enough;
    impl Drop for Enough {
        fn drop(&mut self) {
            limit(ENOUGH);
        }
    }
    let enough = Enough;
    limit(bytes);
    let done = run();
    drop(enough);
    done
}
