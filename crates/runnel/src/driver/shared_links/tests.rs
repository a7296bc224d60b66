//! Tests of dual nodes: ROS 1 messages wait unread in the subscriber's socket while RTPS could deliver later ones.

mod blackout;
mod ended;
mod forged;
mod joining;
mod killed;
mod late;
mod moved;
mod several;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_io::{Interest, Token, clock};
use runnel_msgs::std_msgs::msg::UInt32MultiArray;
use runnel_ros1::node::Port;
use runnel_testkit::namespace::require_private_network;

use crate::driver::Driver;
use crate::driver::sockets::MAX_IN_TRANSIT;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::{Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, Subscription};

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Words of a long message: a few fill the socket buffers of a connection.
const WORDS: usize = 16 * 1024;

/// Messages sent by ROS 1.
const COUNT: u32 = 10;

/// A talker and a listener in contexts of their own. The test decides which sockets of the listener are read.
struct Scene {
    publisher: Publisher<UInt32MultiArray>,
    talker: Node,
    _talking: Context,
    subscription: Subscription,
    node: Node,
    listening: Context,
    _master: Context,
    received: Arc<Mutex<Vec<u32>>>,
    next: u32,
}

fn context(master: &str, domain: u16, ipc: bool) -> Context {
    let options = ContextOptions::default().signals(false).arguments([format!("__master:={master}")]);
    Context::with_options(options.graphs(Graphs::Both).domain_id(domain).ipc(ipc)).unwrap()
}

impl Scene {
    /// Creates both nodes. The listener does not read RTPS.
    fn begun(qos: QoS, ipc: bool) -> Self {
        require_private_network();
        static DOMAIN: AtomicU16 = AtomicU16::new(180);
        let domain = DOMAIN.fetch_add(1, Ordering::Relaxed);
        let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
        let master = Context::with_options(options).unwrap();
        let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap().to_string();

        let listening = context(&uri, domain, ipc);
        let node = listening.create_node("listener").unwrap();
        set_interest(&node, Interest::Nothing, is_rtps);
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let subscription = node.create_subscription("count", qos, move |numbers: &UInt32MultiArray| {
            into.lock().unwrap().extend(numbers.data.first());
        });
        let talking = context(&uri, domain, ipc);
        let talker = talking.create_node("talker").unwrap();
        let publisher = talker.create_publisher("count", qos).unwrap();
        Self {
            publisher,
            talker,
            _talking: talking,
            subscription: subscription.unwrap(),
            node,
            listening,
            _master: master,
            received,
            next: 0,
        }
    }

    /// Both are connected by ROS 1 only, and the listener does not read that connection.
    fn joined_by_ros1(qos: QoS, ipc: bool) -> Self {
        let mut scene = Self::begun(qos, ipc);
        scene.spin_until("ROS 1 connects them", |scene| {
            scene.publisher.subscription_count() == 1 && scene.sockets(is_of_ros1) == 1
        });
        set_interest(&scene.node, Interest::Nothing, is_of_ros1);
        scene
    }

    /// As before, after `count` messages were sent by ROS 1. RTPS is about to match.
    fn sent_by_ros1(qos: QoS, ipc: bool, count: u32) -> Self {
        let mut scene = Self::joined_by_ros1(qos, ipc);
        scene.publish(count);
        scene.assert_receives_nothing();
        set_interest(&scene.node, Interest::Read, is_rtps);
        scene
    }

    fn publish(&mut self, count: u32) {
        (0..count).for_each(|_| self.publish_long(1));
    }

    /// Publishes a message of this many words.
    fn publish_long(&mut self, words: usize) {
        let mut data = vec![0; words];
        data[0] = self.next;
        self.publisher.publish(UInt32MultiArray { data, ..UInt32MultiArray::default() }).unwrap();
        self.next += 1;
    }

