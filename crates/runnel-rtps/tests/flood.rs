//! Flood of twenty thousand announcements of nonexistent participants, at 2500 per second.

mod net;

use std::time::Duration;

use net::{GROUP, Net, announcement, forged_prefix, millis, sample, secs};
use runnel_core::qos::QoS;
use runnel_testkit::counting_allocator::{CountingAllocator, held_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn flood_of_announcements_costs_little_and_blocks_nothing() {
    let mut net = Net::new(1);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) =
        (net.writer(a, "rt/live", QoS::default()), net.reader(b, "rt/live", QoS::default()));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(a, writer) && net.is_matched(b, reader)
    });
    net.run_for(secs(1));
    let before = held_bytes();
    let (mut sent, mut late) = (0, None);
    for number in 0..20_000 {
        let from = ([10, 9, (number >> 8) as u8, number as u8], 7410).into();
        let bytes = announcement(forged_prefix(number), from, Some(secs(20)));
        sent += bytes.len();
        net.send(from, GROUP.parse().unwrap(), &bytes);
        net.run_for(Duration::from_micros(400));
        if number % 50 == 0 {
            net.write(a, writer, &sample(number, 100)).unwrap();
        }
        if number == 10_000 {
            let c = net.add();
            late = Some((c, net.reader(c, "rt/live", QoS::default()), net.now));
        }
        if let Some((c, reader, since)) = late.filter(|_| number == 14_000) {
            assert!(net.is_matched(c, reader), "not matched within {:?}", net.now.since(since));
        }
    }
    let grown = held_bytes().saturating_sub(before) / net.nodes.len();
    assert!(grown < 8_000_000, "{grown} bytes");
    let back: usize = net.undeliverable.values().sum();
    assert!(back <= 3 * sent * net.nodes.len(), "{back} bytes for {sent}");
    let received: Vec<_> = net.nodes[b].samples.iter().map(|received| received.at).collect();
    assert_eq!(received.len(), 400);
    assert!(received.windows(2).all(|pair| pair[1].since(pair[0]) < millis(200)));
    net.undeliverable.clear();
    net.run_for(secs(25));
    net.nodes.iter_mut().for_each(|node| node.samples.clear());
    let left = held_bytes().saturating_sub(before);
    assert!(left < 1_000_000, "{left} bytes stay");
}
