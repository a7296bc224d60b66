//! Tests of descriptors, memory and queues that peers can make a process hold. One test at a time, since they are
//! counted for the whole process.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::fake_publisher::FakePublisher;
use crate::logged::{is_logged, wait_logged};
use crate::process::{alone, descriptors, resident};
use crate::raw::{Ports, framed_text, read_frame, send, subscribe, subscriber_header};
use runnel::core::Message;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::{Context, Publisher, QoS, Subscription};
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;
use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const MIB: usize = 1 << 20;

fn text(data: impl ToString) -> Text {
    Text { data: data.to_string() }
}

/// A talker and a counting listener in contexts of their own.
struct Scene {
    graph: Graph,
    talking: Context,
    publisher: Publisher<Text>,
    far: Context,
    received: Arc<AtomicUsize>,
    subscription: Subscription,
    ports: Ports,
}

impl Scene {
    fn new() -> Self {
        let graph = Graph::new();
        let (talking, far) = (graph.context(), graph.context());
        let publisher = talking.create_node("talker").unwrap().create_publisher::<Text>("talk", 100).unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let node = far.create_node("listener").unwrap();
        let subscription = node.create_subscription("talk", 100, move |_: &Text| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let ports = Ports::of(&far, "/talker", "/talk");
        Self { graph, talking, publisher, far, received, subscription: subscription.unwrap(), ports }
    }

    /// Sends a message on the existing link.
    fn talk(&self) {
        let before = self.received.load(Ordering::SeqCst);
        self.publisher.publish(text("hello")).unwrap();
        spin_until(&self.far, "a message over the living link", || {
            self.received.load(Ordering::SeqCst) > before
        });
    }

    /// A new subscriber gets a message, and node and master answer new callers.
    fn accepts_new_peers(&self) {
        let subscribers = self.publisher.subscription_count();
        let mut stream = subscribe(self.ports.tcpros, "/newcomer", "/talk");
        assert!(self.publisher.wait_for_subscribers(subscribers + 1, LONG).unwrap());
        self.publisher.publish(text("welcome")).unwrap();
        assert_eq!(read_frame(&mut stream).unwrap(), framed_text("welcome")[4..]);
        drop(stream);
        wait_until("the newcomer gone", || self.publisher.subscription_count() == subscribers);
        let caller = self.graph.context();
        for port in [self.ports.rpc, self.ports.master] {
            let uri = Uri::parse(&format!("http://{port}/")).unwrap();
            caller.call(&uri, "getPid", &["/test".into()], LONG).unwrap();
        }
    }
}

#[test]
fn half_open_connections_delay_no_peer() {
    let _alone = alone();
    let scene = Scene::new();
    let before = resident();
    let header = subscriber_header("/late", "/talk", "*", "*");
    let mut open = Vec::new();
    for _ in 0..1000 {
        open.push(send(scene.ports.tcpros, &header[..10]));
        open.push(send(scene.ports.rpc, b"POST / HTTP/1.1\r\nHost:"));
        open.push(send(scene.ports.master, b"POST / HTTP/1.1\r\nHost:"));
    }
    scene.talk();
    scene.accepts_new_peers();
    let grown = resident().saturating_sub(before);
    assert!(grown < 16 * MIB, "{} KiB for 3000 connections", grown / 1024);
    // The last connections to each port were kept and can continue.
    let mut late = open.swap_remove(2997);
    late.write_all(&header[10..]).unwrap();
    assert!(!read_frame(&mut late).unwrap().is_empty());
}

/// Ends a connection with a reset.
fn reset(stream: TcpStream) {
    sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}

#[test]
fn closed_connections_leak_nothing() {
    let _alone = alone();
    let scene = Scene::new();
    let header = subscriber_header("/fleeting", "/talk", "*", "*");
    let come_and_go = |rounds: usize| {
        for round in 0..rounds {
            let cut = round % header.len();
            reset(send(scene.ports.tcpros, &header[..cut]));
            reset(send(scene.ports.rpc, &b"POST / HTTP/1.1\r\n"[..cut % 18]));
            drop(send(scene.ports.master, &b"POST / HTTP/1.1\r\n"[..cut % 18]));
            drop(send(scene.ports.tcpros, &header));
        }
        wait_until("only the listener left", || scene.publisher.subscription_count() == 1);
    };
    let settled = descriptors();
    come_and_go(250);
    let before = resident();
    come_and_go(2250);
    wait_until("all descriptors returned", || descriptors() <= settled);
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 * MIB, "{} KiB after 9000 connections", grown / 1024);
    scene.talk();
    scene.accepts_new_peers();
}

/// Restores the descriptor limit when dropped.
struct DescriptorLimit(Rlimit);

impl DescriptorLimit {
    fn to(current: usize) -> Self {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(current as u64), ..before }).unwrap();
        Self(before)
    }
}

impl Drop for DescriptorLimit {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.0).unwrap();
    }
}

/// A subscriber with a descriptor from before descriptors ran out.
struct Reserved(OwnedFd);

impl Reserved {
    fn new() -> Self {
        Self(socket(AddressFamily::INET, SocketType::STREAM, None).unwrap())
    }

    /// Connects to a publisher. The kernel accepts even if the publisher cannot.
    fn connect(self, tcpros: SocketAddr) -> TcpStream {
        connect(&self.0, &tcpros).unwrap();
        let mut stream = TcpStream::from(self.0);
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(&subscriber_header("/patient", "/talk", "*", "*")).unwrap();
        stream
    }
}