    /// Publishes more than the kernel accepts for an unread connection, even later.
    fn fill_connection(&mut self) {
        let deadline = clock::monotonic() + LONG;
        while !has_queued_messages(self) {
            assert!(clock::monotonic() < deadline, "the kernel accepts everything");
            self.publish_long(WORDS);
        }
        (0..100).for_each(|_| self.publish_long(WORDS));
    }

    /// Spins for long enough to receive what the sockets hold, and asserts that nothing was received.
    #[track_caller]
    fn assert_receives_nothing(&self) {
        for _ in 0..10 {
            self.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
        assert_eq!(*self.received.lock().unwrap(), [0; 0], "its socket is not read");
    }

    fn sockets(&self, is_meant: fn(&Socket) -> bool) -> usize {
        self.node.inner.driver().sockets.iter().filter(|socket| is_meant(socket)).count()
    }

    #[track_caller]
    fn spin_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = clock::monotonic() + LONG;
        while !done(self) {
            assert!(clock::monotonic() < deadline, "timed out: {what}");
            self.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
    }

    /// Asserts that all messages were received once and in order.
    #[track_caller]
    fn check(mut self) {
        self.spin_until("the last is received", |scene| {
            scene.received.lock().unwrap().last() == Some(&(scene.next - 1))
        });
        assert_eq!(*self.received.lock().unwrap(), (0..self.next).collect::<Vec<_>>());
    }
}

fn is_rtps(socket: &Socket) -> bool {
    matches!(socket, Socket::Rtps(_))
}

/// A connection that may begin to carry messages.
fn is_control(socket: &Socket) -> bool {
    matches!(socket, Socket::Control(control) if !control.connecting)
}

/// Sockets that receive the talker's messages by ROS 1. Nothing here subscribes to `/rosout` and the like.
fn is_of_ros1(socket: &Socket) -> bool {
    matches!(socket, Socket::Input(_) | Socket::DatagramInput(_))
}

/// Sets whether the driver reads these sockets.
fn set_interest(node: &Node, interest: Interest, is_meant: fn(&Socket) -> bool) {
    let driver: &Driver = &node.inner.driver();
    for key in driver.sockets.keys() {
        driver.sockets.get(key).filter(|socket| is_meant(socket)).into_iter().for_each(|socket| {
            modify(driver, key, socket, interest);
        });
    }
}

fn modify(driver: &Driver, key: Key, socket: &Socket, interest: Interest) {
    let token = Token(key.to_bits());
    match socket {
        Socket::Rtps(socket) => driver.sockets.reactor.modify(&**socket, token, interest).unwrap(),
        Socket::Control(control) => driver.sockets.reactor.modify(&*control.stream, token, interest).unwrap(),
        Socket::Input(input) => driver.sockets.reactor.modify(&*input.stream, token, interest).unwrap(),
        Socket::DatagramInput(input) => {
            driver.sockets.reactor.modify(&*input.socket, token, interest).unwrap()
        }
        _ => unreachable!("sockets that bring messages are meant"),
    }
}

/// A pair delivers the talker's messages by shared memory.
fn pair_uses_memory(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.stats.is_by_memory())
}

#[test]
fn rtps_delivers_only_after_link_is_read() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000).best_effort()] {
        let mut scene = Scene::sent_by_ros1(qos, false, COUNT);
        scene.spin_until("RTPS has matched", has_matched_writer);
        for _ in 0..5 {
            scene.publish(1);
            scene.assert_receives_nothing();
        }
        assert!(!is_on_standby(&mut scene));
        set_interest(&scene.node, Interest::Read, is_of_ros1);
        scene.spin_until("RTPS delivers", rtps_delivers);
        scene.spin_until("the link is on standby", is_on_standby);
        scene.check();
    }
}

