//! The parts of the soak that processes of their own play: the talker, and readers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::end_sessions::end_sessions;
use crate::numbers::{number_in, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Node, QoS, Subscription};

use super::account::Account;
use super::control::Part;
use super::{BEST_EFFORT, PATIENCE, RELIABLE};

/// Which publisher a message is of is said by the bits of its number from this one on.
const STREAM_SHIFT: u32 = 28;

/// Bytes of messages, in turn: mostly short ones, those of one datagram, of several, and those that go in slots of memory.
const SIZES: [usize; 11] = [10, 100, 10, 1000, 10, 5000, 100, 20_000, 10, 1000, 70_000];

/// Between two messages of a publisher: [`RELIABLE`], [`BEST_EFFORT`]. What comes by best effort does not wait for a callback. A
/// reader that stood still is to have room for it, since 2000 messages of all publishers wait at most.
const PACES: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(4)];

/// A publisher that counts in a thread of its own.
struct Counting {
    published: Arc<AtomicU32>,
    counts: JoinHandle<()>,
}

impl Counting {
    fn new(node: &Node, stream: u32, qos: QoS, ending: &Arc<AtomicBool>) -> Self {
        let mut publisher = node.create_publisher::<UInt8MultiArray>("data", qos).unwrap();
        publisher.set_max_blocking_time(PATIENCE);
        let (published, ending) = (Arc::new(AtomicU32::new(0)), Arc::clone(ending));
        let count = Arc::clone(&published);
        let counts = std::thread::spawn(move || {
            while !ending.load(Ordering::SeqCst) {
                let number = count.load(Ordering::SeqCst);
                let size = SIZES[number as usize % SIZES.len()];
                publisher.publish(numbered(stream << STREAM_SHIFT | number, size)).unwrap();
                count.store(number + 1, Ordering::SeqCst);
                std::thread::sleep(PACES[stream as usize]);
            }
        });
        Self { published, counts }
    }
}

/// Publishes by two publishers of one topic: [`RELIABLE`] one that keeps all, [`BEST_EFFORT`] one that does not.
pub fn talk(argument: &str) {
    let part = Part::new(argument);
    let node = part.context.create_node("talker").unwrap();
    let ending = Arc::new(AtomicBool::new(false));
    let mut streams: Vec<_> = [(RELIABLE, QoS::keep_all()), (BEST_EFFORT, QoS::keep_last(100).best_effort())]
        .map(|(stream, qos)| Counting::new(&node, stream as u32, qos, &ending))
        .into();
    let counts = streams.iter().map(|stream| Arc::clone(&stream.published)).collect::<Vec<_>>();
    part.serve(|words| match words {
        ["published"] => published(&counts),
        ["sessions"] => end_sessions().to_string(),
        ["end"] => {
            ending.store(true, Ordering::SeqCst);
            streams.drain(..).for_each(|stream| stream.counts.join().unwrap());
            published(&counts)
        }
        other => panic!("{other:?}"),
    });
}

fn published(counts: &[Arc<AtomicU32>]) -> String {
    counts.iter().map(|count| count.load(Ordering::SeqCst).to_string()).collect::<Vec<_>>().join(" ")
}

/// A subscription with what it has received of each publisher.
struct Receiving {
    subscription: Subscription,
    accounts: Arc<Mutex<[Account; 2]>>,
}

impl Receiving {
    fn new(node: &Node, qos: QoS) -> Self {
        let accounts: Arc<Mutex<[Account; 2]>> = Arc::default();
        let into = Arc::clone(&accounts);
        let take = move |message: &UInt8MultiArray| {
            let number = number_in(&message.data);
            let account = &mut into.lock().unwrap()[(number >> STREAM_SHIFT) as usize];
            account.receive(number & ((1 << STREAM_SHIFT) - 1));
        };
        Self { subscription: node.create_subscription("data", qos, take).unwrap(), accounts }
    }

    /// What it has received of each stream, and how many of its publishers' messages come by shared memory.
    fn say(&self) -> String {
        let accounts = *self.accounts.lock().unwrap();
        format!(
            "{}, {}, {}",
            accounts[RELIABLE],
            accounts[BEST_EFFORT],
            self.subscription.shared_memory_count()
        )
    }

    /// For whoever looks for a fault.
    fn describe(&self) -> String {
        let (subscription, accounts) = (&self.subscription, self.accounts.lock().unwrap());
        let (lost, dropped) = (subscription.lost(), subscription.dropped());
        let (publishers, in_memory) = (subscription.publisher_count(), subscription.shared_memory_count());
        format!(
            "{accounts:?}, lost {lost}, dropped {dropped}, {publishers} publishers, {in_memory} in memory"
        )
    }
}

/// Subscribes as it is asked, by one node.
pub fn read(argument: &str) {
    let part = Part::new(argument);
    let context = part.context.clone();
    let node = context.create_node(&format!("reader{}", std::process::id())).unwrap();
    let mut subscriptions = BTreeMap::new();
    part.serve(|words| match words {
        ["add", name, kind] => {
            let qos = match *kind {
                "reliable" => QoS::keep_all(),
                "best_effort" => QoS::keep_last(1000).best_effort(),
                other => panic!("{other}"),
            };
            subscriptions.insert((*name).to_owned(), Receiving::new(&node, qos));
            String::new()
        }
        ["remove", name] => subscriptions.remove(*name).unwrap().say(),
        ["state", name] => subscriptions[*name].say(),
        ["describe", name] => subscriptions[*name].describe(),
        ["sessions"] => end_sessions().to_string(),
        ["leave"] => {
            context.shutdown();
            String::new()
        }
        other => panic!("{other:?}"),
    });
}
