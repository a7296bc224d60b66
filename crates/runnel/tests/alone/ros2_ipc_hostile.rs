//! Tests of processes of this host that write invalid data for a ROS 2 pair: the IPC connection ends with a logged
//! reason, the pair falls back to the network, and others lose nothing.
//!
//! The test modifies the memory of a real process, since only that knows the tokens of its pairs.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use crate::common::{LONG, wait_until};
use crate::fake_process::{
    ASK_SAMPLES, BYTES, OPEN_SAMPLES, OUTBOX_BYTES, REACHED, RECORDS, RING, SAMPLE, SAMPLE_BEGIN,
    SAMPLE_SLOT, SKIP, words,
};
use crate::logged::{count_logged, keep_log};
use crate::process::alone;
use crate::ros2_pair::{Received, context, listen, new_domain, numbered};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Publisher, QoS, Subscription};

const NAMED: &str = "IPC connection with another process of this host ended:";

/// Outbox of a process, in memory that both processes have mapped.
struct Outbox {
    words: &'static [AtomicU64],
    /// Position of the next record.
    written: usize,
    records: Vec<Record>,
}

/// Addresses of mapped outboxes.
fn mapped() -> Vec<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps.lines().filter(|line| line.contains("memfd:runnel-session") && line.contains(" rw-s "));
    own.map(|line| usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()).collect()
}

struct Record {
    kind: u8,
    channel: u32,
    payload: Vec<u64>,
}

impl Outbox {
    /// All outboxes of this program, which have not wrapped around yet.
    fn all() -> Vec<Self> {
        mapped().into_iter().map(Self::at).collect()
    }

    fn at(address: usize) -> Self {
        // SAFETY: the mapping has this length and lasts as long as its IPC connection, which ends only after the test.
        // All users access it atomically.
        let words = unsafe { std::slice::from_raw_parts(address as *const AtomicU64, OUTBOX_BYTES / 8) };
        let mut outbox = Self { words, written: 0, records: Vec::new() };
        while outbox.written < RING - 1 {
            let header = outbox.word(0).load(Acquire);
            if header == 0 {
                break;
            }
            let count = (header as u32 as usize).div_ceil(8);
            let payload = (1..=count).map(|ahead| outbox.word(ahead).load(Relaxed)).collect();
            let channel = (header >> 32) as u32 & 0xff_ffff;
            outbox.records.push(Record { kind: (header >> 56) as u8, channel, payload });
            outbox.written += 1 + count;
        }
        outbox
    }

    fn word(&self, ahead: usize) -> &'static AtomicU64 {
        &self.words[RECORDS + (self.written + ahead) % RING]
    }

    fn last_of(&self, kind: u8) -> Option<&Record> {
        self.records.iter().rfind(|record| record.kind == kind)
    }

    /// Appends a record, whether valid or not.
    fn push(&mut self, kind: u8, channel: u32, payload: &[u8]) {
        let count = payload.len().div_ceil(8);
        self.word(1 + count).store(0, Relaxed);
        for (chunk, ahead) in payload.chunks(8).zip(1..) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.word(ahead).store(u64::from_le_bytes(bytes), Relaxed);
        }
        let header = u64::from(kind) << 56 | u64::from(channel) << 32 | payload.len() as u64;
        self.word(0).store(header, Release);
        self.written += 1 + count;
    }
}

/// A talker and two listeners, with an IPC connection each.
struct Scene {
    talking: Context,
    publisher: Publisher<UInt8MultiArray>,
    listeners: [(Context, Subscription, Received); 2],
    published: u32,
}

impl Scene {
    fn new() -> Self {
        keep_log();
        // A thread of an earlier context may keep its mapping for a moment.
        wait_until("no memory of scenes before", || mapped().is_empty());
        let domain = new_domain();
        let talking = context(domain, true);
        let publisher = talking.create_node("talker").unwrap().create_publisher("data", 1000).unwrap();
        let listeners = ["one", "other"].map(|name| {
            let context = context(domain, true);
            let node = context.create_node(name).unwrap();
            let (subscription, received) = listen(&node, "data", QoS::keep_last(1000));
            (context, subscription, received)
        });
        let mut scene = Self { talking, publisher, listeners, published: 0 };
        scene.poll_until("both in shared memory", |scene| {
            scene.publisher.shared_memory_count() == 2 && scene.by_memory() == 2
        });
        scene.talk();
        scene
    }

    /// Number of listeners that receive by shared memory.
    fn by_memory(&self) -> usize {
        self.listeners.iter().map(|(_, subscription, _)| subscription.shared_memory_count()).sum()
    }

