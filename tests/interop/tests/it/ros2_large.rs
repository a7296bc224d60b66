//! Long messages over a cable that loses packets. The figures:
//!
//! ```text
//! bench/ros2.sh large_lossy
//! ```
//!
//! `ROUNDS=7` has every pair exchange so often, one pair after the other in each round, the talkers of the listeners' own vendors
//! as well. Without it Runnel talks once to each listener that needs no wheels, and only arrival is checked.

use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin};
use interop::ros2_hosts::Host;
use interop::ros2_talks::says;
use interop::{PATIENCE, ready};
use runnel_testkit::process::{Peer, deadline_in};

const MESSAGE: &[&str] = &["/long", "--type", "std_msgs/msg/UInt8MultiArray", "--depth", "0"];
const BYTES: &str = "2097152";
const PER_SECOND: f64 = 30.0;

/// The file that the talker waits for.
const GATE: &str = "/tmp/gate";

/// How long after the last message was due one counts as in time.
const GRACE: Duration = Duration::from_secs(1);

/// How many seconds later the exchange is given up: with Fast DDS on both sides no message of 64 kB datagrams, of which each
/// packet must arrive, ever gets through.
const LONGEST: u64 = 60;

const LISTENERS: [Origin; 5] = [
    Origin::Cyclone,
    Origin::Cyclone11,
    Origin::FastDds,
    Origin::Ros2(Distro::Jazzy),
    Origin::Ros2(Distro::Kilted),
];

/// What a cable loses: 10 % of the IP packets, so that a long datagram is lost more often than a short one, or 10 % of the
/// datagrams, after their packets have been put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Packets,
    Datagrams,
}

impl Loss {
    fn apply(self, host: &Host) {
        let (family, chain) = match self {
            Loss::Packets => ("netdev", "{ type filter hook ingress device cable priority 0 ; }"),
            Loss::Datagrams => ("ip", "{ type filter hook input priority 0 ; }"),
        };
        host.set(&["nft", "add", "table", family, "loss"]);
        host.set(&["nft", "add", "chain", family, "loss", "drops", chain]);
        let rule = if self == Loss::Packets { "ip protocol udp" } else { "meta l4proto udp" };
        host.set(&["nft", "add", "rule", family, "loss", "drops", rule, "numgen random mod 100 < 10 drop"]);
    }
}

/// What came of one exchange.
#[derive(Clone, Copy)]
struct Outcome {
    in_time: usize,
    /// Within the time that is waited at most.
    arrived: usize,
    /// From the first message sent to the last one received.
    took: Duration,
}

fn got(listener: &mut Peer, deadline: Instant) -> bool {
    listener.wait_for_line(|line| line.starts_with("got "), deadline).is_ok()
}

/// Sends `count` messages: reliable ones over a cable with loss, best-effort ones over one without.
fn exchange(talking: Origin, listening: Origin, loss: Option<Loss>, count: usize) -> Outcome {
    let [near, far] = Host::two();
    if let Some(loss) = loss {
        [&near, &far].into_iter().for_each(|host| loss.apply(host));
    }
    let (counted, rate) = (count.to_string(), PER_SECOND.to_string());
    let reliability = if loss.is_some() { "reliable" } else { "best_effort" };
    let message = [MESSAGE, &["--reliability", reliability, "--count", &counted]].concat();
    let mut listener = ready(far.node(listening, "listener", &message, &[]));
    let words = [&message[..], &["--rate", &rate, "--size", BYTES, "--after", GATE]].concat();
    let mut talker = near.node(talking, "talker", &words, &[]);
    // A volatile reader is owed nothing that was written before it had found the writer.
    [&mut talker, &mut listener].into_iter().for_each(|peer| says(peer, "matched 1"));
    near.set(&["touch", GATE]);
    talker.wait_for_line(|line| line.starts_with("sent 1 "), deadline_in(PATIENCE)).unwrap();
    let begun = Instant::now();
    let due = begun + Duration::from_secs_f64(count as f64 / PER_SECOND) + GRACE;
    let mut in_time = 0;
    while in_time < count && got(&mut listener, due) {
        in_time += 1;
    }
    let (mut arrived, mut took, end) = (in_time, begun.elapsed(), deadline_in(LONGEST));
    while loss.is_some() && arrived < count && got(&mut listener, end) {
        (arrived, took) = (arrived + 1, begun.elapsed());
    }
    Outcome { in_time, arrived, took }
}

fn median<T: Ord + Copy>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all[all.len() / 2]
}

#[test]
fn long_reliable_messages_cross_lossy_cable() {
    for (listening, loss) in [(Origin::Cyclone, Loss::Packets), (Origin::FastDds, Loss::Datagrams)] {
        assert_eq!(exchange(Origin::Runnel, listening, Some(loss), 3).arrived, 3, "{listening}");
    }
}

/// The talkers of Runnel and of the listener's own vendor, by turns.
fn print_figures(loss: Option<Loss>, rounds: usize) {
    let path = loss.map_or("no loss, best effort".to_owned(), |loss| format!("{loss:?} lost, reliable"));
    for listening in LISTENERS {
        let mut outcomes = [Origin::Runnel, listening].map(|talking| (talking, Vec::new()));
        for _ in 0..rounds {
            for (talking, outcomes) in &mut outcomes {
                outcomes.push(exchange(*talking, listening, loss, 30));
            }
        }
        for (talking, outcomes) in outcomes {
            let in_time = median(outcomes.iter().map(|outcome| outcome.in_time));
            let arrived = median(outcomes.iter().map(|outcome| outcome.arrived));
            let took = median(outcomes.iter().map(|outcome| outcome.took)).as_secs_f64();
            let each: Vec<_> = outcomes.iter().map(|outcome| outcome.in_time).collect();
            println!(
                "{path}, {talking} to {listening}: {in_time} in time {each:?}, {arrived} after {took:.2} s"
            );
        }
    }
}

fn rounds() -> usize {
    std::env::var("ROUNDS").map_or(7, |rounds| rounds.parse().expect("a number of rounds"))
}

#[test]
#[ignore = "takes half an hour: bench/ros2.sh large_lossy"]
fn figures_of_long_messages_over_lossy_cable() {
    println!("30 messages, 10 % of packets or datagrams lost, medians of {} rounds:", rounds());
    [Loss::Packets, Loss::Datagrams].into_iter().for_each(|loss| print_figures(Some(loss), rounds()));
}

#[test]
#[ignore = "takes ten minutes: bench/ros2.sh large_best_effort"]
fn figures_of_long_best_effort_messages() {
    println!("30 messages, medians of {} rounds:", rounds());
    print_figures(None, rounds());
}
