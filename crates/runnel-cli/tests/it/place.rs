//! `runnel place`, with a battery that this process publishes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use runnel::msgs::sensor_msgs::msg::BatteryState;
use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::namespace::require_private_network;
use serde_json::Value as Json;
use tempfile::TempDir;

/// A domain that no other test uses.
const DOMAIN: u16 = 95;

const RULES: &str = r#"
[[node]]
name = "/tracer"
home = "127.0.0.1:9"
[[node.rule]]
name = "battery"
to = "127.0.0.1:8"
when = "/battery percentage < 0.3"
until = "/battery percentage > 0.5"
for = "0 s"
"#;

fn place(rules: &str, words: &[&str]) -> (TempDir, Command) {
    require_private_network();
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    std::fs::write(folder.path().join("rules.toml"), rules).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(["place", "rules.toml", "--ros2"]).args(words).current_dir(folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("ROS_DOMAIN_ID", DOMAIN.to_string()).env_remove("RUNNEL_LOG");
    (folder, command)
}

/// Publishes a battery's state until this is dropped.
fn battery(percentage: f32) -> (Context, runnel::Node, runnel::Timer) {
    let options = ContextOptions::default().graphs(Graphs::Ros2).domain_id(DOMAIN).signals(false);
    let context = Context::with_options(options).expect("a context");
    let node = context.create_node("battery").expect("a node");
    let publisher = node.create_publisher::<BatteryState>("/battery", 10).expect("a publisher");
    let timer = node.create_wall_timer(Duration::from_millis(50), move || {
        let state = BatteryState { percentage, ..BatteryState::default() };
        publisher.publish(state).expect("it is sent");
    });
    let spun = context.clone();
    std::thread::spawn(move || spun.spin());
    (context, node, timer)
}

#[test]
fn rules_see_a_topic_and_say_why() {
    let (context, _node, _timer) = battery(0.25);
    let (_folder, mut command) = place(RULES, &["--dry-run", "--json"]);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let explained: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(explained[0]["to"], "127.0.0.1:8", "{explained}");
    assert_eq!(explained[0]["rules"][0]["why"], "/battery percentage < 0.3 (0.25)", "{explained}");

    let (_folder, mut command) = place(RULES, &["--json"]);
    let mut watching = command.spawn().expect("it starts");
    let mut line = String::new();
    let lines = watching.stdout.take().expect("its output");
    BufReader::new(lines).read_line(&mut line).expect("a line");
    watching.kill().expect("it runs");
    watching.wait().expect("it ends");
    let moved: Json = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&moved["node"], &moved["to"]), (&"/tracer".into(), &"127.0.0.1:8".into()), "{moved}");
    assert_eq!(moved["why"], "battery: /battery percentage < 0.3 (0.25) for 0 ms", "{moved}");
    context.shutdown();
}

#[test]
fn wrong_rules_are_refused_with_their_file_and_line() {
    let (_folder, mut command) = place(&RULES.replace("percentage < 0.3", "percentage"), &["--dry-run"]);
    let output = command.output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in ["rules.toml: ", "line 8", "when = ", "it needs one of <=, >=, ==, !=, <, >"] {
        assert!(error.contains(part), "{part} in: {error}");
    }
}
