//! How much memory small datagrams take.

mod net;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use net::{Net, fragments, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LEN: u32 = 8 << 20;
const MOST: usize = 32 << 20;

#[test]
fn samples_of_which_little_has_come_take_no_more_than_their_share_and_no_room_from_others() {
    let mut net = Net::new(1);
    net.add();
    net.add_with(|config| config.limits.waiting_bytes = MOST);
    let writers: Vec<EntityId> = (0..40).map(|_| net.writer(0, "rt/x", QoS::sensor_data())).collect();
    let reader = net.reader(1, "rt/x", QoS::sensor_data());
    let third = net.add();
    let (honest, hearer) =
        (net.writer(third, "rt/y", QoS::keep_all()), net.reader(1, "rt/y", QoS::keep_all()));
    net.run_until("they meet", secs(3), |net| {
        net.nodes[1].participant.matched(reader).len() == 40 && net.is_matched(third, honest)
    });
    let before = HELD.load(Ordering::Relaxed);
    let (from, who) = (net.nodes[0].address, net.nodes[0].participant.prefix());
    for writer in writers {
        let bytes = fragments((who, writer), LEN, 1000, (1, 1));
        let now = net.now;
        net.nodes[1].participant.handle_datagram(now, from, &bytes);
    }
    let grown = HELD.load(Ordering::Relaxed).saturating_sub(before);
    assert!((MOST / 2..MOST * 5 / 4).contains(&grown), "{grown} bytes");
    net.write(third, honest, &sample(1, LEN as usize)).unwrap();
    net.run_until("it is heard", secs(2), |net| net.texts(1, hearer).len() == 1);
    net.run_for(millis(1));
}
