//! Time from a process's start until it is matched with a running one. To print the figures:
//!
//! ```text
//! cargo build --release -p interop --bins
//! unshare -rnm bash -c 'ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo
//!   mount -t tmpfs none /dev/shm; cargo test --release -p interop --test it ros2_joining -- --nocapture'
//! ```
//!
//! `ROUNDS=20` repeats every pair, including those of two other implementations. Without it each pair with Runnel
//! runs once: Cyclone DDS and Fast DDS do not always match each other.

use std::thread;
use std::time::{Duration, Instant};

use interop::TIMEOUT;
use interop::ros2::{Origin, Ros2Graph};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ORIGINS: [Origin; 3] = [Origin::Runnel, Origin::Cyclone, Origin::FastDds];

/// Time after which a listener has sent its start-up announcements.
const REST: Duration = Duration::from_millis(1500);

fn start(graph: &Ros2Graph, origin: Origin, role: &str) -> Peer {
    let mut command = graph.program(origin, role);
    command.args(["/joining", "--count", "0"]);
    if role == "talker" {
        command.args(["--after", "/never"]);
    }
    Peer::spawn(&format!("{origin} {role}"), command).unwrap()
}

fn until_matched(peer: &mut Peer) {
    peer.wait_for_line(|line| line == "matched 1", deadline_in(TIMEOUT)).unwrap();
}

fn end(mut peer: Peer) {
    peer.signal(Signal::INT).unwrap();
    peer.wait_exit(deadline_in(TIMEOUT)).unwrap();
}

/// Starts a talker with a running listener; returns when each of them reported the match.
fn match_times(talking: Origin, listening: Origin) -> [Duration; 2] {
    let graph = Ros2Graph::new();
    let mut listener = start(&graph, listening, "listener");
    listener.wait_for_line(|line| line == "ready", deadline_in(TIMEOUT)).unwrap();
    thread::sleep(REST);
    let begun = Instant::now();
    let mut talker = start(&graph, talking, "talker");
    until_matched(&mut talker);
    let first = begun.elapsed();
    until_matched(&mut listener);
    let both = begun.elapsed();
    end(talker);
    end(listener);
    [first, both]
}

/// Median and maximum, in milliseconds.
fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (median, greatest) = (times[times.len() / 2], times[times.len() - 1]);
    format!("{:8.1} {:8.1}", milliseconds(median), milliseconds(greatest))
}

#[test]
fn new_process_is_matched_with_running_one() {
    let asked = std::env::var("ROUNDS").ok().map(|rounds| rounds.parse().expect("a number of rounds"));
    let rounds = asked.unwrap_or(1);
    let pairs = ORIGINS.iter().flat_map(|talking| ORIGINS.map(|listening| (*talking, listening)));
    let pairs = pairs
        .filter(|(talking, listening)| asked.is_some() || [talking, listening].contains(&&Origin::Runnel));
    let mut times = pairs.map(|pair| (pair, [Vec::new(), Vec::new()])).collect::<Vec<_>>();
    for _ in 0..rounds {
        for ((talking, listening), times) in &mut times {
            let times_to_match = match_times(*talking, *listening);
            times.iter_mut().zip(times_to_match).for_each(|(times, time)| times.push(time));
        }
    }
    println!(
        "\nmilliseconds from a talker's start, {rounds} rounds: it is matched; both are (median, greatest)"
    );
    for ((talking, listening), [first, both]) in times {
        println!("{talking:>8} joins {listening:<8} {} {}", summary(first), summary(both));
    }
}
