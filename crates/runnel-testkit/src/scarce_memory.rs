//! An allocator that refuses memory to a thread, so that a test can see what comes of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// Bytes that this thread may still have. It gets back what it frees.
    static LEFT: Cell<isize> = const { Cell::new(isize::MAX) };
}

/// The system's allocator, which gives a thread within [`with_memory`] no more than is left for it. A test makes it its
/// `#[global_allocator]`.
pub struct Scarce;

/// Takes so many bytes of what is left, fewer than none to give them back; false if they are not there.
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

// SAFETY: every call that is not refused goes to the system's allocator with the arguments that came. Counting does not
// allocate.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size().cast_signed()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller keeps to the contract of this function, which is that of the one called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        take(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // As where it is moved: both are there for a moment.
        if !take(size.cast_signed()) {
            return ptr::null_mut();
        }
        take(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// From now on this thread may have so many bytes more.
pub fn limit(bytes: usize) {
    LEFT.set(bytes.cast_signed());
}

/// No limit.
pub const ENOUGH: usize = isize::MAX as usize;

/// Does something on this thread with so many bytes of memory and no more. What it asserts should be asserted after
/// that: an error would be reported without memory.
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
