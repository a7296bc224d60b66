//! Recorders that are killed while publishers run: what they had written can be read, and is complete up to its end.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Context, Graphs, QoS};
use runnel_bag::{Selection, open};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use serde_json::Value as Json;

use crate::bag_scene::{STEP, Scene};

const DOMAIN: u16 = 150;

/// A topic of each graph.
const ROS1: &str = "/numbers1";
const ROS2: &str = "/numbers2";

/// Time between two messages of a topic.
const PERIOD: Duration = Duration::from_millis(5);

/// Lengths of messages, in bytes. The long ones are passed in shared memory of their own. Together they fill a chunk
/// only after many seconds, so that a recorder which does not sync loses almost all.
const SHORT: usize = 64;
const LONG: usize = 8192;

/// One of this many messages is long.
const LONG_EVERY: u64 = 50;

/// Messages that a publisher keeps, and that may wait for the disk of a busy host.
const DEPTH: usize = 20_000;

/// Recorders at a time.
const AT_A_TIME: u64 = 4;

/// Most syncs that a recorder lives to see.
const MOST_SYNCS: u64 = 4;

/// Longest time from the last of these syncs to the kill, in milliseconds: a little more than the time between two.
const LONGEST_REST: u64 = 1000;

/// A kind of recording.
struct Kind {
    name: &'static str,
    /// The options of the recorder.
    options: &'static str,
    topics: &'static [&'static str],
    /// What it leaves behind: a file, and its folder if that is a bag as well.
    unfinished: &'static [&'static str],
    /// The file that `reindex` makes of it, if it can.
    repaired: Option<&'static str>,
}

static KINDS: [Kind; 4] = [
    Kind {
        name: "MCAP",
        options: "-O run.mcap",
        topics: &[ROS1, ROS2],
        unfinished: &["run.mcap"],
        repaired: Some("run.mcap"),
    },
    Kind {
        name: "MCAP, Zstandard",
        options: "--zstd -O run.mcap",
        topics: &[ROS1, ROS2],
        unfinished: &["run.mcap"],
        repaired: Some("run.mcap"),
    },
    Kind {
        name: "rosbag 2.0",
        options: "--ros1 -O run.bag",
        topics: &[ROS1],
        unfinished: &["run.bag.active"],
        repaired: Some("run.bag"),
    },
    Kind {
        name: "rosbag2 folder",
        options: "--ros2 -s rosbag2 -O run",
        topics: &[ROS2],
        unfinished: &["run/run_0.mcap", "run"],
        repaired: None,
    },
];

/// What can be read of a topic.
#[derive(Debug, Default, PartialEq, Eq)]
struct Numbers {
    numbers: Vec<u64>,
    /// Log time of the last message.
    last: Option<u64>,
}

type Contents = BTreeMap<String, Numbers>;

/// Publishes numbered messages until the context ends. Returns at how many recorders at a time they arrive by shared
/// memory: the most until now.
fn publish(context: &Context, topic: &str) -> Arc<AtomicUsize> {
    let node = context.create_node("numbers").expect("a node");
    let qos = QoS::keep_last(DEPTH);
    let publisher = node.create_publisher::<UInt8MultiArray>(topic, qos).expect("a publisher");
    let context = context.clone();
    let by_memory = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(&by_memory);
    thread::spawn(move || {
        for number in 0_u64.. {
            // The number is at the end in both encodings.
            let mut data = vec![number as u8; if number % LONG_EVERY == 0 { LONG } else { SHORT }];
            data.extend(number.to_le_bytes());
            let message = UInt8MultiArray { data, ..UInt8MultiArray::default() };
            if !context.ok() || publisher.publish(message).is_err() {
                return;
            }
            thread::sleep(PERIOD);
            most.fetch_max(publisher.shared_memory_count(), Ordering::Relaxed);
        }
    });
    by_memory
}

/// What can be read of a bag. Nothing of one that has not begun.
fn contents(path: &Path) -> Contents {
    let mut contents = Contents::new();
    let Ok(mut reader) = open(path) else { return contents };
    let topics: Vec<String> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    for message in reader.messages(&Selection::default()).flatten() {
        let of = contents.entry(topics[message.channel.index()].clone()).or_default();
        let number = message.data.last_chunk().expect("a number");
        of.numbers.push(u64::from_le_bytes(*number));
        of.last = Some(message.log_time);
    }
    contents
}

fn total(contents: &Contents) -> usize {
    contents.values().map(|of| of.numbers.len()).sum()
}

