//! Tests of messages beyond available memory: each is an error with topic and size, and the node continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Graph, LONG, spin_until, wait_until};
use domains::new_domain;
use fake_process::{END, SAMPLE_SLOT};
use ipc_scene::{Reader, Scene, numbered};
use runnel::core::Message;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::core::wire::{Encoding, NoMemory, Wire, cdr};
use runnel::msgs::sensor_msgs::{
    msg::{Image, ImageView},
    srv::{SetCameraInfo, SetCameraInfoRequest, SetCameraInfoResponse},
};
use runnel::{Context, ContextOptions, Error, Graphs, Node, QoS, ServiceError, Subscription};
use runnel_testkit::scarce_memory::{ENOUGH, Scarce, limit, with_memory};
use two_graphs::{Received, TwoGraphs};

#[path = "common/mod.rs"]
mod common;
#[path = "common/domains.rs"]
mod domains;
#[path = "common/fake_process.rs"]
mod fake_process;
#[path = "common/ipc_scene.rs"]
mod ipc_scene;
#[path = "common/logged.rs"]
mod logged;
#[path = "common/numbers.rs"]
mod numbers;
#[path = "common/raw.rs"]
mod raw;
#[path = "common/two_graphs.rs"]
mod two_graphs;

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

/// Length of a long message.
const BYTES: usize = 4_000_000;

/// Memory that is too small for it, but enough for everything else.
const TOO_LITTLE: usize = 1_000_000;

/// Path between the two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Ros1,
    Ros2,
    /// Both are in one context.
    Process,
}

/// A publishing and a subscribing node.
struct Pair {
    _master: Option<Graph>,
    near: Context,
    far: Context,
}

impl Pair {
    /// Connected by the network.
    fn new(link: Link) -> Self {
        Self::with(link, false)
    }

    fn with(link: Link, memory: bool) -> Self {
        if link == Link::Ros2 {
            let domain = new_domain();
            let options = || ContextOptions::default().signals(false).arguments([""; 0]).ipc(memory);
            let context = || Context::with_options(options().graphs(Graphs::Ros2).domain_id(domain)).unwrap();
            return Self { _master: None, near: context(), far: context() };
        }
        let graph = Graph::new();
        let context = || Context::with_options(graph.options().ipc(memory)).unwrap();
        let near = context();
        let far = if link == Link::Process { near.clone() } else { context() };
        Self { _master: Some(graph), near, far }
    }

    fn nodes(&self) -> (Node, Node) {
        (self.near.create_node("talker").unwrap(), self.far.create_node("listener").unwrap())
    }

    /// Spins both until `done`.
    #[track_caller]
    fn spin_until(&self, what: &str, mut done: impl FnMut() -> bool) {
        spin_until(&self.far, what, || {
            self.near.spin_once(Duration::ZERO).unwrap();
            done()
        });
    }
}

fn image(bytes: usize) -> Image {
    Image { data: vec![7; bytes], ..Image::default() }
}

/// Counts images and asserts their length.
fn count(node: &Node, qos: QoS) -> (Subscription, Arc<AtomicUsize>) {
    let counter = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&counter);
    let callback = move |_: &Image| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    (node.create_subscription("images", qos, callback).unwrap(), counter)
}

/// Length in an error, after asserting that it is about memory and the topic.
#[track_caller]
fn refused<T>(result: Result<T, Error>) -> usize {
    match result.map(drop).unwrap_err() {
        Error::NoMemory { topic, bytes } if topic == "/images" => bytes,
        other => panic!("{other}"),
    }
}

fn schema<M: Message>(generation: Generation) -> Arc<Schema> {
    runnel::msgs::library().message_in(generation, &TypeName::parse(M::TYPE).unwrap()).unwrap()
}

fn bytes(generation: Generation, message: &impl Message) -> Vec<u8> {
    let encoding = if generation == Generation::Ros1 { Encoding::Ros1 } else { Encoding::Xcdr1 };
    cdr::encode(message, encoding).unwrap()
}