#[test]
fn ros1_memory_samples_precede_ros2_memory_samples() {
    let mut scene = Scene::begun(QoS::keep_all(), true);
    scene.spin_until("ROS 1 connects them", |scene| scene.publisher.subscription_count() == 1);
    scene.spin_until("the link uses shared memory", |scene| {
        scene.publish(1);
        link_uses_memory(scene)
    });
    set_interest(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("RTPS uses shared memory", |scene| {
        scene.publish(1);
        pair_uses_memory(scene)
    });
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    scene.check();
}

/// The link delivers nothing, since RTPS serves all subscriptions.
fn is_on_standby(scene: &mut Scene) -> bool {
    let mut driver = scene.node.inner.driver();
    let driver = &mut *driver;
    driver.sockets.keys().into_iter().any(|key| match driver.sockets.get_mut(key) {
        Some(Socket::Input(input)) => input.share().is_some_and(|share| share.receiver.is_on_standby()),
        _ => false,
    })
}

/// The ROS 1 link delivers the talker's messages by shared memory.
fn link_uses_memory(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    driver.sockets.iter().any(|socket| match socket {
        Socket::Input(input) => input.from.stats.is_by_memory(),
        _ => false,
    })
}

/// The listener's reader has matched the talker's writer.
fn has_matched_writer(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    driver.ros2.readers.values().any(|end| !end.links.is_empty())
}

/// The talker has messages that its socket has not accepted.
fn has_queued_messages(scene: &Scene) -> bool {
    let driver = scene.talker.inner.driver();
    let mut groups = driver.ros2.writers_to("/count").into_iter().filter_map(|(_, group)| group);
    groups.any(|group| group.publication().is_some_and(|publication| !publication.is_flushed()))
}

#[test]
fn queued_link_messages_precede_rtps_samples() {
    for qos in [QoS::keep_last(10_000), QoS::keep_last(10_000).best_effort()] {
        let mut scene = Scene::joined_by_ros1(qos, false);
        scene.fill_connection();
        set_interest(&scene.node, Interest::Read, is_rtps);
        scene.spin_until("RTPS has matched", has_matched_writer);
        for _ in 0..5 {
            scene.publish(1);
            scene.assert_receives_nothing();
        }
        assert!(has_queued_messages(&scene));
        set_interest(&scene.node, Interest::Read, is_of_ros1);
        scene.spin_until("RTPS delivers", rtps_delivers);
        scene.check();
    }
}

#[test]
fn listener_joins_rtps_without_publications() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    scene.fill_connection();
    set_interest(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("RTPS has matched", has_matched_writer);
    scene.assert_receives_nothing();
    assert!(!is_on_standby(&mut scene));
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(1);
    scene.check();
}

#[test]
fn read_all_ends_while_talker_continues() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    scene.fill_connection();
    (0..400).for_each(|_| scene.publish_long(WORDS));
    let driver = &mut *scene.node.inner.driver();
    let is_input = |key: &Key| matches!(driver.sockets.get(*key), Some(Socket::Input(_)));
    let key = driver.sockets.keys().into_iter().find(is_input).unwrap();
    let received = |driver: &Driver| match driver.sockets.get(key) {
        Some(Socket::Input(input)) => (input.received, input.stream.waiting().unwrap()),
        _ => unreachable!("the link exists"),
    };
    let (before, waiting) = received(driver);
    assert!(waiting > 0);
    let Driver { sockets, effects, .. } = driver;
    sockets.read_all(key, effects);
    // The last read may include the rest of a message.
    let most = waiting + MAX_IN_TRANSIT + 4 * WORDS as u64 + (64 << 10);
    let read = received(driver).0 - before;
    assert!((waiting..=most).contains(&read), "{read} bytes read of {waiting} that were there");
}

/// RTPS delivers the talker's messages. Publishes one.
fn rtps_delivers(scene: &mut Scene) -> bool {
    scene.publish(1);
    let driver = scene.node.inner.driver();
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.stats.messages() > 0)
}

/// The talker's writer has matched the listener's reader.
fn has_matched_reader(scene: &mut Scene) -> bool {
    let driver = scene.talker.inner.driver();
    let (writer, _) = driver.ros2.writers_to("/count").remove(0);
    !driver.ros2.rtps.as_ref().unwrap().matched(writer).is_empty()
}

