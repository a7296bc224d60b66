//! What tests ask of talkers, listeners and commands: each waits for a condition with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::{Master, Origin, PATIENCE, Ros1Graph, Server};

/// The next `count` lines of a talker that begin with `sent`, or of a listener that begin with `got`, without that
/// word: the number of the message, its serialized length and its CRC-32, alike for all peers.
///
/// # Panics
/// When the peer does not print them before the deadline.
pub fn told(peer: &mut Peer, word: &str, count: usize, deadline: Instant) -> Vec<String> {
    let begins = |line: &str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
    let mut next = || peer.wait_for_line(begins, deadline).unwrap();
    (0..count).map(|_| next()[word.len() + 1..].to_owned()).collect()
}

/// What such a line tells of a message without its number.
///
/// # Panics
/// When it is no such line.
pub fn body(line: &str) -> &str {
    line.split_once(' ').expect("a number and a message").1
}

/// The peer once it has said that it is ready.
///
/// # Panics
/// When it does not.
pub fn ready(mut peer: Peer) -> Peer {
    peer.wait_for_line(|line| line == "ready", deadline_in(PATIENCE)).unwrap();
    peer
}

/// What the talker has sent, once every listener has heard it byte for byte and has ended well.
///
/// # Panics
/// When one has not.
pub fn hear_out(talker: &mut Peer, listeners: &mut [Peer], count: usize) -> Vec<String> {
    let sent = told(talker, "sent", count, deadline_in(PATIENCE));
    for listener in listeners {
        let heard = told(listener, "got", count, deadline_in(PATIENCE));
        assert_eq!(heard, sent, "{} heard otherwise than {} sent", listener.name(), talker.name());
        assert!(listener.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", listener.output());
    }
    sent
}

/// Has talkers and listeners of these kinds share a topic, and every listener hear every talker.
///
/// The talkers come one after another, each when all have heard the one before: a listener of rospy or @foxglove/ros1
/// connects twice to a talker that it is told of a second time before the first connection stands.
///
/// # Panics
/// When a listener has heard anything but what the talkers sent.
pub fn all_hear_all(graph: &Ros1Graph, origins: &[Origin]) {
    const EACH: usize = 5;
    let (count, each) = (origins.len(), EACH.to_string());
    let (waits, hears) = (count.to_string(), (EACH * count).to_string());
    let listener = |origin| ready(graph.listener(origin, &["/shared", "--count", &hears]));
    let mut listeners: Vec<Peer> = origins.iter().copied().map(listener).collect();
    let talking = ["/shared", "--count", &each, "--wait", &waits, "--rate", "50"];
    let (mut talkers, mut sent) = (Vec::new(), Vec::new());
    for origin in origins {
        let mut talker = graph.talker(*origin, &talking);
        sent.append(&mut told(&mut talker, "sent", EACH, deadline_in(PATIENCE)));
        talkers.push(talker);
    }
    let sent = sorted_bodies(&sent);
    for listener in &mut listeners {
        let heard = told(listener, "got", EACH * count, deadline_in(PATIENCE));
        assert_eq!(sorted_bodies(&heard), sent, "{}", listener.output());
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
    /// Its exit code, if no signal ended it.
    pub code: Option<i32>,
    /// What it printed, on both streams.
    pub lines: Vec<String>,
}

impl Outcome {
    /// The lines of a command that must have succeeded.
    ///
    /// # Panics
    /// When it has not.
    pub fn success(self) -> Vec<String> {
        assert_eq!(self.code, Some(0), "{:#?}", self.lines);
        self.lines
    }
}

/// Waits for the end of a command.
///
/// # Panics
/// When it does not end.
pub fn outcome(mut command: Peer) -> Outcome {
    let status = command.wait_exit(deadline_in(PATIENCE)).unwrap();
    Outcome { code: status.code(), lines: command.lines() }
}

/// Looks again and again until something is so.
///
/// # Panics
/// When it is not before the deadline; `what` says what was waited for.
pub fn wait_until(what: &str, deadline: Instant, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        assert!(Instant::now() < deadline, "the deadline passed while waiting: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// At a master, a listener hears a talker, then another of the same name after that was killed, and a third after that ended.
pub fn hears_after_restarts(server: Server, talker: Origin, listener: Origin) {
    let master = Master::start(server);
    let mut listener = ready(master.graph().listener(listener, &["/again"]));
    for end in [Signal::KILL, Signal::INT, Signal::KILL] {
        let mut talker = master.graph().talker(talker, &["/again", "--rate", "20"]);
        let sent = told(&mut talker, "sent", 3, deadline_in(PATIENCE));
        for message in &sent {
            let same = |line: &str| line.starts_with("got ") && line.ends_with(body(message));
            listener.wait_for_line(same, deadline_in(PATIENCE)).unwrap();
        }
        talker.signal(end).unwrap();
        talker.wait_exit(deadline_in(PATIENCE)).unwrap();
    }
}
