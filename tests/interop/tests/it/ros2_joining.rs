//! How long it takes from starting a process until it is matched with one that runs already. The figures:
//!
//! ```text
//! cargo build --release -p interop --bins
//! unshare -rnm bash -c 'ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo
//!   mount -t tmpfs none /dev/shm; cargo test --release -p interop --test it ros2_joining -- --nocapture'
//! ```
//!
//! `ROUNDS=20` has every pair meet so often, those of two others as well. Without it Runnel meets each once: Cyclone DDS and
//! Fast DDS do not always meet each other.

use std::thread;
use std::time::{Duration, Instant};

use interop::PATIENCE;
use interop::ros2::{Origin, Ros2Graph};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ORIGINS: [Origin; 3] = [Origin::Runnel, Origin::Cyclone, Origin::FastDds];

/// How long a listener has said all that it says at its start.
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
    peer.wait_for_line(|line| line == "matched 1", deadline_in(PATIENCE)).unwrap();
}

fn end(mut peer: Peer) {
    peer.signal(Signal::INT).unwrap();
    peer.wait_exit(deadline_in(PATIENCE)).unwrap();
}

/// Starts a talker beside a listener; gives how long it took until the one and the other had told that they are matched.
fn meet(talking: Origin, listening: Origin) -> [Duration; 2] {
    let graph = Ros2Graph::new();
    let mut listener = start(&graph, listening, "listener");
    listener.wait_for_line(|line| line == "ready", deadline_in(PATIENCE)).unwrap();
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

/// Median and greatest, in milliseconds.
fn told(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let (median, greatest) = (times[times.len() / 2], times[times.len() - 1]);
    format!("{:8.1} {:8.1}", milliseconds(median), milliseconds(greatest))
}

#[test]
fn a_process_is_matched_with_one_that_runs_already_whichever_they_are() {
    let asked = std::env::var("ROUNDS").ok().map(|rounds| rounds.parse().expect("a number of rounds"));
    let rounds = asked.unwrap_or(1);
    let pairs = ORIGINS.iter().flat_map(|talking| ORIGINS.map(|listening| (*talking, listening)));
    let pairs = pairs
        .filter(|(talking, listening)| asked.is_some() || [talking, listening].contains(&&Origin::Runnel));
    let mut times = pairs.map(|pair| (pair, [Vec::new(), Vec::new()])).collect::<Vec<_>>();
    for _ in 0..rounds {
        for ((talking, listening), times) in &mut times {
            let meeting = meet(*talking, *listening);
            times.iter_mut().zip(meeting).for_each(|(times, time)| times.push(time));
        }
    }
    println!(
        "\nmilliseconds from a talker's start, {rounds} rounds: it is matched; both are (median, greatest)"
    );
    for ((talking, listening), [first, both]) in times {
        println!("{talking:>8} joins {listening:<8} {} {}", told(first), told(both));
    }
}
