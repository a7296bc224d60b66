//! Tests of IPC connections whose links end.

mod capacity;

use std::net::Ipv4Addr;
use std::time::Duration;

use runnel_io::clock;
use runnel_msgs::std_msgs::msg::Empty;
use runnel_testkit::namespace::require_private_network;

use super::Entry;
use crate::driver::Driver;
use crate::{Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, Subscription};

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(60);

/// The number of a forged sample.
const FAR: u64 = 1 << 40;

/// A talker and a listener in contexts of their own, with a ROS 1 link by shared memory.
struct Scene {
    talker: Node,
    talking: Context,
    publisher: Publisher<Empty>,
    subscription: Option<Subscription>,
    listener: Node,
    listening: Context,
    _master: Context,
}

/// Domain of the dual nodes.
const DOMAIN: u16 = 171;

fn context(graphs: Graphs, arguments: Vec<String>) -> Context {
    let options = ContextOptions::default().signals(false).arguments(arguments);
    Context::with_options(options.graphs(graphs).domain_id(DOMAIN).ipc(true)).unwrap()
}

impl Scene {
    fn new() -> Self {
        Self::of(Graphs::Ros1)
    }

    fn of(graphs: Graphs) -> Self {
        require_private_network();
        let master = context(Graphs::Ros1, Vec::new());
        let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap().to_string();
        let [talking, listening] = [(), ()].map(|()| context(graphs, vec![format!("__master:={uri}")]));
        let talker = talking.create_node("talker").unwrap();
        let publisher = talker.create_publisher("nothing", 1).unwrap();
        let listener = listening.create_node("listener").unwrap();
        let subscription = listener.create_subscription("nothing", 1, |_: &Empty| {}).unwrap();
        let uses_memory = || subscription.shared_memory_count() > 0;
        let scene =
            Self { talker, talking, publisher, subscription: None, listener, listening, _master: master };
        scene.spin_until("the link uses shared memory", uses_memory);
        Self { subscription: Some(subscription), ..scene }
    }

    #[track_caller]
    fn spin_until(&self, what: &str, done: impl Fn() -> bool) {
        let deadline = clock::monotonic() + LONG;
        while !done() {
            assert!(clock::monotonic() < deadline, "timed out: {what}");
            self.talking.spin_once(Duration::from_millis(1)).unwrap();
            self.listening.spin_once(Duration::from_millis(1)).unwrap();
        }
    }
}

#[test]
fn link_of_departed_subscriber_is_removed() {
    let mut scene = Scene::new();
    assert_eq!(scene.talker.inner.driver().ipc_connections.links.len(), 1);
    scene.subscription = None;
    scene.spin_until("the subscriber leaves", || scene.publisher.subscription_count() == 0);
    assert_eq!(scene.talker.inner.driver().ipc_connections.links.len(), 0);
}

#[test]
fn teardown_ends_with_last_link() {
    let scene = Scene::new();
    let mut driver = scene.talker.inner.driver();
    let link = *driver.ipc_connections.links.values().next().unwrap();
    let ipc_connection = driver.ipc_connections.ipc_connection_of(link).unwrap();
    driver.end_ipc_connection(ipc_connection, None);
    let Driver { sockets, effects, .. } = &mut *driver;
    sockets.remove(link, effects);
    driver.settle();
    let teardown = driver.ipc_connections.open.get(ipc_connection).and_then(|open| open.teardown.as_ref());
    assert!(teardown.is_none_or(|teardown| teardown.until <= clock::monotonic()));
}

/// The peer has fallen back to the network. Reading RTPS ends the IPC connection, which reads its ring, which reads
/// RTPS first: this must not recurse.
#[test]
fn abandoned_connection_is_not_read_recursively() {
    let scene = Scene::of(Graphs::Both);
    let driver = scene.talker.inner.driver();
    let open = driver
        .ipc_connections
        .established
        .iter()
        .filter_map(|ipc_connection| driver.ipc_connections.open.get(*ipc_connection));
    open.for_each(|open| open.receiver.announce_on_network());
    drop(driver);
    let driver = &mut *scene.listener.inner.driver();
    // The driver may have ended it meanwhile.
    let Some(ipc_connection) = driver.ipc_connections.established.first().copied() else { return };
    assert!(!driver.poll_ipc_connections());
    driver.receive_rtps();
    assert!(!driver.ipc_connections.established.contains(&ipc_connection));
}

/// Once shared memory has delivered, RTPS delivers its own samples directly. It may hold some that shared memory has
/// delivered.
#[test]
fn rtps_does_not_repeat_samples_of_memory() {
    let scene = Scene::of(Graphs::Both);
    let given = |driver: &Driver| {
        let inputs = driver.ipc_connections.entries.iter().filter_map(|entry| match entry {
            Entry::SampleInput(input) if input.memory.has_channel() => Some(input),
            _ => None,
        });
        inputs.map(|input| (input.pair(), input.from.clone())).find(|(_, from)| from.position.next() > 1)
    };
    scene.spin_until("memory brings samples", || {
        scene.publisher.publish(Empty {}).unwrap();
        given(&scene.listener.inner.driver()).is_some()
    });
    let mut driver = scene.listener.inner.driver();
    let (_, from) = given(&driver).expect("a pair");
    while driver.poll_ipc_connections() {}
    let next = from.position.next();
    assert!(from.position.takes(next - 1), "the receiver knows what is next");
    // A forged sample of RTPS has gone to the user.
    assert!(from.position.take(FAR));
    for ipc_connection in driver.ipc_connections.established.clone() {
        driver.end_ipc_connection(ipc_connection, None);
    }
    assert!(!from.position.takes(next - 1) && from.position.takes(next));
}
