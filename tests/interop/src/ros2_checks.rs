//! Checks between a ROS 2 talker and listener.

use runnel_testkit::process::{Peer, deadline_in};

use crate::TIMEOUT;
use crate::checks::{body, check_all_received, next_messages, wait_until};
use crate::ros2::{Origin, Ros2Graph};

/// Arguments of talkers and listeners for five texts.
pub const STRINGS: &[&str] = &["/text", "--count", "5"];

/// Arguments of talkers and listeners for five messages of bytes.
pub const BYTES: &[&str] = &["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray"];

/// A talker, a listener of its topic, and their graph.
pub struct Pair {
    /// Private to the pair.
    pub graph: Ros2Graph,
    /// Waits until the graph's gate is open.
    pub talker: Peer,
    /// Subscribed from the beginning.
    pub listener: Peer,
}

impl Pair {
    /// Starts both in their own graph: when two Kilted programs exchange their types, a listening Cyclone DDS 0.10.2
    /// crashes. Both take `words`, and the talker also `more`.
    pub fn start(talker: Origin, listener: Origin, words: &[&str], more: &[&str]) -> Pair {
        let graph = Ros2Graph::new();
        let listener = graph.listener(listener, words);
        let talker = graph.talker(talker, &[words, more, &["--after", &graph.gate()]].concat());
        Pair { graph, talker, listener }
    }

    /// Releases the talker once both are matched, and checks that the listener receives `count` messages.
    ///
    /// # Panics
    /// If it does not.
    pub fn exchange(mut self, count: usize) {
        expect_line(&mut self.talker, "matched 1");
        expect_line(&mut self.listener, "matched 1");
        self.graph.open_gate();
        check_all_received(&mut self.talker, &mut [self.listener], count);
    }
}

/// Waits until a peer has printed a line.
///
/// # Panics
/// If it does not.
pub fn expect_line(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|printed| printed == line, deadline_in(TIMEOUT)).unwrap();
}

/// Checks that texts and bytes of a size arrive byte for byte, at the same time.
///
/// # Panics
/// If they do not.
pub fn check_exchange(talker: Origin, listener: Origin, size: &str) {
    let pairs = [STRINGS, BYTES].map(|words| Pair::start(talker, listener, words, &["--size", size]));
    pairs.into_iter().for_each(|pair| pair.exchange(5));
}

/// Checks that bytes of these sizes, one message each, arrive reliably and in order.
///
/// # Panics
/// If they do not.
pub fn check_sizes(talker: Origin, listener: Origin, sizes: &[usize]) {
    let count = sizes.len().to_string();
    let words = ["/sizes", "--type", "std_msgs/msg/UInt8MultiArray", "--count", &count];
    Pair::start(talker, listener, &words, &["--sizes", &list(sizes)]).exchange(sizes.len());
}

/// A best-effort talker publishes bytes of these sizes in turn for ever. Checks that some of each size arrive, and
/// nothing else.
///
/// # Panics
/// If they do not.
pub fn check_best_effort_sizes(talker: Origin, listener: Origin, sizes: &[usize]) {
    let words = ["/sizes", "--type", "std_msgs/msg/UInt8MultiArray", "--reliability", "best_effort"];
    let mut pair = Pair::start(talker, listener, &words, &["--sizes", &list(sizes), "--rate", "40"]);
    expect_line(&mut pair.talker, "matched 1");
    pair.graph.open_gate();
    let mut lacking: Vec<String> = sizes.iter().map(|size| format!(" len {} ", size + 12)).collect();
    let mut received = Vec::new();
    while !lacking.is_empty() {
        let line = next_messages(&mut pair.listener, "got", 1, deadline_in(TIMEOUT)).remove(0);
        lacking.retain(|length| !line.contains(length));
        received.push(line);
    }
    let is_sent = |received: &String| {
        pair.talker.lines().iter().any(|line| line.starts_with("sent ") && line.ends_with(body(received)))
    };
    wait_until("every received message is printed as sent", deadline_in(TIMEOUT), || {
        received.iter().all(is_sent)
    });
}

fn list(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Checks that a late joiner gets the last three of five messages, which a transient-local talker keeps.
///
/// # Panics
/// If it does not.
pub fn check_late_listener(talker: Origin, listener: Origin) {
    let graph = Ros2Graph::new();
    let kept = ["/kept", "--durability", "transient_local", "--depth", "3"];
    let mut talker = graph.talker(talker, &[&kept[..], &["--count", "5", "--wait", "0"]].concat());
    let sent = next_messages(&mut talker, "sent", 5, deadline_in(TIMEOUT));
    expect_line(&mut talker, "done");
    let mut listener = graph.listener(listener, &[&kept[..], &["--count", "3"]].concat());
    let received = next_messages(&mut listener, "got", 3, deadline_in(TIMEOUT));
    let bodies = |lines: &[String]| lines.iter().map(|line| body(line).to_owned()).collect::<Vec<_>>();
    assert_eq!(bodies(&received), bodies(&sent[2..]));
}
