//! Moving a deadline that stands allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted for each thread.
struct Counted;

// SAFETY: every call goes to the system's allocator with the arguments that came; counting does not allocate. What this
// trait does itself for the others comes to these two.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps to the contract of this function, which is that of the one called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

#[test]
fn rescheduling_allocates_nothing() {
    let mut timers = Timers::new();
    let started = ALLOCATIONS.get();
    (0..1000u64).for_each(|key| timers.schedule(key, Instant(key)));
    let before = ALLOCATIONS.get();
    assert!(before > started, "the allocator counts");
    for round in 1..10 {
        (0..1000).for_each(|key| timers.schedule(key, Instant(key * 7919 % 1000 + round)));
        (0..1000).for_each(|key| timers.schedule_if_earlier(key, Instant(key * 104_729 % 1000)));
    }
    assert_eq!(ALLOCATIONS.get(), before);
}
