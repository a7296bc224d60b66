//! A talker and a listener of ROS 2 that are as good as two processes of one host to each other.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};

use super::common::LONG;

pub use super::domains::new_domain;
pub use super::numbers::{number_in, numbered};

/// A context of a domain, whose links may leave the network.
pub fn context(domain: u16, ipc: bool) -> Context {
    Context::with_options(options(domain, ipc)).unwrap()
}

/// A context whose end, and that of its publishers, waits for what is under way as long as a busy machine needs for it.
pub fn lingering(domain: u16, ipc: bool) -> Context {
    Context::with_options(options(domain, ipc).linger(LONG)).unwrap()
}

fn options(domain: u16, ipc: bool) -> ContextOptions {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    options.graphs(Graphs::Ros2).domain_id(domain).ipc(ipc)
}

pub type Heard = Arc<Mutex<Vec<u32>>>;

pub fn listen(node: &Node, topic: &str, qos: QoS) -> (Subscription, Heard) {
    let heard = Heard::default();
    let into = Arc::clone(&heard);
    let take = move |message: &UInt8MultiArray| into.lock().unwrap().push(number_in(&message.data));
    (node.create_subscription(topic, qos, take).unwrap(), heard)
}

/// A talker and a listener in contexts of their own, which are as good as processes to each other.
pub struct Pair {
    pub talking: Context,
    pub listening: Context,
    pub publisher: Publisher<UInt8MultiArray>,
    pub subscription: Subscription,
    pub heard: Heard,
    pub nodes: [Node; 2],
}

impl Pair {
    pub fn new(qos: QoS) -> Self {
        Self::with(qos, context)
    }

    /// One whose talker's end waits for what is under way.
    pub fn lingering(qos: QoS) -> Self {
        Self::with(qos, lingering)
    }

    fn with(qos: QoS, talking: fn(u16, bool) -> Context) -> Self {
        let domain = new_domain();
        let (talking, listening) = (talking(domain, true), context(domain, true));
        let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
        let mut publisher = nodes[0].create_publisher("data", qos).unwrap();
        publisher.set_max_blocking_time(LONG);
        let (subscription, heard) = listen(&nodes[1], "data", qos);
        Self { talking, listening, publisher, subscription, heard, nodes }
    }

    pub fn turn(&self) {
        self.talking.spin_once(Duration::from_millis(1)).unwrap();
        self.listening.spin_once(Duration::from_millis(1)).unwrap();
    }

    #[track_caller]
    pub fn turn_until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LONG;
        while !done(self) {
            assert!(Instant::now() < until, "still not: {what}");
            self.turn();
        }
    }

    #[track_caller]
    pub fn go_over(&self) {
        self.turn_until("the pair in shared memory", |pair| {
            pair.publisher.shared_memory_count() == 1 && pair.subscription.shared_memory_count() == 1
        });
    }

    #[track_caller]
    pub fn hears(&self, expected: impl Iterator<Item = u32>) {
        let expected: Vec<u32> = expected.collect();
        self.turn_until("all heard", |pair| pair.heard.lock().unwrap().len() >= expected.len());
        assert_eq!(*self.heard.lock().unwrap(), expected);
        assert_eq!(self.subscription.dropped(), 0);
    }
}

/// Ends a context that another thread spins, whatever becomes of the test.
pub struct Ends<'a>(pub &'a Context);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}
