//! Test of a keep-all subscription with a full queue, while its pair falls back from shared memory to RTPS.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_io::clock;
use runnel_msgs::std_msgs::msg::UInt32MultiArray;
use runnel_rtps::wire::{EntityId, Guid};
use runnel_testkit::namespace::require_private_network;

use super::super::Entry;
use super::LONG;
use crate::{Context, ContextOptions, Graphs, Node};

const DOMAIN: u16 = 172;

fn context() -> Context {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(DOMAIN).ipc(true)).unwrap()
}

#[track_caller]
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done() {
        assert!(clock::monotonic() < deadline, "timed out: {what}");
        std::thread::yield_now();
    }
}

/// The last sample that RTPS has announced to the listener.
fn last_announced(listener: &Node, pair: (EntityId, Guid)) -> u64 {
    let driver = listener.inner.driver();
    driver.ros2.rtps.as_ref().map_or(0, |rtps| rtps.last_announced(pair))
}

fn pair_of(listener: &Node) -> (EntityId, Guid) {
    let driver = listener.inner.driver();
    let pair = driver.ipc_connections.entries.iter().find_map(|entry| match entry {
        Entry::SampleInput(input) if input.memory.has_channel() => Some(input.pair()),
        _ => None,
    });
    pair.expect("a pair that memory carries")
}

/// The subscription has no capacity for the samples of shared memory. RTPS delivers none until it has.
#[test]
fn rtps_waits_for_capacity_after_fallback() {
    require_private_network();
    let (talking, listening) = (context(), context());
    let (talker, listener) =
        (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
    let qos = QoS::keep_all();
    let mut publisher = talker.create_publisher::<UInt32MultiArray>("count", qos).unwrap();
    publisher.set_max_blocking_time(Duration::from_millis(100));
    let received: Arc<Mutex<Vec<u32>>> = Arc::default();
    let into = Arc::clone(&received);
    let take = move |numbers: &UInt32MultiArray| into.lock().unwrap().extend(numbers.data.first());
    let subscription = listener.create_subscription("count", qos, take).unwrap();
    wait_until("the pair uses shared memory", || subscription.shared_memory_count() == 1);

    let message = |number| UInt32MultiArray { data: vec![number], ..UInt32MultiArray::default() };
    let count = (0..).find(|number| publisher.publish(message(*number)).is_err()).unwrap();
    let pair = pair_of(&listener);
    let ipc_connections = talker.inner.driver().ipc_connections.established.clone();
    ipc_connections
        .into_iter()
        .for_each(|ipc_connection| talker.inner.driver().end_ipc_connection(ipc_connection, None));
    wait_until("RTPS has announced all", || last_announced(&listener, pair) >= u64::from(count));

    wait_until("the last is received", || {
        listening.spin_once(Duration::from_millis(1)).unwrap();
        received.lock().unwrap().last() == Some(&(count - 1))
    });
    assert_eq!(*received.lock().unwrap(), (0..count).collect::<Vec<u32>>());
    assert_eq!(subscription.lost(), 0);
}
