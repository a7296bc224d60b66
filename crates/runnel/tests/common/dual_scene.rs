//! Publishers that count, and subscriptions that check the numbers, in contexts of one or both graphs.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::common::LONG;
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};

pub use super::domains::new_domain as domain;

/// How far a talker may be ahead of the listener whose pace it keeps.
const MOST_AHEAD: u32 = 50;

/// Its pause after each message until that listener receives.
const SLOW: Duration = Duration::from_millis(10);

pub fn context(master: &str, graphs: Graphs, domain: u16) -> Context {
    let options = ContextOptions::default().signals(false).arguments([format!("__master:={master}")]);
    Context::with_options(options.graphs(graphs).domain_id(domain)).unwrap()
}

/// A subscription and the numbers it has received.
pub struct Listener {
    pub subscription: Subscription,
    pub received: Arc<Mutex<Vec<u32>>>,
    pub node: Node,
}

impl Listener {
    pub fn new(context: &Context, qos: QoS) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let node = context.create_node("listener").unwrap();
        let subscription = node
            .create_subscription("count", qos, move |number: &UInt32| into.lock().unwrap().push(number.data))
            .unwrap();
        Self { subscription, received, node }
    }

    pub fn last(&self) -> Option<u32> {
        self.received.lock().unwrap().last().copied()
    }

    /// Asserts that each number arrived once and in order, from the first received one on.
    #[track_caller]
    pub fn check(&self) {
        let received = self.received.lock().unwrap();
        let breaks = received.windows(2).find(|pair| pair[1] != pair[0] + 1);
        assert_eq!(breaks, None, "of {} messages", received.len());
    }
}

/// Publishes increasing numbers on its own thread until it ends. Returns the last number.
pub struct Talker {
    ending: Arc<AtomicBool>,
    counts: std::thread::JoinHandle<u32>,
}

impl Talker {
    pub fn new(mut publisher: Publisher<UInt32>) -> Self {
        // A keep-all publisher waits for subscriptions that a busy machine delays.
        publisher.set_max_blocking_time(LONG);
        Self::by(move |number| publisher.publish(UInt32 { data: number }).unwrap())
    }

    /// A talker that is never far ahead of a listener: the socket of a best-effort one has room for some hundred datagrams,
    /// and on a busy machine nothing reads it for a while.
    pub fn at_pace_of(listener: &Listener, publisher: Publisher<UInt32>) -> Self {
        let received = Arc::clone(&listener.received);
        let is_due = move |number| match received.lock().unwrap().last() {
            Some(last) => number <= last + MOST_AHEAD,
            None => {
                std::thread::sleep(SLOW);
                true
            }
        };
        Self::when(is_due, move |number| publisher.publish(UInt32 { data: number }).unwrap())
    }

    /// A talker that publishes each number with `publish`.
    pub fn by(publish: impl Fn(u32) + Send + 'static) -> Self {
        Self::when(|_| true, publish)
    }

    fn when(is_due: impl Fn(u32) -> bool + Send + 'static, publish: impl Fn(u32) + Send + 'static) -> Self {
        let ending = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ending);
        let counts = std::thread::spawn(move || {
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) {
                if is_due(number) {
                    publish(number);
                    number += 1;
                }
                // The talker's pace.
                std::thread::sleep(Duration::from_micros(500));
            }
            number - 1
        });
        Self { ending, counts }
    }

    pub fn end(self) -> u32 {
        self.ending.store(true, Ordering::Relaxed);
        self.counts.join().unwrap()
    }
}