#[test]
fn published_message_beyond_memory_is_an_error() {
    let long = image(BYTES);
    for (link, encoding) in [(Link::Ros1, Encoding::Ros1), (Link::Ros2, Encoding::Xcdr1)] {
        let pair = Pair::new(link);
        let (talker, listener) = pair.nodes();
        let publisher = talker.create_publisher::<Image>("images", 10).unwrap();
        let (_subscription, received) = count(&listener, QoS::keep_last(10));
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let published = with_memory(TOO_LITTLE, || publisher.publish(&long));
        assert_eq!(refused(published), cdr::encode(&long, encoding).unwrap().len(), "{link:?}");
        let published = with_memory(TOO_LITTLE, || publisher.try_publish(&long));
        assert_eq!(refused(published), cdr::encode(&long, encoding).unwrap().len(), "{link:?}");
        publisher.publish(&long).unwrap();
        publisher.publish(image(1)).unwrap();
        pair.spin_until("the others are received", || received.load(Ordering::SeqCst) == 2);
        assert_eq!(publisher.published(), 2);
    }
}

#[test]
fn copy_for_local_subscribers_beyond_memory_fails() {
    let pair = Pair::new(Link::Process);
    let (talker, listener) = pair.nodes();
    let publisher = talker.create_publisher::<Image>("images", 10).unwrap();
    let (_subscription, received) = count(&listener, QoS::keep_last(10));
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let long = image(BYTES);
    assert_eq!(refused(with_memory(TOO_LITTLE, || publisher.publish(&long))), BYTES);
    // A message passed by value needs no copy.
    with_memory(TOO_LITTLE, || publisher.publish(long)).unwrap();
    pair.spin_until("the other is received", || received.load(Ordering::SeqCst) == 1);
    assert_eq!(publisher.published(), 1);
}

#[test]
fn message_without_memory_for_one_encoding_reaches_nobody() {
    let graphs = TwoGraphs::new();
    let talker = graphs.both.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<Image>("images", 10).unwrap();
    let [one, two] = [&graphs.ros1, &graphs.ros2].map(|context| context.create_node("listener").unwrap());
    let (one, two): (Received<Image>, Received<Image>) =
        (Received::on(&one, "images", 10), Received::on(&two, "images", 10));
    let own = graphs.both.create_node("own").unwrap();
    let own: Received<Image> = Received::on(&own, "images", 10);
    assert!(publisher.wait_for_subscribers(3, LONG).unwrap());
    let long = image(BYTES);
    // Any of the encodings may be refused: one of them may use shared memory.
    for little in [1, 5] {
        refused(with_memory(little * TOO_LITTLE, || publisher.publish(&long)));
    }
    publisher.publish(image(2)).unwrap();
    graphs.spin_until("the short one is received", || [one.len(), two.len(), own.len()] == [1; 3]);
    assert_eq!([one.last_of(1), two.last_of(1), own.last_of(1)].map(|image| image.data.len()), [2; 3]);
}

#[test]
fn dynamic_message_beyond_memory_is_an_error() {
    let long = image(BYTES);
    for generation in Generation::ALL {
        let graphs = TwoGraphs::new();
        let talker = graphs.both.create_node("talker").unwrap();
        let schema = schema::<Image>(generation);
        let publisher = talker.create_dynamic_publisher("images", &schema, 10).unwrap();
        let [one, two] = [&graphs.ros1, &graphs.ros2].map(|context| context.create_node("listener").unwrap());
        let one: Received<Image> = Received::on(&one, "images", 10);
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let serialized = bytes(generation, &long);
        let message = match generation {
            Generation::Ros1 => DynamicMessage::decode(&schema, &serialized).unwrap(),
            Generation::Ros2 => DynamicMessage::decode_payload(&schema, &serialized).unwrap(),
        };
        let refuse = |little| {
            refused(with_memory(little, || publisher.publish(&message)));
            let raw = |little| {
                with_memory(little, || publisher.publish_bytes(|out| out.extend_from_slice(&serialized)))
            };
            refused(raw(little));
        };
        refuse(TOO_LITTLE);
        // For one of two graphs the message is converted, which uses other memory.
        let two: Received<Image> = Received::on(&two, "images", 10);
        assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
        [1, 5].into_iter().for_each(|little| refuse(little * TOO_LITTLE));
        publisher.publish_bytes(|out| out.extend_from_slice(&bytes(generation, &image(1)))).unwrap();
        graphs.spin_until("the short one is received", || one.len() == 1 && two.len() == 1);
        assert_eq!([one.last_of(1), two.last_of(1)].map(|image| image.data.len()), [1; 2]);
    }
}

