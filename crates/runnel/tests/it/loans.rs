//! Tests of loaned messages, which are written in the publisher's memory and may be kept there.

mod reservations;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until};
use crate::raw;
use crate::raw::{Ports, read_frame};
use runnel::core::Message;
use runnel::core::message::{len_with_tail, write_with_tail};
use runnel::core::schema::{Schema, TypeName};
use runnel::core::wire::{Encoding, encode};
use runnel::msgs::sensor_msgs::msg::{Image, PointCloud2, PointField};
use runnel::msgs::std_msgs::msg::{
    Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout, String as Text, UInt8MultiArray,
};
use runnel::{Borrowed, Context, Error, Publisher, QoS, Subscription};

/// Received messages as bytes, in order.
type Received = Arc<Mutex<Vec<Vec<u8>>>>;

/// A message with an empty last array, the bytes of that array, and those of the whole message.
struct Sample<M> {
    empty: M,
    full: M,
    elements: usize,
}

impl<M: Message> Sample<M> {
    fn new(empty: M, elements: usize, fill: impl FnOnce(&mut M)) -> Self {
        let mut full = empty.clone();
        fill(&mut full);
        assert_eq!(full.tail_len(Encoding::Ros1), elements);
        Self { empty, full, elements }
    }

    /// The bytes of the array's elements.
    fn tail(&self) -> Vec<u8> {
        let mut out = vec![0; len_with_tail(&self.empty, Encoding::Ros1, self.elements).unwrap()];
        let whole = write_with_tail(&self.empty, Encoding::Ros1, self.elements, &mut out).unwrap();
        encode(&self.full)[whole.elements].to_vec()
    }

    /// The bytes of the whole message, with this sequence number if it has a header.
    fn bytes(&self, seq: u32) -> Vec<u8> {
        let mut bytes = encode(&self.full);
        if M::HAS_HEADER {
            bytes[..4].copy_from_slice(&seq.to_le_bytes());
        }
        bytes
    }

    fn loan(&self, publisher: &Publisher<M>) {
        let mut loan = publisher.loan(&self.empty, self.elements).unwrap();
        loan.copy_from_slice(&self.tail());
        loan.publish().unwrap();
    }
}

fn header() -> Header {
    Header { frame_id: "camera".into(), ..Header::default() }
}

fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n * 7 + n / 251) as u8).collect()
}

fn image(count: usize) -> Sample<Image> {
    let empty = Image { header: header(), encoding: "mono8".into(), step: 640, ..Image::default() };
    Sample::new(empty, count, |image| image.data = pattern(count))
}

/// The array is followed by another field.
fn cloud(count: usize) -> Sample<PointCloud2> {
    let fields = vec![PointField { name: "x".into(), ..PointField::default() }];
    let empty = PointCloud2 { header: header(), fields, is_dense: true, ..PointCloud2::default() };
    Sample::new(empty, count, |cloud| cloud.data = pattern(count))
}

fn bytes(count: usize) -> Sample<UInt8MultiArray> {
    let dim = vec![MultiArrayDimension { label: "rows".into(), size: 3, stride: 9 }];
    let empty = UInt8MultiArray { layout: MultiArrayLayout { dim, data_offset: 4 }, ..Default::default() };
    Sample::new(empty, count, |message| message.data = pattern(count))
}

/// The elements are longer than a byte.
fn numbers(count: usize) -> Sample<Float64MultiArray> {
    Sample::new(Float64MultiArray::default(), count, |message| {
        message.data = (0..count).map(|n| n as f64 * 0.1).collect();
    })
}

