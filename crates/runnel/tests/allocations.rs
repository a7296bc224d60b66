//! Test that publishing, and receiving with a callback, allocate nothing per message once buffers have grown.
//!
//! Two contexts of one process are connected by TCP, UDP or shared memory in either graph, like two processes. Two
//! nodes of one context pass messages by reference. The counter is that of the whole process, including the driver, the
//! background threads and the master. The master polls its nodes, and participants announce themselves every three
//! seconds, which allocates. So the test looks for a long row of messages without an allocation. On a busy machine a
//! time without an allocation counts as much.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use runnel::core::Message;
use runnel::core::time::Instant;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray, UInt8MultiArrayView};
use runnel::{
    Borrowed, Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, QoS, Subscription,
    SubscriptionOptions,
};
use runnel_io::clock;
use runnel_testkit::counting_allocator::{CountingAllocator, allocations_of_process};
use runnel_testkit::namespace::require_private_network;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Messages until buffers have reached their sizes.
const WARM_UP: u64 = 300;

/// Number of consecutive messages without an allocation. Any recurring cost breaks such a row.
const ROW: u64 = 1000;

/// Time without an allocation that counts as much, in a row of at least [`FEWEST`] messages: discovery traffic is more
/// frequent than long rows on a busy machine.
const QUIET: Duration = Duration::from_secs(1);

/// A cost that recurs more often than this breaks every row, even on the busiest machine.
const FEWEST: u64 = 100;

/// Number of messages among which there must be such a row, whatever discovery does meanwhile.
const MESSAGES: u64 = 20_000;

/// Longer than any step takes: only a failing test waits so long.
const LONG: Duration = Duration::from_secs(30);

/// Path between the two nodes.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    Network,
    Memory,
    /// Both are in one context.
    Process,
    /// ROS 2, over the network.
    Ros2Network,
    Ros2Memory,
    Ros2Process,
}

impl Link {
    fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::Ros2Memory)
    }

    fn is_within_process(self) -> bool {
        matches!(self, Self::Process | Self::Ros2Process)
    }

    fn is_ros2(self) -> bool {
        matches!(self, Self::Ros2Network | Self::Ros2Memory | Self::Ros2Process)
    }
}

/// A context in the ROS 2 graph.
fn ros2_context(domain: u16, link: Link) -> Context {
    let options = ContextOptions::default().arguments(Vec::<String>::new()).signals(false);
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain).ipc(link.is_memory())).unwrap()
}

fn context(master: &str, link: Link) -> Context {
    let arguments = vec![format!("__master:={master}")];
    let options = ContextOptions::default().arguments(arguments).signals(false);
    Context::with_options(options.ipc(link.is_memory())).unwrap()
}

/// A master if the path needs one, a publishing node, and a subscribing node whose context spins on its own thread.
struct Graph {
    _master: Option<Context>,
    talker: Node,
    listener: Node,
    link: Link,
}

impl Graph {
    fn new(link: Link) -> Self {
        if link.is_ros2() {
            static DOMAIN: AtomicU16 = AtomicU16::new(20);
            let domain = DOMAIN.fetch_add(1, Ordering::Relaxed);
            return Self::between(None, link, || ros2_context(domain, link));
        }
        let master = context("http://127.0.0.1:1/", Link::Network);
        let uri = master.start_master(MasterOptions::at((Ipv4Addr::LOCALHOST, 0))).unwrap().to_string();
        Self::between(Some(master), link, || context(&uri, link))
    }

    fn between(master: Option<Context>, link: Link, context: impl Fn() -> Context) -> Self {
        let near = context();
        let far = if link.is_within_process() { near.clone() } else { context() };
        let (talker, listener) = (near.create_node("talker").unwrap(), far.create_node("listener").unwrap());
        Self { talker, listener, _master: master, link }
    }

    /// Publishes messages one at a time, each after `received` has counted the one before, until a row of them
    /// allocated nothing.
    fn longest_row<M: Message>(
        &self,
        publisher: &Publisher<M>,
        received: &AtomicU64,
        publish_one: impl Fn(&Publisher<M>),
    ) -> Outcome {
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        wait_until("no link of the kind", || {
            publisher.shared_memory_count() == usize::from(self.link.is_memory())
        });
        let publish = || {
            let arrived = received.load(Ordering::SeqCst);
            publish_one(publisher);
            wait_for(received, arrived + 1);
        };
        (0..WARM_UP).for_each(|_| publish());
        let (first, mut row, mut longest) = (allocations_of_process(), Row::begin(), 0);
        for _ in 0..MESSAGES {
            publish();
            if row.is_broken() {
                row = Row::begin();
                continue;
            }
            row.messages += 1;
            longest = longest.max(row.messages);
            if row.is_long() {
                return Outcome::Row;
            }
        }
        Outcome::None { longest, allocations: allocations_of_process() - first }
    }

