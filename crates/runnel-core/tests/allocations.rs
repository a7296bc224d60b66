//! Moving an existing deadline does not allocate.

use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_testkit::counting_allocator::{CountingAllocator, allocations_of_thread};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn rescheduling_allocates_nothing() {
    let mut timers = Timers::new();
    let started = allocations_of_thread();
    (0..1000u64).for_each(|key| timers.schedule(key, Instant(key)));
    let before = allocations_of_thread();
    assert!(before > started, "the allocator counts");
    for round in 1..10 {
        (0..1000).for_each(|key| timers.schedule(key, Instant(key * 7919 % 1000 + round)));
        (0..1000).for_each(|key| timers.schedule_if_earlier(key, Instant(key * 104_729 % 1000)));
    }
    assert_eq!(allocations_of_thread(), before);
}
