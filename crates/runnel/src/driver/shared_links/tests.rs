//! Messages that a node of both graphs was sent by ROS 1, and that lie unread in its socket when RTPS could bring others.

mod blackout;
mod ended;
mod forged;
mod joining;
mod killed;
mod late;

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel_core::qos::QoS;
use runnel_io::{Interest, Token, clock};
use runnel_msgs::std_msgs::UInt32MultiArray;
use runnel_ros1::node::Port;
use runnel_testkit::namespace::require_private_network;

use crate::driver::Driver;
use crate::driver::sockets::MOST_UNDER_WAY;
use crate::driver::sockets::Socket;
use crate::driver::table::Key;
use crate::{Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, Subscription};

/// Longer than anything here takes; only a failure waits for it.
const LONG: Duration = Duration::from_secs(60);

/// Words of a message of which a few fill the sockets of a connection.
const WORDS: usize = 16 * 1024;

/// Messages that are sent by ROS 1.
const BEFORE: u32 = 10;

/// A talker, and a listener in a context of its own whose sockets are read or not, as the test has it.
struct Scene {
    publisher: Publisher<UInt32MultiArray>,
    talker: Node,
    _talking: Context,
    subscription: Subscription,
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
    /// The two are made, and ROS 2 is not read at the listener.
    fn begun(qos: QoS, ipc: bool) -> Self {
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
            heard,
            next: 0,
        }
    }

    /// They are joined by ROS 1 alone, and what is sent so lies unread at the listener.
    fn joined_by_ros1(qos: QoS, ipc: bool) -> Self {
        let mut scene = Self::begun(qos, ipc);
        scene.spin_until("ROS 1 joins them", |scene| {
            scene.publisher.subscription_count() == 1 && scene.sockets(is_of_ros1) == 1
        });
        read(&scene.node, Interest::Nothing, is_of_ros1);
        scene
    }

    /// The same where so many were sent, and ROS 2 is about to meet.
    fn sent_by_ros1(qos: QoS, ipc: bool, count: u32) -> Self {
        let mut scene = Self::joined_by_ros1(qos, ipc);
        scene.publish(count);
        scene.hears_nothing();
        read(&scene.node, Interest::Read, is_rtps);
        scene
    }

    fn publish(&mut self, count: u32) {
        (0..count).for_each(|_| self.publish_long(1));
    }

    /// Publishes one of so many words.
    fn publish_long(&mut self, words: usize) {
        let mut data = vec![0; words];
        data[0] = self.next;
        self.publisher.publish(UInt32MultiArray { data, ..UInt32MultiArray::default() }).unwrap();
        self.next += 1;
    }

    /// Publishes more than the kernel takes for a connection that is not read, also later.
    fn fill_connection(&mut self) {
        let deadline = clock::monotonic() + LONG;
        while !waits(self) {
            assert!(clock::monotonic() < deadline, "the kernel takes all");
            self.publish_long(WORDS);
        }
        (0..100).for_each(|_| self.publish_long(WORDS));
    }

    /// What is read is heard within this.
    #[track_caller]
    fn hears_nothing(&self) {
        for _ in 0..10 {
            self.listening.spin_once(Duration::from_millis(10)).unwrap();
        }
        assert_eq!(*self.heard.lock().unwrap(), [0; 0], "its socket is not read");
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
        self.spin_until("the last is heard", |scene| {
            scene.heard.lock().unwrap().last() == Some(&(scene.next - 1))
        });
        assert_eq!(*self.heard.lock().unwrap(), (0..self.next).collect::<Vec<_>>());
    }
}

fn is_rtps(socket: &Socket) -> bool {
    matches!(socket, Socket::Rtps(_))
}

/// A connection that may be about to bring messages.
fn is_control(socket: &Socket) -> bool {
    matches!(socket, Socket::Control(control) if !control.connecting)
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
        Socket::Rtps(socket) => driver.sockets.reactor.modify(&**socket, token, interest).unwrap(),
        Socket::Control(control) => driver.sockets.reactor.modify(&*control.stream, token, interest).unwrap(),
        Socket::Input(input) => driver.sockets.reactor.modify(&*input.stream, token, interest).unwrap(),
        Socket::DatagramInput(input) => {
            driver.sockets.reactor.modify(&*input.socket, token, interest).unwrap()
        }
        _ => unreachable!("sockets that bring messages are meant"),
    }
}