/// Opens connections to a port, and files, until no descriptor is left.
fn exhaust(port: SocketAddr) -> (Vec<TcpStream>, Vec<File>) {
    let connections: Vec<_> = std::iter::from_fn(|| TcpStream::connect(port).ok()).collect();
    // The process may still accept or close connections: only files make sure.
    let files = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    (connections, files)
}

#[test]
fn accepting_resumes_once_descriptors_are_free() {
    let _alone = alone();
    let scene = Scene::new();
    let reserved = Reserved::new();
    let lowered = DescriptorLimit::to(descriptors() + 60);
    let (connections, files) = exhaust(scene.ports.rpc);
    assert!(!connections.is_empty() && File::open("/dev/null").is_err());
    let mut waiting = reserved.connect(scene.ports.tcpros);
    wait_logged(&["ERROR cannot accept connections", "Too many open files"]);
    // Existing links lose nothing meanwhile.
    (0..100).for_each(|_| scene.talk());
    assert_eq!((scene.subscription.dropped(), scene.publisher.dropped()), (0, 0));
    drop((connections, files));
    assert!(!read_frame(&mut waiting).unwrap().is_empty(), "it is accepted now");
    assert!(scene.publisher.wait_for_subscribers(2, LONG).unwrap());
    drop(lowered);
    scene.accepts_new_peers();
}

#[test]
fn node_creation_works_once_descriptors_are_free() {
    let _alone = alone();
    let scene = Scene::new();
    let fake = FakePublisher::new(&scene.graph, "/early", "/elsewhere");
    let lowered = DescriptorLimit::to(descriptors() + 60);
    let fillers = exhaust(scene.ports.rpc);
    let error = scene.far.create_node("late_listener").map(drop).unwrap_err();
    assert!(error.to_string().contains("Too many open files"), "{error}");
    drop((fillers, lowered));
    let received = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&received);
    let node = scene.far.create_node("late_listener").unwrap();
    let _subscription = node.create_subscription("elsewhere", 10, move |_: &Text| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let _stream = fake.accept_and_send("/early", Text::MD5, &framed_text("at last"));
    spin_until(&scene.far, "the message received", || received.load(Ordering::SeqCst) == 1);
}

#[test]
fn announced_length_reserves_no_memory() {
    let _alone = alone();
    let scene = Scene::new();
    let fake = FakePublisher::new(&scene.graph, "/boaster", "/talk");
    let before = resident();
    // The receive budget allows exactly this length.
    let length = 250_000_000u32.to_le_bytes();
    let mut stream = fake.accept_and_send("/boaster", Text::MD5, &length);
    wait_until("both publishers linked", || scene.subscription.publisher_count() == 2);
    stream.write_all(&[0; 100_000]).unwrap();
    (0..10).for_each(|_| scene.talk());
    let grown = resident().saturating_sub(before);
    assert!(grown < 4 * MIB, "{} KiB for a message that never comes", grown / 1024);
    assert_eq!(scene.subscription.dropped(), 0);
}

/// Messages that `/talker` reports as dropped for a subscriber of the topic, by its slave API.
fn reported_dropped(scene: &Scene, rpc: SocketAddr, topic: &str) -> i32 {
    let uri = Uri::parse(&format!("http://{rpc}/")).unwrap();
    let answer = scene.far.call(&uri, "getBusStats", &["/test".into()], LONG).unwrap();
    let array = |value: &Value| value.as_array().unwrap().to_vec();
    let publications = array(&array(&array(&answer)[2])[0]);
    let entry = publications.iter().map(array).find(|entry| entry[0].as_str() == Some(topic)).unwrap();
    array(&entry[2]).iter().map(|row| array(row)[4].as_int().unwrap()).sum()
}

#[test]
fn stopped_reader_has_bounded_queue_and_counted_losses() {
    let _alone = alone();
    let scene = Scene::new();
    let node = scene.talking.create_node("camera").unwrap();
    let publisher = node.create_publisher::<UInt8MultiArray>("blocks", QoS::keep_last(2)).unwrap();
    let ports = Ports::of(&scene.far, "/camera", "/blocks");
    let mut stopped = subscribe(ports.tcpros, "/stopped", "/blocks");
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let block = UInt8MultiArray { data: vec![7; MIB], ..Default::default() };
    (0..20).for_each(|_| publisher.publish(&block).unwrap());
    let before = resident();
    (0..300).for_each(|_| publisher.publish(&block).unwrap());
    let grown = resident().saturating_sub(before);
    assert!(grown < 8 * MIB, "{} KiB while 300 MiB were published", grown / 1024);
    scene.talk();
    let dropped = publisher.dropped();
    assert!(dropped > 280, "{dropped} of 320");
    assert_eq!(reported_dropped(&scene, ports.rpc, "/blocks"), i32::try_from(dropped).unwrap());
    // When it reads again, it gets every message that was not dropped, complete.
    let whole = (0..320 - dropped).all(|_| read_frame(&mut stopped).unwrap().len() == MIB + 12);
    assert!(whole, "no message was torn");
    stopped.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert!(stopped.read(&mut [0; 1]).is_err(), "and no more than those");
    assert!(!is_logged(&["ERROR", "camera"]));
}
