//! Roles of the soak's child processes: talker and reader.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::end_ipc_connections::end_ipc_connections;
use crate::numbers::{number_in, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Node, QoS, Subscription};

use super::account::Account;
use super::control::Child;
use super::{BEST_EFFORT, RELIABLE, TIMEOUT};

/// The bits of a message's number from this one on identify its publisher.
const STREAM_SHIFT: u32 = 28;

/// Message lengths in turn: mostly short, of one datagram, of several datagrams, and for slots of shared memory.
const SIZES: [usize; 11] = [10, 100, 10, 1000, 10, 5000, 100, 20_000, 10, 1000, 70_000];

/// Pauses between messages of the [`RELIABLE`] and the [`BEST_EFFORT`] publisher. Best-effort messages do not wait for
/// a callback. A resumed reader must have capacity for them: its queue holds 2000 messages of all publishers.
const PACES: [Duration; 2] = [Duration::from_micros(500), Duration::from_millis(4)];

/// A publisher that counts on its own thread.
struct Counting {
    published: Arc<AtomicU32>,
    counts: JoinHandle<()>,
}

impl Counting {
    fn new(node: &Node, stream: u32, qos: QoS, ending: &Arc<AtomicBool>) -> Self {
        let mut publisher = node.create_publisher::<UInt8MultiArray>("data", qos).unwrap();
        publisher.set_max_blocking_time(TIMEOUT);
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

/// Publishes with two publishers of one topic: a [`RELIABLE`] keep-all one and a [`BEST_EFFORT`] one.
pub fn talk(argument: &str) {
    let child = Child::new(argument);
    let node = child.context.create_node("talker").unwrap();
    let ending = Arc::new(AtomicBool::new(false));
    let mut streams: Vec<_> = [(RELIABLE, QoS::keep_all()), (BEST_EFFORT, QoS::keep_last(100).best_effort())]
        .map(|(stream, qos)| Counting::new(&node, stream as u32, qos, &ending))
        .into();
    let counts = streams.iter().map(|stream| Arc::clone(&stream.published)).collect::<Vec<_>>();
    child.serve(|words| match words {
        ["published"] => published(&counts),
        ["ipc_connections"] => end_ipc_connections().to_string(),
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

/// A subscription with its counters of each publisher.
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

    /// Its counters of each stream, and the numbers of dropped messages and of publishers that use shared memory.
    fn print_line(&self) -> String {
        let accounts = *self.accounts.lock().unwrap();
        format!(
            "{}, {}, {}, {}",
            accounts[RELIABLE],
            accounts[BEST_EFFORT],
            self.subscription.dropped(),
            self.subscription.shared_memory_count()
        )
    }

    /// Details for error messages.
    fn describe(&self) -> String {
        let (subscription, accounts) = (&self.subscription, self.accounts.lock().unwrap());
        let (lost, dropped) = (subscription.lost(), subscription.dropped());
        let (publishers, in_memory) = (subscription.publisher_count(), subscription.shared_memory_count());
        format!(
            "{accounts:?}, lost {lost}, dropped {dropped}, {publishers} publishers, {in_memory} in memory"
        )
    }
}

/// Subscribes on request, with one node.
pub fn read(argument: &str) {
    let child = Child::new(argument);
    let context = child.context.clone();
    let node = context.create_node(&format!("reader{}", std::process::id())).unwrap();
    let mut subscriptions = BTreeMap::new();
    child.serve(|words| match words {
        ["add", name, kind] => {
            let qos = match *kind {
                "reliable" => QoS::keep_all(),
                "best_effort" => QoS::keep_last(1000).best_effort(),
                other => panic!("{other}"),
            };
            subscriptions.insert((*name).to_owned(), Receiving::new(&node, qos));
            String::new()
        }
        ["remove", name] => subscriptions.remove(*name).unwrap().print_line(),
        ["state", name] => subscriptions[*name].print_line(),
        ["describe", name] => subscriptions[*name].describe(),
        ["ipc_connections"] => end_ipc_connections().to_string(),
        ["leave"] => {
            context.shutdown();
            String::new()
        }
        other => panic!("{other:?}"),
    });
}
