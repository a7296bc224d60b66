//! Checks of talkers, listeners and commands: each waits for a condition with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::{Master, Origin, Ros1Graph, Server, TIMEOUT};

/// The next `count` lines of a talker that begin with `sent`, or of a listener that begin with `got`, without that
/// word: number of the message, serialized length and CRC-32, in the same format for all peers.
///
/// # Panics
/// If the peer does not print them before the deadline.
pub fn next_messages(peer: &mut Peer, word: &str, count: usize, deadline: Instant) -> Vec<String> {
    let begins = |line: &str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
    let mut next = || peer.wait_for_line(begins, deadline).unwrap();
    (0..count).map(|_| next()[word.len() + 1..].to_owned()).collect()
}

/// The part of such a line after the number of the message.
///
/// # Panics
/// If it is not such a line.
pub fn body(line: &str) -> &str {
    line.split_once(' ').expect("a number and a message").1
}

/// Waits until the peer has printed that it is ready.
///
/// # Panics
/// If it does not.
pub fn ready(mut peer: Peer) -> Peer {
    peer.wait_for_line(|line| line == "ready", deadline_in(TIMEOUT)).unwrap();
    peer
}

/// The messages that the talker has sent, once every listener has received all of them byte for byte and has exited
/// with success.
///
/// # Panics
/// If a listener has not.
pub fn check_all_received(talker: &mut Peer, listeners: &mut [Peer], count: usize) -> Vec<String> {
    let sent = next_messages(talker, "sent", count, deadline_in(TIMEOUT));
    for listener in listeners {
        let received = next_messages(listener, "got", count, deadline_in(TIMEOUT));
        assert_eq!(received, sent, "{} received something else than {} sent", listener.name(), talker.name());
        assert!(listener.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", listener.output());
    }
    sent
}

/// Runs talkers and listeners of these kinds on one topic, and checks that every listener receives every talker.
///
/// Talkers start in sequence, each when all listeners have received the previous one: a listener of rospy or
/// @foxglove/ros1 connects twice to a talker that it is notified of again before the first connection is established.
///
/// # Panics
/// If a listener has received anything but what the talkers sent.
pub fn check_all_pairs(graph: &Ros1Graph, origins: &[Origin]) {
    const EACH: usize = 5;
    let (count, each) = (origins.len(), EACH.to_string());
    let (waits, expected_count) = (count.to_string(), (EACH * count).to_string());
    let listener = |origin| ready(graph.listener(origin, &["/shared", "--count", &expected_count]));
    let mut listeners: Vec<Peer> = origins.iter().copied().map(listener).collect();
    let talking = ["/shared", "--count", &each, "--wait", &waits, "--rate", "50"];
    let (mut talkers, mut sent) = (Vec::new(), Vec::new());
    for origin in origins {
        let mut talker = graph.talker(*origin, &talking);
        sent.append(&mut next_messages(&mut talker, "sent", EACH, deadline_in(TIMEOUT)));
        talkers.push(talker);
    }
    let sent = sorted_bodies(&sent);
    for listener in &mut listeners {
        let received = next_messages(listener, "got", EACH * count, deadline_in(TIMEOUT));
        assert_eq!(sorted_bodies(&received), sent, "{}", listener.output());
    }
}

fn sorted_bodies(lines: &[String]) -> Vec<&str> {
    let mut bodies: Vec<&str> = lines.iter().map(|line| body(line)).collect();
    bodies.sort_unstable();
    bodies
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Its output on both streams.
    pub lines: Vec<String>,
}

impl Outcome {
    /// The output of a command that must have succeeded.
    ///
    /// # Panics
    /// If it has not.
    pub fn success(self) -> Vec<String> {
        assert_eq!(self.code, Some(0), "{:#?}", self.lines);
        self.lines
    }
}

/// Waits for the end of a command.
///
/// # Panics
/// If it does not end in time.
pub fn outcome(mut command: Peer) -> Outcome {
    let status = command.wait_exit(deadline_in(TIMEOUT)).unwrap();
    Outcome { code: status.code(), lines: command.lines() }
}

/// Sets a parameter with the original `rosparam`, which sometimes cannot reach its master on a busy host.
///
/// # Panics
/// When it cannot set it in time.
pub fn rosparam_set(graph: &Ros1Graph, name: &str, value: &str) {
    let set = || outcome(graph.tool("rosparam", &["set", name, value])).code == Some(0);
    wait_until("the parameter set", deadline_in(TIMEOUT), set);
}

/// Polls until a condition holds.
///
/// # Panics
/// If it does not hold before the deadline; `what` describes it.
pub fn wait_until(what: &str, deadline: Instant, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(Instant::now() < deadline, "the deadline passed while waiting: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Checks that a listener receives a talker, then its successor of the same name after it was killed, then another
/// one after that ended.
pub fn check_received_after_restarts(server: Server, talker: Origin, listener: Origin) {
    let master = Master::start(server);
    let mut listener = ready(master.graph().listener(listener, &["/again"]));
    for end in [Signal::KILL, Signal::INT, Signal::KILL] {
        let mut talker = master.graph().talker(talker, &["/again", "--rate", "20"]);
        let sent = next_messages(&mut talker, "sent", 3, deadline_in(TIMEOUT));
        for message in &sent {
            let same = |line: &str| line.starts_with("got ") && line.ends_with(body(message));
            listener.wait_for_line(same, deadline_in(TIMEOUT)).unwrap();
        }
        talker.signal(end).unwrap();
        talker.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}