/// The talker's messages come by memory.
fn comes_by_memory(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.stats.is_by_memory())
}

#[test]
fn rtps_brings_nothing_before_the_link_is_read() {
    for qos in [QoS::keep_all(), QoS::keep_last(10_000).best_effort()] {
        let mut scene = Scene::sent_by_ros1(qos, false, BEFORE);
        scene.spin_until("ROS 2 has met it", is_met);
        for _ in 0..5 {
            scene.publish(1);
            scene.hears_nothing();
        }
        assert!(!is_on_standby(&mut scene));
        read(&scene.node, Interest::Read, is_of_ros1);
        scene.spin_until("ROS 2 brings something", is_carried_by_ros2);
        scene.spin_until("the link stands by", is_on_standby);
        scene.check();
    }
}

#[test]
fn what_memory_brings_by_ros1_is_heard_before_what_it_brings_by_ros2() {
    let mut scene = Scene::begun(QoS::keep_all(), true);
    scene.spin_until("ROS 1 joins them", |scene| scene.publisher.subscription_count() == 1);
    scene.spin_until("the link goes over to memory", |scene| {
        scene.publish(1);
        comes_by_memory_of_ros1(scene)
    });
    read(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("RTPS goes over to memory", |scene| {
        scene.publish(1);
        comes_by_memory(scene)
    });
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(BEFORE);
    scene.check();
}

/// The link brings nothing that anybody needs.
fn is_on_standby(scene: &mut Scene) -> bool {
    let mut driver = scene.node.inner.driver();
    let driver = &mut *driver;
    driver.sockets.keys().into_iter().any(|key| match driver.sockets.get_mut(key) {
        Some(Socket::Input(input)) => input.share().is_some_and(|share| share.receiver.is_on_standby()),
        _ => false,
    })
}

/// The talker's messages come by memory in ROS 1.
fn comes_by_memory_of_ros1(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    driver.sockets.iter().any(|socket| match socket {
        Socket::Input(input) => input.from.stats.is_by_memory(),
        _ => false,
    })
}

/// The listener has met the talker in ROS 2.
fn is_met(scene: &mut Scene) -> bool {
    let driver = scene.node.inner.driver();
    driver.ros2.readers.values().any(|end| !end.links.is_empty())
}

/// The talker has messages that its socket has not taken.
fn waits(scene: &Scene) -> bool {
    let driver = scene.talker.inner.driver();
    let mut offers = driver.ros2.writers_to("/count").into_iter().filter_map(|(_, offer)| offer);
    offers.any(|offer| offer.publication().is_some_and(|publication| !publication.is_flushed()))
}

#[test]
fn what_waits_at_the_talker_for_a_slow_listener_is_heard_before_what_ros2_brings() {
    for qos in [QoS::keep_last(10_000), QoS::keep_last(10_000).best_effort()] {
        let mut scene = Scene::joined_by_ros1(qos, false);
        scene.fill_connection();
        read(&scene.node, Interest::Read, is_rtps);
        scene.spin_until("ROS 2 has met it", is_met);
        for _ in 0..5 {
            scene.publish(1);
            scene.hears_nothing();
        }
        assert!(waits(&scene));
        read(&scene.node, Interest::Read, is_of_ros1);
        scene.spin_until("ROS 2 brings something", is_carried_by_ros2);
        scene.check();
    }
}

#[test]
fn a_listener_goes_over_while_nothing_is_published() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    scene.fill_connection();
    read(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("ROS 2 has met it", is_met);
    scene.hears_nothing();
    assert!(!is_on_standby(&mut scene));
    read(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("it has gone over", is_on_standby);
    scene.publish(1);
    scene.check();
}

#[test]
fn reading_what_was_sent_before_ends_though_the_talker_goes_on() {
    let mut scene = Scene::joined_by_ros1(QoS::keep_last(10_000), false);
    scene.fill_connection();
    (0..400).for_each(|_| scene.publish_long(WORDS));
    let driver = &mut *scene.node.inner.driver();
    let is_input = |key: &Key| matches!(driver.sockets.get(*key), Some(Socket::Input(_)));
    let key = driver.sockets.keys().into_iter().find(is_input).unwrap();
    let received = |driver: &Driver| match driver.sockets.get(key) {
        Some(Socket::Input(input)) => (input.received, input.stream.waiting().unwrap()),
        _ => unreachable!("the link stands"),
    };
    let (before, waiting) = received(driver);
    assert!(waiting > 0);
    let Driver { sockets, effects, .. } = driver;
    sockets.read_all(key, effects);
    // The last read may bring the rest of a message as well.
    let most = waiting + MOST_UNDER_WAY + 4 * WORDS as u64 + (64 << 10);
    let read = received(driver).0 - before;
    assert!((waiting..=most).contains(&read), "{read} bytes read of {waiting} that were there");
}

/// ROS 2 has brought something.
fn is_carried_by_ros2(scene: &mut Scene) -> bool {
    scene.publish(1);
    let driver = scene.node.inner.driver();
    let mut links = driver.ros2.readers.values().flat_map(|end| end.links.values());
    links.any(|from| from.stats.messages() > 0)
}

/// The talker's writer has met the listener's reader.
fn is_matched(scene: &mut Scene) -> bool {
    let driver = scene.talker.inner.driver();
    let (writer, _) = driver.ros2.writers_to("/count").remove(0);
    !driver.ros2.rtps.as_ref().unwrap().matched(writer).is_empty()
}

/// The two have joined by ROS 1 as the talker sees it, and the listener has not read the talker's header.
fn amid_a_handshake(qos: QoS) -> Option<Scene> {
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
        assert!(clock::monotonic() < deadline, "ROS 1 joins them");
        let driver = &mut *scene.node.inner.driver();
        driver.turn(Some(clock::monotonic() + Duration::from_millis(1))).unwrap();
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
fn what_lies_behind_a_header_that_was_not_read_is_heard_before_what_ros2_brings() {
    // The listener may have been served by another thread meanwhile.
    let mut scene = (0..20).find_map(|_| amid_a_handshake(QoS::keep_last(10_000))).unwrap();
    scene.publish(BEFORE);
    read(&scene.node, Interest::Read, is_rtps);
    scene.spin_until("ROS 2 has met it", is_met);
    scene.publish(BEFORE);
    scene.hears_nothing();
    read(&scene.node, Interest::Read, is_control);
    scene.spin_until("ROS 2 brings something", is_carried_by_ros2);
    scene.check();
}

/// The talker loses the listener, which loses nothing, and finds it again.
fn lost_and_found(qos: QoS, ipc: bool) {
    let mut scene = Scene::joined_by_ros1(qos, ipc);
    for interest in [is_of_ros1, is_rtps] {
        read(&scene.node, Interest::Read, interest);
    }
    scene.spin_until("ROS 2 carries", is_carried_by_ros2);
    if ipc {
        scene.spin_until("ROS 2 goes over to memory", comes_by_memory);
    }
    scene.publish(BEFORE);
    // Nothing of the listener's reaches the talker for a lease; the other way all is well.
    read(&scene.talker, Interest::Nothing, is_rtps);
    scene.publish(BEFORE);
    scene.spin_until("the talker has lost it", |scene| !is_matched(scene));
    scene.publish(BEFORE);
    scene.spin_until("all is heard", |scene| scene.heard.lock().unwrap().len() as u32 == scene.next);
    assert!(!is_on_standby(&mut scene));
    read(&scene.node, Interest::Nothing, is_of_ros1);
    scene.publish(BEFORE);
    read(&scene.talker, Interest::Read, is_rtps);
    scene.spin_until("the talker has found it again", is_matched);
    scene.publish(BEFORE);
    // By memory it is read as ever.
    assert!(ipc || !is_on_standby(&mut scene));
    read(&scene.node, Interest::Read, is_of_ros1);
    scene.spin_until("the link stands by", is_on_standby);
    scene.publish(BEFORE);
    if ipc {
        scene.spin_until("ROS 2 goes over to memory again", comes_by_memory);
        scene.publish(BEFORE);
    }
    let told_lost = scene.subscription.lost();
    scene.check();
    assert_eq!(told_lost, 0, "{qos:?} by memory {ipc}");
}

#[test]
fn what_a_talker_that_had_lost_a_listener_sent_by_ros1_is_heard_before_what_ros2_brings_again() {
    std::thread::scope(|scope| {
        let many = QoS::keep_last(10_000);
        for qos in [many, many.transient_local(), many.best_effort(), QoS::keep_all()] {
            scope.spawn(move || lost_and_found(qos, false));
        }
        scope.spawn(move || lost_and_found(many, true));
        scope.spawn(move || lost_and_found(many.transient_local(), true));
    });
}