/// Subscribes with a node of its own. `received` gets the bytes.
fn listen<M: Message>(context: &Context, topic: &str) -> (Received, Subscription) {
    static NODES: AtomicUsize = AtomicUsize::new(0);
    let name = format!("listener{}", NODES.fetch_add(1, Ordering::SeqCst));
    let received = Received::default();
    let into = Arc::clone(&received);
    let node = context.create_node(&name).unwrap();
    let subscription = node.create_borrowing_subscription(topic, 5000, move |message: Borrowed<M>| {
        assert!(message.view().is_ok());
        into.lock().unwrap().push(message.bytes().to_vec());
    });
    (received, subscription.unwrap())
}

/// Path of messages between the two contexts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    Memory,
    Network,
    Process,
}

const LINKS: [Link; 3] = [Link::Memory, Link::Network, Link::Process];

impl Link {
    fn contexts(self, graph: &Graph) -> (Context, Context) {
        match self {
            Self::Memory => (graph.context(), graph.context()),
            Self::Network => (graph.context_on_network(), graph.context_on_network()),
            Self::Process => {
                let one = graph.context();
                (one.clone(), one)
            }
        }
    }

    /// Waits until this path is in use.
    fn wait_for_path<M: Message>(self, far: &Context, publisher: &Publisher<M>, subscription: &Subscription) {
        spin_until(far, "the link", || match self {
            Self::Memory => publisher.shared_memory_count() == 1 && subscription.shared_memory_count() == 1,
            _ => publisher.subscription_count() == 1,
        });
    }
}

/// Asserts that loaned messages arrive like published ones, several times, so that memory is reused.
fn arrives_as_published<M: Message>(graph: &Graph, link: Link, topic: &str, samples: &[Sample<M>]) {
    let (near, far) = link.contexts(graph);
    let publisher = near.create_node("talker").unwrap().create_publisher::<M>(topic, 5000).unwrap();
    let (received, subscription) = listen::<M>(&far, topic);
    link.wait_for_path(&far, &publisher, &subscription);
    let mut expected = Vec::new();
    for _ in 0..5 {
        for sample in samples {
            for loaned in [false, true] {
                expected.push(sample.bytes(expected.len() as u32));
                if loaned {
                    sample.loan(&publisher)
                } else {
                    publisher.publish(&sample.full).unwrap()
                }
                spin_until(&far, "the message received", || received.lock().unwrap().len() == expected.len());
            }
        }
    }
    assert!(*received.lock().unwrap() == expected, "{} over {link:?}", M::TYPE);
    assert_eq!((publisher.published(), publisher.dropped()), (expected.len() as u64, 0));
    assert_eq!((subscription.malformed(), subscription.dropped()), (0, 0));
}

const SIZES: [usize; 6] = [0, 1, 1000, 4096, 50_000, 2 << 20];

#[test]
fn loaned_message_arrives_like_published_one() {
    let graph = Graph::new();
    for link in LINKS {
        arrives_as_published(&graph, link, "images", &SIZES.map(image));
        arrives_as_published(&graph, link, "clouds", &SIZES.map(cloud));
        arrives_as_published(&graph, link, "bytes", &SIZES.map(bytes));
        arrives_as_published(&graph, link, "numbers", &[0, 1, 100, 100_000].map(numbers));
    }
}

