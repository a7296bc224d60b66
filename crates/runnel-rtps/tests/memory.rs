//! Memory that small datagrams can claim.

mod net;

use net::{Net, fragments, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_testkit::counting_allocator::{CountingAllocator, held_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const LEN: u32 = 8 << 20;
const MAX: usize = 32 << 20;

#[test]
fn incomplete_samples_stay_within_memory_share() {
    let mut net = Net::new(1);
    net.add();
    net.add_with(|config| config.limits.waiting_bytes = MAX);
    let writers: Vec<EntityId> = (0..40).map(|_| net.writer(0, "rt/x", QoS::sensor_data())).collect();
    let reader = net.reader(1, "rt/x", QoS::sensor_data());
    let third = net.add();
    let (honest, listener) =
        (net.writer(third, "rt/y", QoS::keep_all()), net.reader(1, "rt/y", QoS::keep_all()));
    net.run_until("the endpoints match", secs(3), |net| {
        net.nodes[1].participant.matched(reader).len() == 40 && net.is_matched(third, honest)
    });
    let before = held_bytes();
    let (from, prefix) = (net.nodes[0].address, net.nodes[0].participant.prefix());
    for writer in writers {
        let bytes = fragments((prefix, writer), LEN, 1000, (1, 1));
        let now = net.now;
        net.nodes[1].participant.handle_datagram(now, from, &bytes);
    }
    let grown = held_bytes().saturating_sub(before);
    assert!((MAX / 2..MAX * 5 / 4).contains(&grown), "{grown} bytes");
    net.write(third, honest, &sample(1, LEN as usize)).unwrap();
    net.run_until("the sample arrives", secs(2), |net| net.texts(1, listener).len() == 1);
    net.run_for(millis(1));
}
