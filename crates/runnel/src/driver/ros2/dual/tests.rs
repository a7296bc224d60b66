//! Messages that a node of both graphs was sent by ROS 1, and that lie unread in its socket when the first one comes by ROS 2.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_io::{Interest, Token, clock};
use runnel_msgs::std_msgs::UInt32;
use runnel_testkit::namespace::require_private_network;

use crate::driver::Driver;
use crate::driver::socket::Socket;
use crate::driver::table::Key;
use crate::sync::lock;
use crate::{Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, Subscription};

/// Longer than anything here takes; only a failure waits for it.
const LONG: Duration = Duration::from_secs(20);

/// Messages that are sent by ROS 1.
const BEFORE: u32 = 10;

/// A talker, and a listener in a context of its own whose sockets are read or not, as the test has it.
struct Scene {
    publisher: Publisher<UInt32>,
    _talker: Node,
    _talking: Context,
    _subscription: Subscription,
    node: Node,
    listening: Context,
    _master: Context,
    heard: Arc<Mutex<Vec<u32>>>,
    next: u32,
}

fn context(master: &str, domain: u16, ipc: bool) -> Context {
    let options = ContextOptions::default().signals(false).arguments([format!("__master:={master}")]);
    Context::with_options(options.graphs(Graphs::Both).domain_id(domain).ipc(ipc)).unwrap()
}

impl Scene {
    /// The two are joined by ROS 1 alone, what was sent so lies unread at the listener, and ROS 2 is about to meet.
    fn sent_by_ros1(qos: QoS, ipc: bool) -> Self {
        require_private_network();
        static DOMAIN: AtomicU16 = AtomicU16::new(180);
        let domain = DOMAIN.fetch_add(1, Ordering::Relaxed);
        let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
        let master = Context::with_options(options).unwrap();
        let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap().to_string();

        let listening = context(&uri, domain, ipc);
        let node = listening.create_node("listener").unwrap();
        read(&node, Interest::Nothing, is_rtps);
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let subscription =
            node.create_subscription("count", qos, move |number: &UInt32| lock(&into).push(number.data));
        let talking = context(&uri, domain, ipc);
        let talker = talking.create_node("talker").unwrap();
        let publisher = talker.create_publisher("count", qos).unwrap();
        let mut scene = Self {
            publisher,
            _talker: talker,
            _talking: talking,
            _subscription: subscription.unwrap(),
            node,
            listening,
            _master: master,
            heard,
            next: 0,
        };
        scene.spin_until("ROS 1 joins them", |scene| {
            scene.publisher.subscription_count() == 1 && scene.sockets(is_of_ros1) == 1
        });
        read(&scene.node, Interest::Nothing, is_of_ros1);
        scene.publish(BEFORE);
        // What is read is heard within this.
        for _ in 0..10 {
            scene.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
        assert_eq!(*lock(&scene.heard), [0; 0], "its socket is not read");
        read(&scene.node, Interest::Read, is_rtps);
        scene
    }

    fn publish(&mut self, count: u32) {
        for _ in 0..count {
            self.publisher.publish(UInt32 { data: self.next }).unwrap();
            self.next += 1;
        }
    }

    fn sockets(&self, is_meant: fn(&Socket) -> bool) -> usize {
        self.node.inner.driver().sockets.iter().filter(|socket| is_meant(socket)).count()
    }

    #[track_caller]
    fn spin_until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = clock::monotonic() + LONG;
        while !done(self) {
            assert!(clock::monotonic() < deadline, "still not: {what}");
            self.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
    }

    /// All has been heard once, in the order in which it was sent.
    #[track_caller]
    fn check(mut self) {
        self.spin_until("the last is heard", |scene| lock(&scene.heard).last() == Some(&(scene.next - 1)));
        assert_eq!(*lock(&self.heard), (0..self.next).collect::<Vec<_>>());
    }
}

fn is_rtps(socket: &Socket) -> bool {
    matches!(socket, Socket::Rtps(_))
}

/// What brings messages of the talker's by ROS 1; those of `/rosout` and the like are nobody's here.
fn is_of_ros1(socket: &Socket) -> bool {
    matches!(socket, Socket::Input(_) | Socket::DatagramInput(_))
}

/// Has the driver read such sockets of its, or not.
fn read(node: &Node, interest: Interest, is_meant: fn(&Socket) -> bool) {
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
        Socket::Rtps(socket) => driver.reactor.modify(&**socket, token, interest).unwrap(),
        Socket::Input(input) => driver.reactor.modify(&*input.stream, token, interest).unwrap(),
        Socket::DatagramInput(input) => driver.reactor.modify(&*input.socket, token, interest).unwrap(),
        _ => unreachable!("sockets that bring messages are meant"),
    }
}

/// ROS 2 brings one, sooner or later.
fn is_heard_by_ros2(scene: &mut Scene) -> bool {
    scene.publish(1);
    !lock(&scene.heard).is_empty()
}

/// The talker's messages come by memory.
fn comes_by_memory(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.stats.is_by_memory())
}

#[test]
fn what_was_sent_by_ros1_is_heard_before_the_first_datagram_of_ros2() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000).best_effort(), QoS::keep_last(10_000).udpros()] {
        let mut scene = Scene::sent_by_ros1(qos, false);
        scene.spin_until("ROS 2 brings something", is_heard_by_ros2);
        scene.check();
    }
}

#[test]
fn what_was_sent_by_ros1_is_heard_before_the_first_sample_that_comes_by_memory() {
    // Datagrams of ROS 1 stay what they are where its connections would go over to memory as well.
    let mut scene = Scene::sent_by_ros1(QoS::keep_last(10_000).udpros(), true);
    scene.spin_until("ROS 2 goes over to memory", comes_by_memory);
    assert_eq!(*lock(&scene.heard), [0; 0], "nothing was sent by ROS 2 so far");
    scene.publish(1);
    scene.check();
}