    #[track_caller]
    fn poll_until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LONG;
        while !done(self) {
            assert!(Instant::now() < until, "timed out: {what}");
            self.talking.spin_once(Duration::from_millis(1)).unwrap();
            self.listeners.iter().for_each(|(context, ..)| {
                context.spin_once(Duration::from_millis(1)).unwrap();
            });
        }
    }

    /// Publishes messages and asserts that both listeners receive all once and in order.
    #[track_caller]
    fn talk(&mut self) {
        for _ in 0..10 {
            self.publisher.publish(numbered(self.published, 10)).unwrap();
            self.published += 1;
        }
        let all = self.published as usize;
        self.poll_until("all received", |scene| {
            scene.listeners.iter().all(|(.., received)| received.lock().unwrap().len() >= all)
        });
        for (_, subscription, received) in &self.listeners {
            assert!(received.lock().unwrap().iter().copied().eq(0..self.published));
            assert_eq!((subscription.lost(), subscription.dropped(), subscription.malformed()), (0, 0, 0));
        }
    }
}

/// The talker's outbox for one listener, the channel of their pair, and the next number.
fn talkers() -> (Outbox, u32, u64) {
    let mut outboxes = Outbox::all().into_iter();
    let outbox = outboxes.find(|outbox| outbox.last_of(SAMPLE).is_some()).expect("an outbox with messages");
    let last = outbox.last_of(SAMPLE).unwrap();
    let (channel, next) = (last.channel, last.payload[0] + 1);
    (outbox, channel, next)
}

/// Asserts that a talker's record ends the IPC connection with this listener for a logged reason.
fn ends(what: &str, text: &str, act: impl FnOnce(&mut Outbox, u32, u64)) {
    println!("{what}");
    let mut scene = Scene::new();
    let text = [text, NAMED, "its links continue over the network"];
    let before = count_logged(&text);
    let (mut outbox, channel, next) = talkers();
    act(&mut outbox, channel, next);
    scene.poll_until("it is named", |_| count_logged(&text) > before);
    // Samples that the talker writes after invalid data are lost, which it cannot expect otherwise.
    scene.poll_until("the network", |scene| scene.publisher.shared_memory_count() == 1);
    assert_eq!(scene.by_memory(), 1, "the other IPC connection stands");
    scene.talk();
    scene.poll_until("both in shared memory", |scene| scene.by_memory() == 2);
    scene.talk();
    assert_eq!(count_logged(&text), before + 1);
}

/// A short sample with this number.
fn sample(number: u64) -> Vec<u8> {
    words(&[number, 7])
}

#[test]
fn impossible_numbers_end_the_ipc_connection() {
    let _alone = alone();
    for (what, number) in
        [("none", 0), ("the one before", u64::MAX), ("too great", 1 << 63), ("the last", u64::MAX - 1)]
    {
        for kind in [SAMPLE, SAMPLE_BEGIN] {
            ends(what, "instead of sample", |outbox, channel, next| {
                let number = if number == u64::MAX { next - 1 } else { number };
                outbox.push(kind, channel, &sample(number));
            });
        }
    }
}

#[test]
fn invalid_channel_ends_the_ipc_connection() {
    let _alone = alone();
    type Open = (u32, [u64; 2], u64);
    let opens = |what: &str, text: &str, open: fn(Open) -> Open| {
        ends(what, text, |outbox, channel, next| {
            let [low, high, _, kind, stream, _] = outbox.last_of(OPEN_SAMPLES).unwrap().payload[..] else {
                panic!("six words")
            };
            let (channel, [kind, stream], next) = open((channel, [kind, stream], next));
            outbox.push(OPEN_SAMPLES, channel, &words(&[low, high, 1, kind, stream, next]));
        });
    };
    opens("for no sample", "has message number 0", |(channel, begin, _)| (channel, begin, 0));
    opens("for one behind the last there is", "has message number", |(channel, begin, _)| {
        (channel, begin, 1 << 63)
    });
    opens("one too many", "it opened channel", |(_, begin, next)| (1 << 16, begin, next));
    opens("of another pair", "it opened channel", |(channel, [kind, stream], next)| {
        (channel, [kind, stream + 1], next)
    });
    opens("by a Skip", "of a kind that is not allowed there", |(channel, [_, stream], next)| {
        (channel, [2, stream], next)
    });
    opens("by what is no statement", "unknown kind 99", |(channel, [_, stream], next)| {
        (channel, [99, stream], next)
    });
}

