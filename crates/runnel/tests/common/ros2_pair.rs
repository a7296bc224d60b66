//! A ROS 2 talker and listener in contexts of their own, which act as two processes of one host.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};

use super::common::LONG;

pub use super::domains::new_domain;
pub use super::numbers::{number_in, numbered};

/// A context in a domain, with or without shared memory.
pub fn context(domain: u16, ipc: bool) -> Context {
    Context::with_options(options(domain, ipc)).unwrap()
}

/// A context that lingers for messages in transit as long as a busy machine needs.
pub fn lingering(domain: u16, ipc: bool) -> Context {
    Context::with_options(options(domain, ipc).linger(LONG)).unwrap()
}

fn options(domain: u16, ipc: bool) -> ContextOptions {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    options.graphs(Graphs::Ros2).domain_id(domain).ipc(ipc)
}

pub type Received = Arc<Mutex<Vec<u32>>>;

pub fn listen(node: &Node, topic: &str, qos: QoS) -> (Subscription, Received) {
    let received = Received::default();
    let into = Arc::clone(&received);
    let take = move |message: &UInt8MultiArray| into.lock().unwrap().push(number_in(&message.data));
    (node.create_subscription(topic, qos, take).unwrap(), received)
}

/// A talker and a listener in contexts of their own, which act as two processes.
pub struct Pair {
    pub talking: Context,
    pub listening: Context,
    pub publisher: Publisher<UInt8MultiArray>,
    pub subscription: Subscription,
    pub received: Received,
    pub nodes: [Node; 2],
}

impl Pair {
    pub fn new(qos: QoS) -> Self {
        Self::with(qos, context)
    }

    /// A pair whose talker lingers.
    pub fn lingering(qos: QoS) -> Self {
        Self::with(qos, lingering)
    }

    fn with(qos: QoS, talking: fn(u16, bool) -> Context) -> Self {
        let domain = new_domain();
        let (talking, listening) = (talking(domain, true), context(domain, true));
        let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
        let mut publisher = nodes[0].create_publisher("data", qos).unwrap();
        publisher.set_max_blocking_time(LONG);
        let (subscription, received) = listen(&nodes[1], "data", qos);
        Self { talking, listening, publisher, subscription, received, nodes }
    }

    pub fn turn(&self) {
        self.talking.spin_once(Duration::from_millis(1)).unwrap();
        self.listening.spin_once(Duration::from_millis(1)).unwrap();
    }

    #[track_caller]
    pub fn poll_until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LONG;
        while !done(self) {
            assert!(Instant::now() < until, "timed out: {what}");
            self.turn();
        }
    }

    #[track_caller]
    pub fn switch_to_memory(&self) {
        self.poll_until("the pair in shared memory", |pair| {
            pair.publisher.shared_memory_count() == 1 && pair.subscription.shared_memory_count() == 1
        });
    }

    #[track_caller]
    pub fn receives(&self, expected: impl Iterator<Item = u32>) {
        let expected: Vec<u32> = expected.collect();
        self.poll_until("all received", |pair| pair.received.lock().unwrap().len() >= expected.len());
        assert_eq!(*self.received.lock().unwrap(), expected);
        assert_eq!(self.subscription.dropped(), 0);
    }
}

/// Shuts a context down when dropped, even if the test panics.
pub struct EndOnDrop<'a>(pub &'a Context);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}
