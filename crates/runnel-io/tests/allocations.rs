//! Datagrams are sent and received without allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::IoSlice;

use runnel_io::Datagrams;
use runnel_io::udp::{Addressed, Batch, MOST_AT_ONCE, Options};
use runnel_testkit::namespace::require_private_network;

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
fn datagrams_are_sent_and_received_without_allocation() {
    require_private_network();
    let [near, far] =
        [(); 2].map(|()| Datagrams::open(&Options::at("127.0.0.1:0".parse().unwrap())).unwrap());
    let (to, loopback) = (far.address(), 1);
    let slices = [IoSlice::new(b"head"), IoSlice::new(b"body")];
    let (mut buffer, mut batch) = ([0; 8], Batch::new(MOST_AT_ONCE, 8));
    let before = ALLOCATIONS.get();
    let mut sent = 0;
    for _ in 0..100 {
        sent += usize::from(near.send_to_vectored(&slices, to).unwrap());
        sent += usize::from(near.send_by(loopback, None, &slices, to).unwrap());
        sent += near.send_batch(&[Addressed { slices: &slices, to }; 3]).unwrap();
        far.recv_from(&mut buffer).unwrap();
        far.recv_batch(&mut batch).unwrap();
    }
    assert_eq!((ALLOCATIONS.get() - before, sent), (0, 500));
}