/// The link exists at the talker, and the listener has not read the talker's header. `None` if it has.
fn scene_within_handshake(qos: QoS) -> Option<Scene> {
    let scene = Scene::begun(qos, false);
    let port = {
        let driver = scene.talker.inner.driver();
        let port = driver.sockets.iter().find_map(|socket| match socket {
            Socket::Listener { listener, port: Port::Tcpros, .. } => Some(listener.address().port()),
            _ => None,
        });
        port.unwrap()
    };
    let deadline = clock::monotonic() + LONG;
    while scene.publisher.subscription_count() == 0 {
        assert!(clock::monotonic() < deadline, "ROS 1 connects them");
        let driver = &mut *scene.node.inner.driver();
        driver.poll_once(Some(clock::monotonic() + Duration::from_millis(1))).unwrap();
        for key in driver.sockets.keys() {
            let Some(socket) = driver.sockets.get(key) else { continue };
            if matches!(socket, Socket::Control(control) if control.peer.port() == port) && is_control(socket)
            {
                modify(driver, key, socket, Interest::Nothing);
            }
        }
    }
    (scene.sockets(is_of_ros1) == 0).then_some(scene)
}

#[test]
fn messages_behind_unread_header_precede_rtps_samples() {
    // Another thread may have served the listener meanwhile.
    let mut scene = (0..20).find_map(|_| scene_within_handshake(QoS::keep_last(10_000))).unwrap();
    scene.publish(COUNT);
    set_interest(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("RTPS has matched", has_matched_writer);
    scene.publish(COUNT);
    scene.assert_receives_nothing();
    set_interest(&scene.node, Interest::Read, is_control);
    scene.spin_until("RTPS delivers", rtps_delivers);
    scene.check();
}

/// The talker loses the pair, the listener does not, and both match again.
fn lose_and_match_again(qos: QoS, ipc: bool) {
    let mut scene = Scene::joined_by_ros1(qos, ipc);
    for interest in [is_of_ros1, is_rtps] {
        set_interest(&scene.node, Interest::Read, interest);
    }
    scene.spin_until("RTPS delivers", rtps_delivers);
    if ipc {
        scene.spin_until("RTPS uses shared memory", pair_uses_memory);
    }
    scene.publish(COUNT);
    // The talker receives no datagram of the listener for a lease. The other direction works.
    set_interest(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(COUNT);
    scene.spin_until("the talker has lost the pair", |scene| !has_matched_reader(scene));
    scene.publish(COUNT);
    scene.spin_until("all is received", |scene| scene.received.lock().unwrap().len() as u32 == scene.next);
    assert!(!is_on_standby(&mut scene));
    set_interest(&scene.node, Interest::Nothing, is_of_ros1);
    scene.publish(COUNT);
    set_interest(&scene.talker, Interest::Read, is_rtps);
    scene.spin_until("the talker has matched again", has_matched_reader);
    scene.publish(COUNT);
    // Shared memory is read regardless of the sockets.
    assert!(ipc || !is_on_standby(&mut scene));
    set_interest(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the link is on standby", is_on_standby);
    scene.publish(COUNT);
    if ipc {
        scene.spin_until("RTPS uses shared memory again", pair_uses_memory);
        scene.publish(COUNT);
    }
    let lost = scene.subscription.lost();
    scene.check();
    assert_eq!(lost, 0, "{qos:?} shared memory {ipc}");
}

#[test]
fn link_messages_of_lost_pair_precede_rtps_samples() {
    std::thread::scope(|scope| {
        let many = QoS::keep_last(10_000);
        for qos in [many, many.transient_local(), many.best_effort(), QoS::keep_all()] {
            scope.spawn(move || lose_and_match_again(qos, false));
        }
        scope.spawn(move || lose_and_match_again(many, true));
        scope.spawn(move || lose_and_match_again(many.transient_local(), true));
    });
}