#[test]
fn loan_beyond_memory_is_an_error() {
    for link in [Link::Ros1, Link::Ros2] {
        let pair = Pair::new(link);
        let (talker, listener) = pair.nodes();
        let publisher = talker.create_publisher::<Image>("images", 10).unwrap();
        let (_subscription, received) = count(&listener, QoS::keep_last(10));
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let head = Image::default();
        let bytes = refused(with_memory(TOO_LITTLE, || publisher.loan(&head, BYTES)));
        assert!((BYTES..BYTES + 100).contains(&bytes), "{bytes}");
        publisher.loan(&head, BYTES).unwrap().publish().unwrap();
        pair.spin_until("the other is received", || received.load(Ordering::SeqCst) == 1);
    }
}

#[test]
fn latched_message_beyond_memory_keeps_previous() {
    let pair = Pair::new(Link::Ros1);
    let (talker, listener) = pair.nodes();
    let publisher = talker.create_publisher::<Image>("images", QoS::keep_last(1).transient_local()).unwrap();
    publisher.publish(image(3)).unwrap();
    let long = image(BYTES);
    refused(with_memory(TOO_LITTLE, || publisher.publish(&long)));
    let received: Received<Image> = Received::on(&listener, "images", 10);
    pair.spin_until("the one before is received", || received.len() == 1);
    assert_eq!(received.last_of(1).data.len(), 3);
}

/// A borrowing subscription that counts images.
fn view(node: &Node) -> (Subscription, Arc<AtomicUsize>) {
    let counter = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&counter);
    let callback = move |_: ImageView<'_>| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    (node.create_view_subscription::<Image, _>("images", 100, callback).unwrap(), counter)
}

/// Numbers of messages that two subscriptions of a process lose when there is little memory.
fn lost_by_first_and_further_subscription() -> (u64, u64) {
    let pair = Pair::with(Link::Ros1, true);
    let (talker, listener) = pair.nodes();
    let latched = QoS::keep_last(100).transient_local();
    let publisher = talker.create_publisher::<Image>("images", latched).unwrap();
    let ((first, received), (second, _)) = (view(&listener), view(&listener));
    pair.spin_until("shared memory", || publisher.shared_memory_count() == 1);
    publisher.preallocate(4, BYTES + 1000).unwrap();
    let long = image(BYTES);
    thread::scope(|scope| {
        scope.spawn(|| publisher.publish(&long).unwrap());
        wait_until("it is received", || {
            with_memory(TOO_LITTLE, || pair.far.spin_once(Duration::from_millis(10))).unwrap();
            received.load(Ordering::SeqCst) == 1
        });
    });
    (first.lost(), second.lost())
}

#[test]
fn copies_for_further_subscriptions_beyond_memory_are_lost() {
    // If the background thread is faster, it has enough memory, and the next copies are made.
    let lost = (0..100).map(|_| lost_by_first_and_further_subscription()).find(|lost| *lost != (0, 0));
    assert_eq!(lost, Some((0, 1)));
}

#[test]
fn queued_messages_stay_in_slots_without_memory() {
    let scene = Scene::new();
    let mut reader = Reader::new(&scene);
    fill_ring_with_long_message(&scene, &mut reader);
    // More than the lending quota, the ring, and the slots that may wait.
    for _ in 0..30 {
        let message = numbered(scene.published.get(), BYTES);
        with_memory(TOO_LITTLE, || scene.publisher.publish(&message)).unwrap();
        scene.published.set(scene.published.get() + 1);
        reader.ipc_connection.map_segments();
    }
    scene.assert_undisturbed();
    assert_eq!(scene.publisher.dropped(), 0);
}

