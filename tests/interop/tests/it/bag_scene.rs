//! Recordings by `runnel bag record` and what its commands answer.

use std::path::Path;

use interop::{Outcome, TIMEOUT};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use serde_json::Value as Json;

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

/// A recorder that reports what it does.
pub struct Recorder(Peer);

impl Recorder {
    /// Waits until a recorder has subscribed that was started with `--json`.
    pub fn new(mut peer: Peer) -> Self {
        peer.wait_for_line(|line| json(line).is_some(), deadline_in(TIMEOUT)).expect("it records");
        Self(peer)
    }

    /// Waits until this many messages are in the recording: talkers report a message before it has arrived.
    pub fn wait_for(&mut self, count: u64) {
        let has_all =
            |line: &str| json(line).is_some_and(|report| report["messages"].as_u64() >= Some(count));
        self.0.wait_for_line(has_all, deadline_in(TIMEOUT)).expect("it records all messages");
    }

    /// Waits until so many messages are in the recording or counted as missing there.
    pub fn wait_for_all(&mut self, count: u64) {
        let number = |report: &Json, name: &str| report[name].as_u64().unwrap_or(0);
        let has_all = |line: &str| {
            json(line).is_some_and(|report| number(&report, "messages") + number(&report, "lost") >= count)
        };
        self.0.wait_for_line(has_all, deadline_in(TIMEOUT)).expect("it records or counts all messages");
    }

    /// Ends it by Ctrl-C; it must succeed. Returns its result.
    pub fn end(mut self) -> Json {
        self.0.signal(Signal::INT).unwrap();
        assert!(self.0.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", self.0.output());
        let lines = self.0.lines();
        let result = lines.iter().filter_map(|line| json(line)).next_back().expect("a result");
        assert!(result["topics"].is_object(), "{lines:#?}");
        result
    }
}

/// A line that is a JSON object.
fn json(line: &str) -> Option<Json> {
    serde_json::from_str::<Json>(line).ok().filter(Json::is_object)
}

/// What a command with `--json` answers.
pub fn answer(outcome: &Outcome) -> Json {
    let mut answers = outcome.lines.iter().filter_map(|line| json(line));
    answers.next().unwrap_or_else(|| panic!("no answer: {:#?}", outcome.lines))
}

/// The lines of a command that succeeds.
pub fn success(outcome: Outcome) -> Vec<String> {
    assert_eq!(outcome.code, Some(0), "{:#?}", outcome.lines);
    outcome.lines
}
