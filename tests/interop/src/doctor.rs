//! Checks of the output of `runnel doctor`.

use std::time::Instant;

use runnel_testkit::process::{Peer, deadline_in};

use crate::{Origin, Outcome, Ros1Graph, TIMEOUT, next_messages, outcome, ready};

/// The standard output of `runnel doctor`, joined into one line, once it exits with this code.
///
/// # Panics
/// If it exits with another code.
pub fn doctor(graph: &Ros1Graph, options: &[&str], code: i32) -> String {
    let Outcome { code: ended, mut lines } =
        outcome(graph.runnel("runnel", &[&["doctor"], options].concat()));
    assert_eq!(ended, Some(code), "{lines:#?}");
    // Lines on standard error may be interleaved with the others.
    lines.retain(|line| !line.starts_with("[WARN] "));
    let wide: Vec<&String> = lines.iter().filter(|line| line.len() > 80 && !line.starts_with('{')).collect();
    assert!(wide.is_empty(), "beyond 80 columns: {wide:#?}");
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that its output contains all these texts.
///
/// # Panics
/// If it does not.
pub fn expect_findings(graph: &Ros1Graph, options: &[&str], code: i32, texts: &[&str]) {
    let printed = doctor(graph, options, code);
    texts.iter().for_each(|text| assert!(printed.contains(text), "{text:?} is not in {printed:?}"));
}

/// What it reports if it receives too little in the time for which it listens.
const TOO_LITTLE: [&str; 2] = ["no problems found", "no message from"];

/// Runs it until its output contains all these texts: on a busy host it may receive too little in the time for which it
/// listens.
///
/// # Panics
/// If it does not, if it reports anything else, or if it exits with another code.
pub fn wait_for_findings(graph: &Ros1Graph, options: &[&str], code: i32, texts: &[&str]) {
    let deadline = deadline_in(TIMEOUT);
    loop {
        let printed = doctor(graph, options, code);
        if texts.iter().all(|text| printed.contains(text)) {
            return;
        }
        let received_too_little = TOO_LITTLE.iter().any(|text| printed.contains(text));
        assert!(received_too_little && Instant::now() < deadline, "not all of {texts:?} in {printed:?}");
    }
}

/// Checks that it reports no problems, and nothing else.
///
/// # Panics
/// If it reports some.
pub fn expect_no_findings(graph: &Ros1Graph, options: &[&str]) {
    let printed = doctor(graph, options, 0);
    assert!(printed.contains("no problems found") && printed.starts_with("checked "), "{printed}");
}

/// Starts listeners, and last a talker that they receive.
///
/// # Panics
/// If one receives nothing.
pub fn talker_and_listeners(graph: &Ros1Graph, talker: Origin, listeners: &[Origin]) -> Vec<Peer> {
    let count = listeners.len().to_string();
    let mut peers: Vec<Peer> =
        listeners.iter().map(|origin| ready(graph.listener(*origin, &["/chatter"]))).collect();
    let talker = graph.talker(talker, &["/chatter", "--rate", "20", "--wait", &count]);
    peers.iter_mut().for_each(|listener| drop(next_messages(listener, "got", 1, deadline_in(TIMEOUT))));
    peers.push(talker);
    peers
}