#[test]
fn every_subscriber_kind_receives_loaned_message() {
    let graph = Graph::new();
    for link in LINKS {
        let (near, far) = link.contexts(&graph);
        let publisher = near.create_node("talker").unwrap().create_publisher::<Image>("images", 10).unwrap();
        let listener = far.create_node("listener").unwrap();
        let (received, counts) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (into, counted) = (Arc::clone(&received), Arc::clone(&counts));
        let owning = listener
            .create_subscription("images", 10, move |image: &Image| into.lock().unwrap().push(image.clone()));
        let viewing = listener.create_view_subscription::<Image, _>("images", 10, move |view| {
            assert_eq!(view.data, pattern(view.data.len()));
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let (_owning, _viewing) = (owning.unwrap(), viewing.unwrap());
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        let samples = SIZES.map(image);
        samples.iter().for_each(|sample| sample.loan(&publisher));
        let wanted = samples.len();
        spin_until(&far, "all received", || {
            received.lock().unwrap().len() == wanted && counts.load(Ordering::SeqCst) == wanted
        });
        for (seq, (image, mut sample)) in received.lock().unwrap().iter().zip(samples).enumerate() {
            sample.full.header.seq = seq as u32;
            assert_eq!(*image, sample.full, "{link:?}");
        }
    }
}

#[test]
fn loaned_message_may_be_latched() {
    let graph = Graph::new();
    for count in [100, 1 << 20] {
        for link in LINKS {
            let (near, far) = link.contexts(&graph);
            let node = near.create_node("talker").unwrap();
            let publisher = node.create_publisher("images", QoS::keep_last(1).transient_local()).unwrap();
            image(5000).loan(&publisher);
            image(count).loan(&publisher);
            // The second one gets it from the first one's node, if that is in another process.
            let (received, _first) = listen::<Image>(&far, "images");
            spin_until(&far, "what was latched", || received.lock().unwrap().len() == 1);
            assert!(received.lock().unwrap()[0] == image(count).bytes(1), "{count} over {link:?}");
            image(count).loan(&publisher);
            spin_until(&far, "what came later", || received.lock().unwrap().len() == 2);
            let (again, _second) = listen::<Image>(&far, "images");
            spin_until(&far, "what was latched", || again.lock().unwrap().len() == 1);
            assert!(again.lock().unwrap()[0] == image(count).bytes(2), "{count} over {link:?}");
        }
    }
}

#[test]
fn loan_reaches_memory_and_network() {
    let graph = Graph::new();
    let (near, far, remote) = (graph.context(), graph.context(), graph.context_on_network());
    let publisher = near.create_node("talker").unwrap().create_publisher::<Image>("images", 1000).unwrap();
    let (by_memory, memory) = listen::<Image>(&far, "images");
    let (by_network, network) = listen::<Image>(&remote, "images");
    let (within, _process) = listen::<Image>(&near, "images");
    spin_until(&far, "all links", || {
        publisher.subscription_count() == 3 && memory.shared_memory_count() == 1
    });
    for (round, count) in [10, 5000, 1 << 20].into_iter().cycle().take(30).enumerate() {
        let sample = image(count);
        sample.loan(&publisher);
        for (context, received) in [(&far, &by_memory), (&remote, &by_network), (&near, &within)] {
            spin_until(context, "the message received", || received.lock().unwrap().len() == round + 1);
            assert!(received.lock().unwrap()[round] == sample.bytes(round as u32));
        }
    }
    assert_eq!((publisher.shared_memory_count(), network.shared_memory_count()), (1, 0));
}

/// A publisher of bytes, and a subscription that keeps messages by their first byte.
struct KeepingScene {
    publisher: Publisher<UInt8MultiArray>,
    far: Context,
    kept: Arc<Mutex<Vec<Borrowed<UInt8MultiArray>>>>,
    count: Arc<AtomicUsize>,
    subscription: Subscription,
    _near: Context,
}

impl KeepingScene {
    fn over(link: Link, graph: &Graph, keeps: u8) -> Self {
        Self::between(link, link.contexts(graph), keeps)
    }

    fn between(link: Link, (near, far): (Context, Context), keeps: u8) -> Self {
        let publisher = near.create_node("talker").unwrap().create_publisher("bytes", 5000).unwrap();
        let (kept, count) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let (into, counted) = (Arc::clone(&kept), Arc::clone(&count));
        let node = far.create_node("listener").unwrap();
        let subscription = node.create_borrowing_subscription("bytes", 5000, {
            move |message: Borrowed<UInt8MultiArray>| {
                if message.view().unwrap().data.get(0) == Some(keeps) {
                    into.lock().unwrap().push(message);
                }
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        let subscription = subscription.unwrap();
        link.wait_for_path(&far, &publisher, &subscription);
        Self { publisher, far, kept, count, subscription, _near: near }
    }

    /// Loans a message full of `fill`, and waits until it is received.
    fn send(&self, count: usize, fill: u8) {
        self.send_all(1, count, fill);
    }

    /// Loans several messages in a row.
    fn send_all(&self, messages: usize, count: usize, fill: u8) {
        let received = self.count.load(Ordering::SeqCst);
        for _ in 0..messages {
            let mut loan = self.publisher.loan(&UInt8MultiArray::default(), count).unwrap();
            loan.fill(fill);
            loan.publish().unwrap();
        }
        let wanted = received + messages;
        spin_until(&self.far, "all received", || self.count.load(Ordering::SeqCst) == wanted);
    }
}

#[test]
fn kept_message_is_not_overwritten() {
    let graph = Graph::new();
    for link in LINKS {
        for count in [100, 70_000] {
            let keeping = KeepingScene::over(link, &graph, 1);
            // The first messages may arrive before the other end has mapped their memory.
            (0..10).for_each(|_| keeping.send(count, 1));
            (0..1000).for_each(|n| keeping.send(count, 2 + (n % 200) as u8));
            let kept = keeping.kept.lock().unwrap();
            assert_eq!((kept.len(), keeping.subscription.dropped()), (10, 0));
            for message in kept.iter() {
                assert!(message.view().unwrap().data == vec![1; count], "{count} over {link:?}");
                assert_eq!(message.publisher(), "/talker");
            }
        }
    }
}

#[test]
fn kept_message_outlives_both_endpoints() {
    let graph = Graph::new();
    for link in LINKS {
        let keeping = KeepingScene::over(link, &graph, 1);
        (0..10).for_each(|_| keeping.send(70_000, 1));
        let KeepingScene { kept, .. } = keeping;
        let kept = std::mem::take(&mut *kept.lock().unwrap());
        let reader = thread::spawn(move || {
            assert_eq!(kept.len(), 10);
            assert!(kept.iter().all(|message| message.view().unwrap().data == vec![1; 70_000]), "{link:?}");
        });
        reader.join().unwrap();
    }
}

#[test]
fn messages_beyond_quota_are_copied() {
    const MEGABYTE: usize = 1 << 20;
    let graph = Graph::new();
    let keeping = KeepingScene::over(Link::Memory, &graph, 1);
    while keeping.publisher.shm_fallback_count() == 0 {
        keeping.send(MEGABYTE, 1);
        assert!(keeping.kept.lock().unwrap().len() < 200, "the quota is 64 MiB");
    }
    let held = keeping.kept.lock().unwrap().len();
    // Messages sent before the other end has mapped their segment are copied.
    assert!(held >= 63, "{held} MiB were kept before one was copied for this one");
    (0..5).for_each(|_| keeping.send(MEGABYTE, 1));
    // A row of messages uses segments of its own, which are mapped after a few rows.
    let row = || {
        let before = keeping.publisher.shm_fallback_count();
        keeping.send_all(20, MEGABYTE, 2);
        keeping.publisher.shm_fallback_count() - before
    };
    let rows: Vec<u64> = (0..8).map(|_| row()).collect();
    assert!(rows.iter().all(|copied| *copied <= 20) && rows.contains(&20), "{rows:?} of 20 were copied");
    let copied = keeping.publisher.shm_fallback_count();
    let kept = std::mem::take(&mut *keeping.kept.lock().unwrap());
    assert_eq!((kept.len(), keeping.publisher.dropped()), (held + 5, 0));
    assert!(kept.iter().all(|message| message.view().unwrap().data == vec![1; MEGABYTE]));
    drop(kept);
    (0..20).for_each(|_| keeping.send(MEGABYTE, 1));
    assert_eq!(keeping.publisher.shm_fallback_count(), copied, "what was returned is lent again");
    let KeepingScene { publisher, far, subscription, .. } = keeping;
    drop(subscription);
    spin_until(&far, "the end of the link", || publisher.subscription_count() == 0);
    assert_eq!(publisher.shm_fallback_count(), copied, "a departed subscriber is counted");
}

#[test]
fn dropped_loan_releases_its_slot() {
    let graph = Graph::new();
    let keeping = KeepingScene::over(Link::Memory, &graph, 0);
    keeping.send(1 << 20, 1);
    let loan = || keeping.publisher.loan(&UInt8MultiArray::default(), 1 << 20).unwrap();
    let place = loan().as_ptr();
    assert!((0..1000).all(|_| loan().as_ptr() == place));
    let (first, second) = (loan(), loan());
    assert_ne!(first.as_ptr(), second.as_ptr());
    assert_eq!(keeping.publisher.published(), 1);
}

#[test]
fn loans_beyond_shared_memory_use_the_heap() {
    let graph = Graph::new();
    let keeping = KeepingScene::over(Link::Memory, &graph, 0);
    let loan = |_| keeping.publisher.loan(&UInt8MultiArray::default(), 20 << 20).unwrap();
    let loans: Vec<_> = (0..20).map(loan).collect();
    for (round, mut loan) in loans.into_iter().enumerate() {
        loan.fill(1 + round as u8);
        loan.publish().unwrap();
        spin_until(&keeping.far, "the message", || keeping.count.load(Ordering::SeqCst) == round + 1);
    }
    assert_eq!((keeping.publisher.dropped(), keeping.subscription.malformed()), (0, 0));
}

#[test]
fn loans_are_written_by_many_threads() {
    const THREADS: usize = 4;
    const EACH: usize = 300;
    let graph = Graph::new();
    for link in LINKS {
        let (near, far) = link.contexts(&graph);
        let publisher =
            near.create_node("talker").unwrap().create_publisher::<Image>("images", 5000).unwrap();
        let (received, subscription) = listen::<Image>(&far, "images");
        link.wait_for_path(&far, &publisher, &subscription);
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let publisher = &publisher;
                scope.spawn(move || {
                    for n in 0..EACH {
                        let count = if n % 2 == 0 { 100 } else { 6000 };
                        let mut loan = publisher.loan(&Image::default(), count).unwrap();
                        loan.fill((thread * EACH + n) as u8);
                        loan.publish().unwrap();
                    }
                });
            }
            spin_until(&far, "all received", || received.lock().unwrap().len() == THREADS * EACH);
        });
        for (seq, bytes) in received.lock().unwrap().iter().enumerate() {
            let image: Image = runnel::core::wire::decode(bytes).unwrap();
            assert_eq!(image.header.seq, seq as u32, "{link:?}");
            assert!(image.data.windows(2).all(|pair| pair[0] == pair[1]), "{link:?}");
        }
    }
}

#[test]
fn keep_all_subscriber_gets_every_loan() {
    let graph = Graph::new();
    for (count, messages) in [(10, 30_000), (20_000, 3000)] {
        let (near, far) = Link::Memory.contexts(&graph);
        let node = near.create_node("talker").unwrap();
        let mut publisher = node.create_publisher::<UInt8MultiArray>("bytes", QoS::keep_all()).unwrap();
        publisher.set_max_blocking_time(LONG);
        let received = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&received);
        let node = far.create_node("listener").unwrap();
        let subscription = node.create_borrowing_subscription("bytes", 1_000_000, {
            move |message: Borrowed<UInt8MultiArray>| {
                let number = counted.fetch_add(1, Ordering::SeqCst) as u8;
                assert_eq!(message.view().unwrap().data, vec![number; count]);
            }
        });
        let subscription = subscription.unwrap();
        Link::Memory.wait_for_path(&far, &publisher, &subscription);
        let publishing = thread::spawn(move || {
            for n in 0..messages {
                let mut loan = publisher.loan(&UInt8MultiArray::default(), count).unwrap();
                loan.fill(n as u8);
                loan.publish().unwrap();
            }
            publisher
        });
        spin_until(&far, "all received", || received.load(Ordering::SeqCst) == messages);
        // Its end would not have waited long.
        let _publisher = publishing.join().unwrap();
    }
}

#[test]
fn loan_without_subscriber_capacity_is_refused() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("talker").unwrap();
    let mut publisher = node.create_publisher::<UInt8MultiArray>("bytes", QoS::keep_all()).unwrap();
    publisher.set_max_blocking_time(Duration::from_millis(50));
    let ports = Ports::of(&context, "/talker", "/bytes");
    let mut stopped = raw::subscribe(ports.tcpros, "/stopped", "/bytes");
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let loan = |fill| {
        let mut loan = publisher.loan(&UInt8MultiArray::default(), 50_000).unwrap();
        loan.fill(fill);
        loan.publish()
    };
    let refused = (0..=u8::MAX).cycle().take(10_000).find_map(|n| loan(n).err()).unwrap();
    assert!(matches!(&refused, Error::Blocked { subscriber, .. } if subscriber == "/stopped"), "{refused}");
    assert_eq!(publisher.dropped(), 0);
    for n in 0..publisher.published() {
        assert!(read_frame(&mut stopped).unwrap().ends_with(&[n as u8; 50_000]), "message {n}");
    }
    loan(1).unwrap();
}