/// Waits until a recorder has written more, this many times.
fn wait_for_syncs(file: &Path, count: u64, recorder: &Peer) {
    for sync in 0..count {
        let (before, deadline) = (total(&contents(file)), deadline_in(STEP));
        while total(&contents(file)) == before {
            assert!(
                Instant::now() < deadline,
                "no sync {sync} after {before} messages: {}",
                recorder.output()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A number below the limit.
fn random(limit: u64) -> u64 {
    RandomState::new().hash_one(limit) % limit
}

/// A recorder that was killed.
struct Killed {
    kind: &'static Kind,
    folder: PathBuf,
    /// What it had written before.
    written: Contents,
    began: SystemTime,
    ended: SystemTime,
}

impl Killed {
    /// Records, and kills the recorder.
    fn new(scene: &Scene, number: u64) -> Self {
        let kind = &KINDS[number as usize % KINDS.len()];
        let folder = scene.path().join(number.to_string());
        fs::create_dir(&folder).expect("a new folder");
        let topics = kind.topics.join(" ");
        let line = format!("bag record --queue {DEPTH} {} {topics}", kind.options);
        let mut recorder = scene.peer(&folder, &line);
        let begins = |line: &str| line.starts_with("recording into ");
        recorder.wait_for_line(begins, deadline_in(STEP)).expect("it records");
        let began = SystemTime::now();
        let file = folder.join(kind.unfinished[0]);
        wait_for_syncs(&file, number % (MOST_SYNCS + 1), &recorder);
        thread::sleep(Duration::from_millis(random(LONGEST_REST)));
        let written = contents(&file);
        // Some are killed at once, some while they write more.
        thread::sleep(Duration::from_millis(random(LONGEST_REST) * (number % 2)));
        let ended = SystemTime::now();
        recorder.signal(Signal::KILL).expect("it runs");
        recorder.wait_exit(deadline_in(STEP)).expect("it ends");
        Self { kind, folder, written, began, ended }
    }

    /// Asserts that all that was written is left, in order and without gaps, and that the commands say so.
    fn check(&self, scene: &Scene) -> Contents {
        let left = contents(&self.folder.join(self.kind.unfinished[0]));
        for (topic, Numbers { numbers, .. }) in &left {
            let has_gap = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1);
            assert_eq!(has_gap, None, "{}: {topic}", self.kind.name);
        }
        for (topic, Numbers { numbers, .. }) in &self.written {
            let all = left.get(topic).map(|of| &of.numbers[..]).unwrap_or_default();
            let (name, is) = (self.kind.name, all.len());
            assert!(
                all.starts_with(numbers),
                "{name}: {topic}: {} messages were written, {is} are left",
                numbers.len()
            );
        }
        for bag in self.kind.unfinished {
            self.check_verdict(scene, bag, total(&left));
        }
        if total(&left) > 0 {
            self.repair(scene, &left);
        }
        left
    }

    /// Asserts that `check` finds these messages in an unfinished bag.
    fn check_verdict(&self, scene: &Scene, bag: &str, messages: usize) {
        let output = scene.output(&self.folder, &format!("--json bag check {bag}"));
        assert_eq!(output.status.code(), Some(1), "{bag}: {output:?}");
        let verdict: Json = serde_json::from_slice(&output.stdout).expect("JSON");
        let expected = (&Json::from(false), &Json::from(messages));
        assert_eq!((&verdict["finished"], &verdict["messages"]), expected, "{bag}: {verdict}");
    }

    /// Asserts that the bag that `reindex` makes has all these messages.
    fn repair(&self, scene: &Scene, messages: &Contents) {
        let Some(repaired) = self.kind.repaired else { return };
        let unfinished = self.kind.unfinished[0];
        for line in [format!("bag reindex {unfinished}"), format!("bag check {repaired}")] {
            let output = scene.output(&self.folder, &line);
            assert!(output.status.success(), "{}: {line}: {output:?}", self.kind.name);
        }
        assert_eq!(&contents(&self.folder.join(repaired)), messages, "{}: reindexed", self.kind.name);
    }

    /// Time from the last message of a topic that is left to the kill.
    fn lost(&self, left: &Contents) -> Duration {
        let last = |topic: &&str| left.get(*topic).and_then(|of| of.last).map(Duration::from_nanos);
        let last = |topic| last(topic).map_or(self.began, |time| SystemTime::UNIX_EPOCH + time);
        let lost = |topic| self.ended.duration_since(last(topic)).unwrap_or_default();
        self.kind.topics.iter().map(lost).max().unwrap_or_default()
    }
}

/// What the killed recorders of a kind have lost.
#[derive(Default)]
struct Losses {
    count: usize,
    longest: Duration,
}

/// Losses by kind, and whether messages of all topics are left: those of recorders that were killed before the first
/// sync are not at the end of a recording.
type AllLosses = BTreeMap<(&'static str, bool), Losses>;

fn kill(scene: &Scene, number: u64) -> ((&'static str, bool), Duration) {
    let killed = Killed::new(scene, number);
    let left = killed.check(scene);
    fs::remove_dir_all(&killed.folder).expect("its files");
    ((killed.kind.name, left.len() == killed.kind.topics.len()), killed.lost(&left))
}

/// Kills some recorders at a time.
fn kill_some(scene: &Scene, numbers: Range<u64>, losses: &mut AllLosses) {
    thread::scope(|scope| {
        let kills: Vec<_> = numbers.map(|number| scope.spawn(move || kill(scene, number))).collect();
        for killed in kills {
            let (kind, lost) = killed.join().expect("all that was written is left");
            let of_kind = losses.entry(kind).or_default();
            of_kind.count += 1;
            of_kind.longest = of_kind.longest.max(lost);
        }
    });
}

#[test]
fn killed_recorder_keeps_what_it_had_written() {
    let scene = Scene::both(DOMAIN);
    let [one, other] = [Graphs::Ros1, Graphs::Ros2].map(|graphs| scene.nodes(graphs, &[]));
    let by_memory = [publish(&one.context, ROS1), publish(&other.context, ROS2)];
    let count = if std::env::var_os("RUNNEL_TEST_FULL").is_some() { 300 } else { 5 };
    let mut losses = AllLosses::new();
    for first in (0..count).step_by(AT_A_TIME as usize) {
        kill_some(&scene, first..count.min(first + AT_A_TIME), &mut losses);
    }
    let by_memory = by_memory.map(|most| most.load(Ordering::Relaxed));
    assert!(by_memory.iter().all(|most| *most > 0), "not by shared memory: {by_memory:?}");
    for ((name, has_synced), Losses { count, longest }) in losses {
        let when = if has_synced { "at the end" } else { "before the first sync" };
        println!("{name}: {count} recorders killed, at most {:.2} s lost {when}", longest.as_secs_f64());
    }
}