    /// Runs `work` while the listener's context spins.
    fn spinning<T>(&self, work: impl FnOnce() -> T) -> T {
        let context = self.listener.context();
        thread::scope(|scope| {
            let spinning = scope.spawn(|| context.spin());
            let done = work();
            context.shutdown();
            spinning.join().unwrap().unwrap();
            done
        })
    }
}

/// A row of messages without an allocation.
struct Row {
    messages: u64,
    allocations: u64,
    since: Instant,
}

impl Row {
    fn begin() -> Self {
        Self { messages: 0, allocations: allocations_of_process(), since: clock::monotonic() }
    }

    fn is_broken(&self) -> bool {
        allocations_of_process() != self.allocations
    }

    fn is_long(&self) -> bool {
        self.messages >= ROW || self.messages >= FEWEST && clock::monotonic().since(self.since) >= QUIET
    }
}

/// Whether there was such a row.
enum Outcome {
    Row,
    None { longest: u64, allocations: u64 },
}

fn wait_for(counter: &AtomicU64, count: u64) {
    wait_until("a message did not arrive", || counter.load(Ordering::SeqCst) >= count);
}

fn wait_until(otherwise: &str, done: impl Fn() -> bool) {
    let deadline = clock::monotonic() + LONG;
    while !done() {
        assert!(clock::monotonic() < deadline, "{otherwise}");
        thread::yield_now();
    }
}

/// As [`Graph::longest_row`], with a subscription from `subscribe`.
fn longest_row<M: Message>(
    link: Link,
    publish: impl Fn(&Publisher<M>),
    subscribe: impl FnOnce(&Node, Arc<AtomicU64>) -> Subscription,
) -> Outcome {
    let graph = Graph::new(link);
    let publisher = graph.talker.create_publisher::<M>("topic", 10).unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let _subscription = subscribe(&graph.listener, Arc::clone(&received));
    graph.spinning(|| graph.longest_row(&publisher, &received, publish))
}

/// To an ordinary subscription, with a reused message.
fn owned<M: Message>(link: Link, message: &M) -> Outcome {
    owned_with(link, message, QoS::keep_last(10))
}

/// The same by datagrams.
fn over_udp<M: Message>(message: &M) -> Outcome {
    owned_with(Link::Network, message, SubscriptionOptions::from(10).udpros())
}

fn owned_with<M: Message>(link: Link, message: &M, options: impl Into<SubscriptionOptions>) -> Outcome {
    let expected = message.clone();
    longest_row(link, publishing(message), |node, received| {
        let callback = move |message: &M| {
            assert!(*message == expected);
            received.fetch_add(1, Ordering::SeqCst);
        };
        node.create_subscription("topic", options, callback).unwrap()
    })
}

/// By reference, to a subscription of the same process.
fn referred<M: Message>(link: Link, message: M) -> Outcome {
    let message = Arc::new(message);
    let publish = |publisher: &Publisher<M>| publisher.publish(Arc::clone(&message)).unwrap();
    longest_row(link, publish, |node, received| {
        let expected = Arc::as_ptr(&message) as usize;
        let callback = move |message: &M| {
            assert_eq!(std::ptr::from_ref(message) as usize, expected, "it is the publisher's own");
            received.fetch_add(1, Ordering::SeqCst);
        };
        node.create_subscription("topic", 10, callback).unwrap()
    })
}

/// To a borrowing subscription.
fn viewed(link: Link, message: &UInt8MultiArray) -> Outcome {
    let length = message.data.len();
    longest_row(link, publishing(message), |node, received| {
        let callback = move |view: UInt8MultiArrayView<'_>| {
            assert_eq!(view.data.len(), length);
            received.fetch_add(1, Ordering::SeqCst);
        };
        node.create_view_subscription::<UInt8MultiArray, _>("topic", 10, callback).unwrap()
    })
}

/// Loaned messages of this length, to a subscription that keeps each one until the next has arrived.
fn loaned(link: Link, length: usize) -> Outcome {
    let loan = |publisher: &Publisher<UInt8MultiArray>| {
        let mut loan = publisher.loan(&UInt8MultiArray::default(), length).unwrap();
        loan.fill(7);
        loan.publish().unwrap();
    };
    longest_row(link, loan, |node, received| {
        let mut kept = None;
        let callback = move |message: Borrowed<UInt8MultiArray>| {
            assert_eq!(message.view().unwrap().data.len(), length);
            kept.replace(message);
            received.fetch_add(1, Ordering::SeqCst);
        };
        node.create_borrowing_subscription("topic", 10, callback).unwrap()
    })
}