/// Puts a long message into the ring of a reader, which does not report it as read.
fn fill_ring_with_long_message(scene: &Scene, reader: &mut Reader) {
    wait_until("a long message that is lent", || {
        scene.talk(1, BYTES);
        reader.ipc_connection.map_segments();
        let mut records = std::iter::from_fn(|| reader.ipc_connection.peek());
        records.any(|record| record.kind == SAMPLE_SLOT && record.word(2) as u32 as usize > BYTES)
    });
}

/// Ends an IPC connection with a long unread message in its ring. Returns whether the link has ended.
fn link_ends_without_memory(scene: &Scene) -> bool {
    let mut reader = Reader::new(scene);
    fill_ring_with_long_message(scene, &mut reader);
    reader.stream.set_nonblocking(true).unwrap();
    scene.talking.spin_once(Duration::ZERO).unwrap();
    reader.ipc_connection.packets.shutdown().unwrap();
    reader.ipc_connection.set(END, 1);
    let mut seen = None;
    wait_until("the link's end, or what it carries on with", || {
        with_memory(TOO_LITTLE, || scene.talking.spin_once(Duration::ZERO)).unwrap();
        seen = reader.stream.peek(&mut [0]).ok();
        seen.is_some()
    });
    seen == Some(0)
}

#[test]
fn fallback_beyond_memory_ends_the_link() {
    let scene = Scene::new();
    // If the background thread is faster, it has enough memory.
    assert!((0..10).any(|_| link_ends_without_memory(&scene)));
    scene.talk(1, 100);
    scene.assert_undisturbed();
}

#[test]
fn request_and_response_beyond_memory_are_errors() {
    let graph = Graph::new();
    let [near, far] = [(); 2].map(|()| Context::with_options(graph.options().ipc(false)).unwrap());
    let provider = near.create_node("provider").unwrap();
    // Memory left for the responding thread after it has created the response.
    let left = Arc::new(AtomicUsize::new(ENOUGH));
    let memory = Arc::clone(&left);
    let answer = move |_: &SetCameraInfoRequest| {
        limit(ENOUGH);
        let status_message = "x".repeat(BYTES);
        limit(memory.load(Ordering::SeqCst));
        Ok::<_, String>(SetCameraInfoResponse { success: true, status_message })
    };
    let _server = provider.create_service::<SetCameraInfo, _>("camera", answer).unwrap();
    let spinning = near.clone();
    let serving = thread::spawn(move || spinning.spin().unwrap());
    let caller = far.create_node("caller").unwrap();
    let (short, mut long) = (SetCameraInfoRequest::default(), SetCameraInfoRequest::default());
    long.camera_info.d = vec![0.5; BYTES / size_of::<f64>()];
    for client in [caller.create_client::<SetCameraInfo>("camera"), caller.create_persistent_client("camera")]
    {
        let client = client.unwrap();
        left.store(TOO_LITTLE, Ordering::SeqCst);
        let error = client.call(&short).unwrap_err();
        let Error::Service { why: ServiceError::Failed(why), .. } = &error else { panic!("{error}") };
        assert_eq!(*why, format!("no memory for a response of {} bytes", 1 + 4 + BYTES));
        left.store(ENOUGH, Ordering::SeqCst);
        assert_eq!(client.call(&short).unwrap().status_message.len(), BYTES);
        let error = with_memory(TOO_LITTLE, || client.call(&long)).unwrap_err();
        let Error::Service { service, why: ServiceError::NoMemory(NoMemory { bytes }) } = &error else {
            panic!("{error}");
        };
        assert_eq!((service.as_str(), *bytes), ("/camera", long.wire_len()));
        assert!(client.call(&long).unwrap().success);
    }
    near.shutdown();
    serving.join().unwrap();
}
