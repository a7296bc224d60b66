//! What `runnel doctor` says of a graph.

use runnel_testkit::process::{Peer, deadline_in};

use crate::{Origin, Outcome, PATIENCE, Ros1Graph, outcome, ready, told};

/// What `runnel doctor` says on standard output, in one line, once it ends with this code.
///
/// # Panics
/// When it ends otherwise.
pub fn doctor(graph: &Ros1Graph, options: &[&str], code: i32) -> String {
    let Outcome { code: ended, mut lines } =
        outcome(graph.runnel("runnel", &[&["doctor"], options].concat()));
    assert_eq!(ended, Some(code), "{lines:#?}");
    // Lines on standard error may come among the others.
    lines.retain(|line| !line.starts_with("[WARN] "));
    let wide: Vec<&String> = lines.iter().filter(|line| line.len() > 80 && !line.starts_with('{')).collect();
    assert!(wide.is_empty(), "beyond 80 columns: {wide:#?}");
    lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What it says holds all these texts.
///
/// # Panics
/// When it does not.
pub fn finds(graph: &Ros1Graph, options: &[&str], code: i32, texts: &[&str]) {
    let said = doctor(graph, options, code);
    texts.iter().for_each(|text| assert!(said.contains(text), "{text:?} is not in {said:?}"));
}

/// It says that nothing is wrong, and nothing else.
///
/// # Panics
/// When it does not.
pub fn finds_nothing(graph: &Ros1Graph, options: &[&str]) {
    let said = doctor(graph, options, 0);
    assert!(said.contains("nothing is wrong") && said.starts_with("looked at "), "{said}");
}

/// Listeners, and last the talker that they hear.
///
/// # Panics
/// When one hears nothing.
pub fn talking(graph: &Ros1Graph, talker: Origin, listeners: &[Origin]) -> Vec<Peer> {
    let count = listeners.len().to_string();
    let mut peers: Vec<Peer> =
        listeners.iter().map(|origin| ready(graph.listener(*origin, &["/chatter"]))).collect();
    let talker = graph.talker(talker, &["/chatter", "--rate", "20", "--wait", &count]);
    peers.iter_mut().for_each(|listener| drop(told(listener, "got", 1, deadline_in(PATIENCE))));
    peers.push(talker);
    peers
}
