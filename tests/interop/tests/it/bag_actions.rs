//! Actions of rclpy, recorded and played: their topics, and their goals by an action client.

use std::path::Path;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, outcome, ready};
use runnel_testkit::process::{Peer, deadline_in};
use serde_json::Value as Json;

use crate::bag_scene::{Recorder, success, text};

const ACTION: &str = "/fibonacci";

/// Only this one publishes the calls of an action's services.
const KILTED: Distro = Distro::Kilted;

/// What the server prints of the client's requests.
const REQUESTED: [&str; 7] = ["cancel 4", "cancel 5", "goal 1", "goal 2", "goal 3", "goal 4", "goal 5"];

fn server(graph: &Ros2Graph) -> Peer {
    ready(graph.rclpy(KILTED, "action_server.py", "action_server", &[ACTION, "--introspect"]))
}

/// Records the goals of a client of rclpy. The type of the action is known only from its nodes.
fn record(graph: &Ros2Graph, bag: &Path, words: &[&str]) -> Json {
    let server = server(graph);
    let all = ["--json", "bag", "record", "-O", text(bag), "--ros2"];
    let mut recorder = Recorder::new(graph.running(&[&all[..], words].concat()));
    success(outcome(graph.rclpy(KILTED, "action_client.py", "action_client", &[ACTION])));
    // Two events of each call: 5 goals; results of the 4 accepted ones, and of one that has ended and one that is not known;
    // 5 requests to cancel.
    recorder.wait_for(2 * (5 + 6 + 5));
    drop(server);
    recorder.end()
}

/// What a server has printed, once each goal and each cancel request has reached it. The client also cancels all goals, which
/// may come while some of them run.
fn requested(mut server: Peer) -> Vec<String> {
    let mut lines = Vec::new();
    while !REQUESTED.iter().all(|expected| lines.iter().any(|line| line == expected)) {
        let is_request = |line: &str| line.starts_with("goal ") || line.starts_with("cancel ");
        lines.push(server.wait_for_line(is_request, deadline_in(TIMEOUT)).expect("a request"));
    }
    lines.retain(|line| line.starts_with("goal "));
    lines.sort();
    lines
}

#[test]
fn recorded_goals_are_sent_to_rclpy() {
    let graph = Ros2Graph::new();
    let bag = graph.home().join("goals.mcap");
    let recorded = record(&graph, &bag, &["--actions", ACTION]);
    for part in
        ["send_goal/_service_event", "cancel_goal/_service_event", "get_result/_service_event", "status"]
    {
        let topic = format!("{ACTION}/_action/{part}");
        assert!(recorded["topics"][&topic]["messages"].as_u64() > Some(0), "{topic}: {recorded:#}");
    }
    let server = server(&graph);
    let words = ["bag", "play", text(&bag), "-i", "--send-actions-as-client"];
    let played = success(outcome(graph.running(&words)));
    assert!(
        played.iter().all(|line| !line.contains("warning") && !line.contains("not be published")),
        "{played:#?}"
    );
    assert_eq!(requested(server), REQUESTED[2..], "each goal once");
}

#[test]
fn recorded_topics_of_actions_are_published() {
    let graph = Ros2Graph::new();
    let bag = graph.home().join("all.mcap");
    record(&graph, &bag, &["--all-actions", "--exclude-regex", "get_result"]);
    let info = graph.answer(&["--json", "bag", "info", text(&bag)]);
    let info: Json = serde_json::from_str(&info).expect("JSON");
    let topics: Vec<&str> =
        info["topics"].as_array().into_iter().flatten().filter_map(|topic| topic["topic"].as_str()).collect();
    assert!(!topics.iter().any(|topic| topic.contains("get_result")), "{topics:?}");
    let status = format!("{ACTION}/_action/status");
    let words = [status.as_str(), "--type", "action_msgs/msg/GoalStatusArray", "--show"];
    let mut listener = ready(graph.listener(Origin::Ros2(KILTED), &words));
    let words = ["bag", "play", text(&bag), "-i", "-e", "/status$", "--wait-for-subscribers"];
    success(outcome(graph.running(&words)));
    let all_ended = |line: &str| line.matches("\"status\"").count() == 4;
    listener.wait_for_line(all_ended, deadline_in(TIMEOUT)).expect("the status of the accepted goals");
    let nothing = graph.ran(&["bag", "play", text(&bag), "-i", "--exclude-actions", ACTION]);
    assert_ne!(nothing.code, Some(0), "{}", nothing.output);
    assert!(nothing.error.contains("no topic that can be played"), "{}", nothing.error);
}
