//! Tests of records that are read when a pair ends, without reading RTPS before.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_core::wire::{Encoding, cdr};
use runnel_delivery::{Statement, StreamId};
use runnel_io::clock;
use runnel_msgs::std_msgs::msg::UInt32;
use runnel_rtps::Event;
use runnel_testkit::namespace::require_private_network;

use super::Entry;
use crate::driver::Driver;
use crate::driver::table::Key;
use crate::frame::Frame;
use crate::ipc::{Sender, Tally};
use crate::{Context, ContextOptions, Graphs, Node, Publisher, Subscription};

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(60);

const DOMAIN: u16 = 171;

/// Number of the first sample of a pair that restarts.
const BEGIN: u64 = 1000;

/// Two best-effort pairs of two contexts, which share an IPC connection.
struct Scene {
    talking: Context,
    listening: Context,
    talker: Node,
    listener: Node,
    publishers: [Publisher<UInt32>; 2],
    subscriptions: [Subscription; 2],
}

impl Scene {
    fn new() -> Self {
        require_private_network();
        let context = || {
            let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
            Context::with_options(options.graphs(Graphs::Ros2).domain_id(DOMAIN).ipc(true)).unwrap()
        };
        let (talking, listening) = (context(), context());
        let (talker, listener) =
            (talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap());
        let qos = QoS::keep_last(10).best_effort();
        let publishers = ["first", "second"].map(|topic| talker.create_publisher(topic, qos).unwrap());
        let subscriptions = ["first", "second"]
            .map(|topic| listener.create_subscription(topic, qos, |_: &UInt32| {}).unwrap());
        let scene = Self { talking, listening, talker, listener, publishers, subscriptions };
        let deadline = clock::monotonic() + LONG;
        while scene.subscriptions.iter().any(|subscription| subscription.shared_memory_count() == 0) {
            assert!(clock::monotonic() < deadline, "the pairs do not use shared memory");
            scene.talking.spin_once(Duration::from_millis(1)).unwrap();
            scene.listening.spin_once(Duration::from_millis(1)).unwrap();
        }
        scene
    }

    /// The sender of the talker's process.
    fn sender(&self) -> Arc<Sender> {
        let driver = self.talker.inner.driver();
        let ipc_connection = driver.ipc_connections.established.first().copied().expect("an IPC connection");
        driver.ipc_connections.sender(ipc_connection).expect("it is established")
    }

    /// Number of messages received by each pair.
    fn received(&self) -> [u64; 2] {
        [0, 1].map(|index| self.subscriptions[index].received())
    }
}

/// Key and token of a subscription's pair.
fn pair_of(driver: &Driver, subscription: &Subscription) -> (Key, u128) {
    let is_of = |key: &Key| match driver.ipc_connections.entries.get(*key) {
        Some(Entry::SampleInput(input)) => input.topic.any(|core| Arc::ptr_eq(core, subscription.core())),
        _ => false,
    };
    let (token, key) = driver.ipc_connections.links.iter().find(|(_, key)| is_of(key)).expect("a pair");
    (*key, *token)
}

/// The record with which a pair begins does not delay records of other pairs behind it. The pair's own samples wait
/// until RTPS has been read: its samples come first.
#[test]
fn beginning_pair_does_not_delay_other_pairs() {
    let scene = Scene::new();
    let sender = scene.sender();
    let node = scene.listener.clone();
    // No other thread runs the driver meanwhile.
    let mut driver = node.inner.driver();
    let [(first, _), (_, token)] = [0, 1].map(|index| pair_of(&driver, &scene.subscriptions[index]));
    // From this sample the receiver knows which numbers RTPS has yet to deliver.
    scene.publishers[1].publish(UInt32 { data: 0 }).unwrap();
    driver.poll_ipc_connections();
    let before = scene.received();
    assert_eq!(before, [0, 1]);
    let id = StreamId { stream: token as u64, subscription: 0 };
    let begin = Statement::Begin { id, epoch: 2, from: BEGIN, is_settled: false };
    let channel = sender.open_samples(token, 1, &begin).expect("space in the ring");
    let sample = Frame::new(Encoding::Xcdr1, cdr::encode(&UInt32 { data: 1 }, Encoding::Xcdr1).unwrap());
    sender.send_sample((channel, BEGIN), &sample, 0, &mut Tally::default()).expect("space in the ring");
    scene.publishers[0].publish(UInt32 { data: 7 }).unwrap();
    let Some(Entry::SampleInput(input)) = driver.ipc_connections.entries.get(first) else { panic!("a pair") };
    let (local, remote) = input.pair();
    driver.ros2.pending_events.push_back(Event::Unmatched { local, remote });
    driver.drain_ipc_connection_of(first);
    assert_eq!(scene.received(), [before[0] + 1, before[1]]);
    driver.end_pairs();
    assert_eq!(scene.received(), [before[0] + 1, before[1] + 1]);
}
