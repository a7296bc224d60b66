//! Rates that `runnel bridge` carries with nothing lost: 10 topics at 1 kHz and images of 2 MiB at 30 Hz, both ways.
//!
//! Nothing here is timed: a sender that cannot keep its rate sends later, and all of it must arrive in order.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use interop::ros2::Origin as Ros2Origin;
use interop::ros2_checks::expect_line;
use interop::{Origin, Server, TIMEOUT, wait_until};
use runnel::msgs::std_msgs::msg::UInt8MultiArray as Octets;
use runnel::{Graphs, Node, Publisher, QoS, Subscription};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::{End, TwoGraphs};

const TOPICS: usize = 10;

/// Every so many milliseconds an image is sent.
const IMAGE_TICKS: u32 = 33;

const IMAGE_SIZE: usize = 2 << 20;

const SMALL_SIZE: usize = 64;

/// Messages that the bridge may queue for a receiver that the system does not run for a while.
const DEPTH: &str = "100000";

const DIRECTIONS: [[Graphs; 2]; 2] = [[Graphs::Ros1, Graphs::Ros2], [Graphs::Ros2, Graphs::Ros1]];

fn bridge(graphs: &TwoGraphs) -> Peer {
    graphs.runnel(&["bridge", "--depth", DEPTH])
}

/// The topics, of which the last has the images.
fn topics() -> Vec<String> {
    (0..TOPICS).map(|index| format!("/rate{index}")).chain(["/rate_image".into()]).collect()
}

/// Numbers that a topic has delivered.
#[derive(Default)]
struct Incoming {
    /// The number of the last message; 0 until the first one that counts.
    last: AtomicU32,
    /// How many have arrived, with those of number 0.
    count: AtomicU32,
    gap: Mutex<Option<String>>,
}

impl Incoming {
    fn take(&self, number: u32) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if number == 0 {
            return;
        }
        let last = self.last.swap(number, Ordering::SeqCst);
        if number != last + 1 {
            self.gap.lock().unwrap().get_or_insert(format!("{number} after {last}"));
        }
    }
}

fn receive(node: &Node, topic: &str) -> (Arc<Incoming>, Subscription) {
    let incoming = Arc::new(Incoming::default());
    let into = Arc::clone(&incoming);
    let take = move |message: &Octets| into.take(u32::from_le_bytes(*message.data.first_chunk().unwrap()));
    (incoming, node.create_subscription(topic, QoS::keep_all(), take).unwrap())
}

fn send(publisher: &Publisher<Octets>, number: u32, size: usize) {
    let mut data = vec![0; size];
    data[..4].copy_from_slice(&number.to_le_bytes());
    publisher.publish(&Octets { data, ..Octets::default() }).expect("a queue without limit takes it");
}

/// Sends for so many milliseconds from one Runnel node to another, and checks that all has arrived in order.
fn carry_between_runnel_ends(from: &End, to: &End, ticks: u32) {
    let received: Vec<_> = topics().iter().map(|topic| receive(&to.node, topic)).collect();
    let publishers: Vec<_> =
        topics().iter().map(|topic| from.node.create_publisher(topic, QoS::keep_all()).unwrap()).collect();
    wait_until("all topics are carried", deadline_in(TIMEOUT), || {
        publishers.iter().for_each(|publisher| send(publisher, 0, SMALL_SIZE));
        received.iter().all(|(incoming, _)| incoming.count.load(Ordering::SeqCst) > 0)
    });
    let (images, small) = publishers.split_last().unwrap();
    let begin = Instant::now();
    for tick in 0..ticks {
        small.iter().for_each(|publisher| send(publisher, tick + 1, SMALL_SIZE));
        if tick % IMAGE_TICKS == 0 {
            send(images, tick / IMAGE_TICKS + 1, IMAGE_SIZE);
        }
        let next = begin + Duration::from_millis(u64::from(tick) + 1);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    for (index, (incoming, _)) in received.iter().enumerate() {
        let count = if index == TOPICS { ticks.div_ceil(IMAGE_TICKS) } else { ticks };
        let topic = &topics()[index];
        wait_until(&format!("{topic} has delivered its last message"), deadline_in(TIMEOUT), || {
            incoming.last.load(Ordering::SeqCst) == count
        });
        assert_eq!(*incoming.gap.lock().unwrap(), None, "{topic}");
    }
}

fn carry_between_runnel(ticks: u32) {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = bridge(&graphs);
    for [of, to] in DIRECTIONS {
        carry_between_runnel_ends(&graphs.end(of, "from"), &graphs.end(to, "to"), ticks);
    }
}

/// The program `rates` of roscpp, or of Cyclone DDS.
fn rates(graphs: &TwoGraphs, of: Graphs, words: &[&str]) -> Peer {
    match of {
        Graphs::Ros1 => graphs.master.graph().node(Origin::Roscpp, "rates", "rates", words),
        _ => graphs.ros2.node(Ros2Origin::Cyclone, "rates", "rates", words),
    }
}

fn carry_between_roscpp_and_cyclone(ticks: u32) {
    for [of, to] in DIRECTIONS {
        let graphs = TwoGraphs::new(Server::Runnel);
        let bridge = bridge(&graphs);
        let (topics, ticks_text, gate) = (TOPICS.to_string(), ticks.to_string(), graphs.ros2.gate());
        let mut receiver = rates(&graphs, to, &["receive", &topics, &ticks_text]);
        let mut sender = rates(&graphs, of, &["send", &topics, &ticks_text, &gate]);
        expect_line(&mut receiver, "joined");
        graphs.ros2.open_gate();
        // A machine with other work to do sends and carries them later.
        let sending = 10 * u64::from(ticks) / 1000 + TIMEOUT;
        sender.wait_for_line(|line| line == "sent all", deadline_in(sending)).unwrap();
        let received = receiver.wait_for_line(|line| line == "received all", deadline_in(sending));
        if received.is_err() {
            // It prints what it lacks.
            let _ = receiver.signal(Signal::INT);
            let _ = receiver.wait_exit(deadline_in(TIMEOUT));
            let rows = graphs.reported("topics");
            panic!("{}\n{}\n{rows:#?}", receiver.output(), bridge.output());
        }
    }
}

#[test]
fn runnel_ends_lose_nothing_in_seconds() {
    carry_between_runnel(3_000);
}

#[test]
#[ignore = "in ./test --full"]
fn runnel_ends_lose_nothing_in_a_minute() {
    carry_between_runnel(60_000);
}

#[test]
fn roscpp_and_cyclone_lose_nothing_in_seconds() {
    carry_between_roscpp_and_cyclone(3_000);
}

#[test]
#[ignore = "in ./test --full"]
fn roscpp_and_cyclone_lose_nothing_in_a_minute() {
    carry_between_roscpp_and_cyclone(60_000);
}