/// The same, alternating with a short message on another topic. Each message is dropped in its callback.
fn loaned_beside_text(link: Link, length: usize) -> Outcome {
    let graph = Graph::new(link);
    let [received, texts] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let (counted, counted_texts) = (Arc::clone(&received), Arc::clone(&texts));
    let bytes = graph.talker.create_publisher::<UInt8MultiArray>("topic", 10).unwrap();
    let text = graph.talker.create_publisher::<Text>("text", 10).unwrap();
    let count = move |_: Borrowed<UInt8MultiArray>| {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let count_text = move |_: &Text| {
        counted_texts.fetch_add(1, Ordering::SeqCst);
    };
    let _bytes = graph.listener.create_borrowing_subscription("topic", 10, count).unwrap();
    let _text = graph.listener.create_subscription("text", 10, count_text).unwrap();
    let message = Text { data: "hello".into() };
    graph.spinning(|| {
        assert!(text.wait_for_subscribers(1, LONG).unwrap());
        wait_until("no link of the kind", || text.shared_memory_count() == usize::from(link.is_memory()));
        graph.longest_row(&bytes, &received, |bytes| {
            let arrived = texts.load(Ordering::SeqCst);
            text.publish(&message).unwrap();
            wait_for(&texts, arrived + 1);
            let mut loan = bytes.loan(&UInt8MultiArray::default(), length).unwrap();
            loan.fill(7);
            loan.publish().unwrap();
        })
    })
}

fn publishing<M: Message>(message: &M) -> impl Fn(&Publisher<M>) {
    move |publisher| publisher.publish(message).unwrap()
}

fn bytes(length: usize) -> UInt8MultiArray {
    UInt8MultiArray { data: vec![7; length], ..UInt8MultiArray::default() }
}

/// One test for all paths, since the counter is that of the process.
#[test]
fn messages_do_not_allocate_in_steady_state() {
    require_private_network();
    let rows = [
        ("text", owned(Link::Network, &Text { data: "hello".into() })),
        ("10 B", owned(Link::Network, &bytes(10))),
        ("60 kB", owned(Link::Network, &bytes(60_000))),
        ("1 MB", owned(Link::Network, &bytes(1_000_000))),
        ("10 B viewed", viewed(Link::Network, &bytes(10))),
        ("1 MB viewed", viewed(Link::Network, &bytes(1_000_000))),
        ("10 B loaned", loaned(Link::Network, 10)),
        ("1 MB loaned", loaned(Link::Network, 1_000_000)),
        ("text by shared memory", owned(Link::Memory, &Text { data: "hello".into() })),
        ("1 MB by shared memory", owned(Link::Memory, &bytes(1_000_000))),
        ("1 MB viewed in shared memory", viewed(Link::Memory, &bytes(1_000_000))),
        ("10 B loaned by shared memory", loaned(Link::Memory, 10)),
        ("1 MB loaned by shared memory", loaned(Link::Memory, 1_000_000)),
        ("1 MB loaned beside a text", loaned_beside_text(Link::Network, 1_000_000)),
        ("1 MB loaned beside a text by shared memory", loaned_beside_text(Link::Memory, 1_000_000)),
        ("10 B viewed by shared memory", viewed(Link::Memory, &bytes(10))),
        ("10 B over UDPROS", over_udp(&bytes(10))),
        ("60 kB over UDPROS", over_udp(&bytes(60_000))),
        ("text by reference", referred(Link::Process, Text { data: "hello".into() })),
        ("1 MB by reference", referred(Link::Process, bytes(1_000_000))),
        ("text by RTPS", owned(Link::Ros2Network, &Text { data: "hello".into() })),
        ("10 B by RTPS", owned(Link::Ros2Network, &bytes(10))),
        ("1400 B by RTPS", owned(Link::Ros2Network, &bytes(1400))),
        ("10 B by ROS 2 in shared memory", owned(Link::Ros2Memory, &bytes(10))),
        ("1 MB by ROS 2 in shared memory", owned(Link::Ros2Memory, &bytes(1_000_000))),
        ("1 MB viewed by ROS 2 in shared memory", viewed(Link::Ros2Memory, &bytes(1_000_000))),
        ("1 MB loaned by ROS 2 in shared memory", loaned(Link::Ros2Memory, 1_000_000)),
        ("text by ROS 2 by reference", referred(Link::Ros2Process, Text { data: "hello".into() })),
        ("1 MB by ROS 2 by reference", referred(Link::Ros2Process, bytes(1_000_000))),
    ];
    for (what, outcome) in rows {
        if let Outcome::None { longest, allocations } = outcome {
            panic!("{what}: {longest} messages at most in a row without any of {allocations} allocations");
        }
    }
}
