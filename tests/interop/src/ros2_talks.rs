//! What is tried between a talker and a listener of ROS 2.

use runnel_testkit::process::{Peer, deadline_in};

use crate::PATIENCE;
use crate::hearing::{body, hear_out, told, wait_until};
use crate::ros2::{Origin, Ros2Graph};

/// The words of talkers and listeners for five texts.
pub const STRINGS: &[&str] = &["/text", "--count", "5"];

/// The words of talkers and listeners for five messages of bytes.
pub const BYTES: &[&str] = &["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray"];

/// A talker, a listener of its topic, and the graph of both.
pub struct Pair {
    /// Theirs alone.
    pub graph: Ros2Graph,
    /// Waits until the graph's gate is open.
    pub talker: Peer,
    /// Listens from the beginning.
    pub listener: Peer,
}

impl Pair {
    /// Starts both in a graph of their own: when two of Kilted tell each other of their types, Cyclone DDS 0.10.2 listens,
    /// and crashes. Both take `words`, and the talker `more`.
    pub fn start(talker: Origin, listener: Origin, words: &[&str], more: &[&str]) -> Pair {
        let graph = Ros2Graph::new();
        let listener = graph.listener(listener, words);
        let talker = graph.talker(talker, &[words, more, &["--after", &graph.gate()]].concat());
        Pair { graph, talker, listener }
    }

    /// Lets the talker publish so many messages once each has found the other, and has the listener hear them all.
    ///
    /// # Panics
    /// When it does not.
    pub fn exchange(mut self, count: usize) {
        says(&mut self.talker, "matched 1");
        says(&mut self.listener, "matched 1");
        self.graph.open_gate();
        hear_out(&mut self.talker, &mut [self.listener], count);
    }
}

/// Waits until a peer has printed a line.
///
/// # Panics
/// When it does not.
pub fn says(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|said| said == line, deadline_in(PATIENCE)).unwrap();
}

/// Texts and bytes of a size go from one to the other, byte for byte, at the same time.
///
/// # Panics
/// When they do not.
pub fn understands(talker: Origin, listener: Origin, size: &str) {
    let pairs = [STRINGS, BYTES].map(|words| Pair::start(talker, listener, words, &["--size", size]));
    pairs.into_iter().for_each(|pair| pair.exchange(5));
}

/// Bytes of these sizes go from one to the other, one message each, reliably and in order.
///
/// # Panics
/// When they do not.
pub fn sizes_arrive(talker: Origin, listener: Origin, sizes: &[usize]) {
    let count = sizes.len().to_string();
    let words = ["/sizes", "--type", "std_msgs/msg/UInt8MultiArray", "--count", &count];
    Pair::start(talker, listener, &words, &["--sizes", &list(sizes)]).exchange(sizes.len());
}

/// Of bytes of these sizes, which a best-effort talker publishes in turn for ever, some of each size arrive, and nothing that
/// it has not sent.
///
/// # Panics
/// When they do not.
pub fn sizes_arrive_now_and_then(talker: Origin, listener: Origin, sizes: &[usize]) {
    let words = ["/sizes", "--type", "std_msgs/msg/UInt8MultiArray", "--reliability", "best_effort"];
    let mut pair = Pair::start(talker, listener, &words, &["--sizes", &list(sizes), "--rate", "40"]);
    says(&mut pair.talker, "matched 1");
    pair.graph.open_gate();
    let mut lacking: Vec<String> = sizes.iter().map(|size| format!(" len {} ", size + 12)).collect();
    let mut heard = Vec::new();
    while !lacking.is_empty() {
        let line = told(&mut pair.listener, "got", 1, deadline_in(PATIENCE)).remove(0);
        lacking.retain(|length| !line.contains(length));
        heard.push(line);
    }
    let is_sent = |heard: &String| {
        pair.talker.lines().iter().any(|line| line.starts_with("sent ") && line.ends_with(body(heard)))
    };
    wait_until("what was heard is told as sent", deadline_in(PATIENCE), || heard.iter().all(is_sent));
}

fn list(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// A listener that comes after five messages hears the last three, which a transient-local talker holds.
///
/// # Panics
/// When it does not.
pub fn late_listener_hears(talker: Origin, listener: Origin) {
    let graph = Ros2Graph::new();
    let kept = ["/kept", "--durability", "transient_local", "--depth", "3"];
    let mut talker = graph.talker(talker, &[&kept[..], &["--count", "5", "--wait", "0"]].concat());
    let sent = told(&mut talker, "sent", 5, deadline_in(PATIENCE));
    says(&mut talker, "done");
    let mut listener = graph.listener(listener, &[&kept[..], &["--count", "3"]].concat());
    let heard = told(&mut listener, "got", 3, deadline_in(PATIENCE));
    let bodies = |lines: &[String]| lines.iter().map(|line| body(line).to_owned()).collect::<Vec<_>>();
    assert_eq!(bodies(&heard), bodies(&sent[2..]));
}