#[test]
fn unsupported_loans_are_errors() {
    let graph = Graph::new();
    let node = graph.context().create_node("talker").unwrap();
    let error_text = |error: Result<runnel::Loan, Error>| error.unwrap_err().to_string();
    let texts = node.create_publisher::<Text>("texts", 1).unwrap();
    let why = error_text(texts.loan(&Text::default(), 1));
    assert!(why.starts_with("topic /texts: std_msgs/String does not end in an array"), "{why}");
    let images = node.create_publisher::<Image>("images", 1).unwrap();
    let why = error_text(images.loan(&image(3).full, 1));
    assert!(why.contains("sensor_msgs/Image to be filled in place is not empty: it has 3 elements"), "{why}");
    assert!(matches!(images.loan(&Image::default(), 1_000_000_000), Err(Error::TooLong { .. })));
    let why = error_text(images.loan(&Image::default(), usize::MAX));
    assert!(why.contains("cannot have"), "{why}");
    assert_eq!((images.published(), texts.published()), (0, 0));
}

#[test]
fn loan_of_bytes_is_checked() {
    let graph = Graph::new();
    for link in LINKS {
        let (near, far) = link.contexts(&graph);
        let name = TypeName::parse(Image::TYPE).unwrap();
        let schema = Schema::from_full_text(&name, Image::DEFINITION).unwrap();
        let publisher =
            near.create_node("talker").unwrap().create_dynamic_publisher("images", &schema, 10).unwrap();
        let (received, subscription) = listen::<Image>(&far, "images");
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        for (seq, count) in [10, 10_000].into_iter().enumerate() {
            let whole = image(count).bytes(0);
            let mut loan = publisher.loan(whole.len()).unwrap();
            loan.copy_from_slice(&whole);
            loan.publish().unwrap();
            let mut cut = publisher.loan(whole.len() - 1).unwrap();
            cut.copy_from_slice(&whole[..whole.len() - 1]);
            cut.publish().unwrap();
            spin_until(&far, "both messages", || subscription.malformed() == seq as u64 + 1);
            assert!(received.lock().unwrap()[seq] == image(count).bytes(2 * seq as u32), "{link:?}");
        }
        assert_eq!(received.lock().unwrap().len(), 2);
        publisher.loan(0).unwrap().publish().unwrap();
        spin_until(&far, "an empty message", || subscription.malformed() == 3);
    }
}

#[test]
fn borrowed_messages_are_send() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Borrowed<Image>>();
    is_send_and_sync::<runnel::Loan>();
}