#[test]
fn non_samples_end_the_ipc_connection() {
    let _alone = alone();
    ends("without a number", "without a number", |outbox, channel, _| outbox.push(SAMPLE, channel, &[1; 7]));
    ends("a message of ROS 1, as once there were", "a record of kind 1", |outbox, channel, _| {
        outbox.push(1, channel, &[1; 40]);
    });
    ends("what was never lent", "segment", |outbox, channel, next| {
        outbox.push(SAMPLE_SLOT, channel, &words(&[next, 5 << 32, 100]));
    });
    ends("within another", "before the previous one was complete", |outbox, channel, next| {
        outbox.push(SAMPLE_BEGIN, channel, &words(&[next, 100]));
        outbox.push(SAMPLE, channel, &sample(next + 1));
    });
    ends("more than there is", "more of a sample than its length prefix says", |outbox, channel, next| {
        outbox.push(SAMPLE_BEGIN, channel, &words(&[next, 12]));
        outbox.push(BYTES, channel, &[0; 40]);
    });
    ends("longer than any", "bytes", |outbox, channel, next| {
        outbox.push(SAMPLE_BEGIN, channel, &words(&[next, u64::from(u32::MAX)]));
    });
}

#[test]
fn end_within_a_sample_loses_nothing() {
    let _alone = alone();
    let mut scene = Scene::new();
    let (mut outbox, channel, next) = talkers();
    outbox.push(SAMPLE_BEGIN, channel, &words(&[next, 100]));
    // The read record is followed by an invalid one.
    outbox.push(99, 0, &[]);
    let text = ["it wrote a record of kind 99", NAMED];
    let before = count_logged(&text);
    scene.poll_until("it is named", |_| count_logged(&text) > before);
    scene.poll_until("the network", |scene| scene.publisher.shared_memory_count() == 1);
    scene.talk();
}

#[test]
fn impossible_skip_ends_the_ipc_connection() {
    let _alone = alone();
    ends("beyond all", "is not plausible", |outbox, channel, next| {
        outbox.push(SKIP, channel, &words(&[2, 0, next + (1 << 41)]));
    });
    ends("of no message", "has message number 0", |outbox, channel, _| {
        outbox.push(SKIP, channel, &words(&[2, 0, 0]));
    });
    ends("which is a Begin", "of a kind that is not allowed there", |outbox, channel, next| {
        outbox.push(SKIP, channel, &words(&[1 | 1 << 32, 0, next]));
    });
}

#[test]
fn repeated_requests_and_reports_lose_nothing() {
    let _alone = alone();
    for (asks, next) in [(0, 1), (1, 2), (u64::MAX, 3)] {
        let mut scene = Scene::new();
        let mut outboxes = Outbox::all().into_iter();
        // The talker's own records from now on overwrite this.
        let mut listeners =
            outboxes.find(|outbox| outbox.last_of(ASK_SAMPLES).is_some()).expect("a listener's");
        let asked = listeners.last_of(ASK_SAMPLES).unwrap().payload.clone();
        let [low, high, _] = asked[..] else { panic!("three words") };
        for epoch in [1, 2] {
            let reached = [3 | epoch << 32, low];
            listeners.push(REACHED, 0, &words(&[low, high, reached[0], reached[1], next]));
            listeners.push(REACHED, 0, &words(&[high, low, reached[0], reached[1], u64::MAX >> 1]));
        }
        listeners.push(ASK_SAMPLES, 0, &words(&[high, low, 5]));
        listeners.push(ASK_SAMPLES, 0, &words(&[low, high, asks]));
        scene.talk();
        scene.talk();
        assert_eq!(scene.by_memory(), 2);
    }
}

#[test]
fn report_beyond_published_ends_the_ipc_connection() {
    let _alone = alone();
    for (epoch, next, text) in [(2, 1 << 40, "not all published"), (9, 1, "which has not begun")] {
        let mut scene = Scene::new();
        let text = [text, NAMED, "its links continue over the network"];
        let before = count_logged(&text);
        let mut outboxes = Outbox::all().into_iter();
        let mut listeners =
            outboxes.find(|outbox| outbox.last_of(ASK_SAMPLES).is_some()).expect("a listener's");
        let asked = listeners.last_of(ASK_SAMPLES).unwrap().payload.clone();
        listeners.push(REACHED, 0, &words(&[asked[0], asked[1], 3 | epoch << 32, asked[0], next]));
        scene.poll_until("it is named", |_| count_logged(&text) > before);
        scene.poll_until("the network", |scene| scene.publisher.shared_memory_count() == 1);
        scene.talk();
    }
}
