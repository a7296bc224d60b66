//! `runnel bag record` with the originals: its services, its QoS, and the calls of services of rclpy.

use std::fs;
use std::path::Path;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, outcome, ready};
use runnel_testkit::process::{Peer, deadline_in};
use serde_json::{Value as Json, json};

use crate::bag_scene::{Recorder, success, text};

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];
const KILTED: Distro = Distro::Kilted;

/// Calls services of the recorder by rclpy, one after another.
fn ask(graph: &Ros2Graph, calls: &[(&str, &str)]) -> Vec<Json> {
    let words: Vec<String> = calls
        .iter()
        .flat_map(|(service, name)| {
            [
                format!("/rosbag2_recorder/{service}"),
                format!("rosbag2_interfaces/srv/{name}"),
                "{}".to_owned(),
            ]
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answered = success(outcome(graph.rclpy(KILTED, "ask.py", "ask", &words)));
    let answers: Vec<Json> = answered.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(answers.len(), calls.len(), "{answered:#?}");
    answers
}

fn ended(mut recorder: Peer) {
    let ended = recorder.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
    assert!(ended.success(), "{}", recorder.output());
}

/// The topics of a bag.
fn topics(graph: &Ros2Graph, bag: &Path) -> Vec<String> {
    let info: Json =
        serde_json::from_str(&graph.answer(&["--json", "bag", "info", text(bag)])).expect("JSON");
    let topics = info["topics"].as_array().into_iter().flatten();
    topics.filter_map(|topic| topic["topic"].as_str().map(str::to_owned)).collect()
}

#[test]
fn rclpy_controls_the_recorder() {
    let graph = Ros2Graph::new();
    let folder = graph.home().join("run");
    let mut recorder = graph.running(&["ros2", "bag", "record", "/chatter", "-o", text(&folder)]);
    let begins = |line: &str| line.starts_with("recording into ");
    recorder.wait_for_line(begins, deadline_in(TIMEOUT)).expect("it records");
    let calls = [
        ("pause", "Pause"),
        ("is_paused", "IsPaused"),
        ("resume", "Resume"),
        ("is_paused", "IsPaused"),
        ("snapshot", "Snapshot"),
        ("split_bagfile", "SplitBagfile"),
        ("stop_discovery", "StopDiscovery"),
        ("is_discovery_running", "IsDiscoveryRunning"),
        ("stop", "Stop"),
    ];
    let answers = ask(&graph, &calls);
    let expected = [
        json!({}),
        json!({ "paused": true }),
        json!({}),
        json!({ "paused": false }),
        json!({ "success": false }),
        json!({}),
        json!({ "return_code": 0 }),
        json!({ "running": false }),
        json!({}),
    ];
    for ((answer, expected), call) in answers.iter().zip(&expected).zip(calls) {
        let members = expected.as_object().expect("an object");
        assert!(members.iter().all(|(name, value)| answer[name] == *value), "{call:?}: {answer}");
    }
    ended(recorder);
    assert!(folder.join("run_1.mcap").exists(), "it was split");
}

#[test]
fn calls_of_named_services_are_recorded() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let _server = ready(graph.rclpy(distro, "server.py", "server", &["/power", "--introspect"]));
        for (name, options) in [
            ("named", &["--services", "/power"][..]),
            ("all", &["--all-services", "--exclude-services", "/other"]),
        ] {
            let bag = graph.home().join(name).with_extension("mcap");
            let words =
                [&["--json", "bag", "record", "--ros2", "-O", text(&bag), "-l", "4"], options].concat();
            // The server may publish before the recorder has subscribed, so that more calls are made.
            let mut recorder = graph.running(&words);
            let begins = |line: &str| line.starts_with('{');
            recorder.wait_for_line(begins, deadline_in(TIMEOUT)).expect("it records");
            success(outcome(graph.rclpy(distro, "caller.py", "caller", &["/power", "--count", "4"])));
            ended(recorder);
            assert_eq!(topics(&graph, &bag), ["/power/_service_event"], "{options:?}");
        }
    }
}

#[test]
fn rclpy_finds_the_requested_qos() {
    let graph = Ros2Graph::new();
    let overrides = graph.home().join("qos.yaml");
    fs::write(&overrides, "/chatter:\n  reliability: best_effort\n  durability: volatile\n  depth: 3\n")
        .expect("written");
    let bag = graph.home().join("run.mcap");
    // Kept messages of this reliable talker would be requested without the file.
    let talk = ["/chatter", "--durability", "transient_local", "--rate", "20", "--wait", "0"];
    let _talker = graph.talker(Origin::Ros2(KILTED), &talk);
    let mut view = ready(graph.rclpy(KILTED, "graph.py", "view", &[]));
    let words =
        ["--json", "bag", "record", "/chatter", "--ros2", "-O", text(&bag), "--qos-profile-overrides-path"];
    let mut recorder = Recorder::new(graph.running(&[&words[..], &[text(&overrides)]].concat()));
    let is_requested = |line: &str| {
        line.starts_with("+ subscription /chatter of /rosbag2_recorder ")
            && line.contains(" BEST_EFFORT VOLATILE ")
    };
    view.wait_for_line(is_requested, deadline_in(TIMEOUT)).expect("the QoS of the file");
    recorder.wait_for(3);
    recorder.end();
}
