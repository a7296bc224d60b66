//! Sending and receiving datagrams does not allocate.

use std::io::IoSlice;

use runnel_io::Datagrams;
use runnel_io::udp::{Addressed, Batch, MOST_AT_ONCE, Options};
use runnel_testkit::counting_allocator::{CountingAllocator, allocations_of_thread};
use runnel_testkit::namespace::require_private_network;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn datagrams_cause_no_allocation() {
    require_private_network();
    let [near, far] =
        [(); 2].map(|()| Datagrams::open(&Options::at("127.0.0.1:0".parse().unwrap())).unwrap());
    let (to, loopback) = (far.address(), 1);
    let slices = [IoSlice::new(b"head"), IoSlice::new(b"body")];
    let (mut buffer, mut batch) = ([0; 8], Batch::new(MOST_AT_ONCE, 8));
    let before = allocations_of_thread();
    let mut sent = 0;
    for _ in 0..100 {
        sent += usize::from(near.send_to_vectored(&slices, to).unwrap());
        sent += usize::from(near.send_by(loopback, None, &slices, to).unwrap());
        sent += near.send_batch(&[Addressed { slices: &slices, to }; 3]).unwrap();
        far.recv_from(&mut buffer).unwrap();
        far.recv_batch(&mut batch).unwrap();
    }
    assert_eq!((allocations_of_thread() - before, sent), (0, 500));
}
