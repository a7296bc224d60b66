//! Nodes that count in contexts of both graphs, or of one, and others that hear them.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::common::LONG;
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, ContextOptions, Graphs, Node, Publisher, QoS, Subscription};

pub use super::domains::new_domain as domain;

pub fn context(master: &str, graphs: Graphs, domain: u16) -> Context {
    let options = ContextOptions::default().signals(false).arguments([format!("__master:={master}")]);
    Context::with_options(options.graphs(graphs).domain_id(domain)).unwrap()
}

/// What a subscription has heard.
pub struct Listener {
    pub subscription: Subscription,
    pub heard: Arc<Mutex<Vec<u32>>>,
    pub node: Node,
}

impl Listener {
    pub fn new(context: &Context, qos: QoS) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let node = context.create_node("listener").unwrap();
        let subscription = node
            .create_subscription("count", qos, move |number: &UInt32| into.lock().unwrap().push(number.data))
            .unwrap();
        Self { subscription, heard, node }
    }

    pub fn last(&self) -> Option<u32> {
        self.heard.lock().unwrap().last().copied()
    }

    /// Each number has come once and in order, from the first that came.
    #[track_caller]
    pub fn check(&self) {
        let heard = self.heard.lock().unwrap();
        let breaks = heard.windows(2).find(|pair| pair[1] != pair[0] + 1);
        assert_eq!(breaks, None, "of {} messages", heard.len());
    }
}

/// Counts up in a thread of its own until it is told to end; gives the last number.
pub struct Talker {
    ending: Arc<AtomicBool>,
    counts: std::thread::JoinHandle<u32>,
}

impl Talker {
    pub fn new(mut publisher: Publisher<UInt32>) -> Self {
        // One that keeps all waits for listeners as long as the machine keeps these from listening.
        publisher.set_max_blocking_time(LONG);
        Self::by(move |number| publisher.publish(UInt32 { data: number }).unwrap())
    }

    /// One that publishes each number by `publish`.
    pub fn by(publish: impl Fn(u32) + Send + 'static) -> Self {
        let ending = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ending);
        let counts = std::thread::spawn(move || {
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) {
                publish(number);
                number += 1;
                // The pace of the talker.
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
