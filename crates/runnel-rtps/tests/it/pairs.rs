//! A writer and a reader of one topic, in participants on two hosts.

use crate::net::{Net, millis, secs};
use runnel_core::qos::QoS;
use runnel_rtps::wire::EntityId;
use runnel_rtps::{Config, Rate};

pub const TOPIC: &str = "rt/chatter";

/// A matched pair.
pub fn pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let (a, b) = (net.add(), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}

/// As [`pair`], with 10 MB/s from the writer: 840 kB take 84 ms.
pub fn slow_pair(seed: u64, qos: QoS) -> (Net, EntityId, EntityId) {
    let mut net = Net::new(seed);
    let slow = |config: &mut Config| config.other_host.rate = Rate::steady(10_000_000);
    let (a, b) = (net.add_with(slow), net.add());
    let (writer, reader) = (net.writer(a, TOPIC, qos), net.reader(b, TOPIC, qos));
    net.run_until("the endpoints match", secs(2), |net| {
        net.is_matched(0, writer) && net.is_matched(1, reader)
    });
    net.run_for(millis(20));
    (net, writer, reader)
}
