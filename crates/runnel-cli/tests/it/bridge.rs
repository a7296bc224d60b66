//! `runnel bridge`: topics without a subscriber, and what it leaves behind.

use std::process::{Command, Stdio};
use std::time::Instant;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::misspelt::Spinning;

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// A master with a publisher that is only in ROS 1.
struct Graph {
    _publisher: Peer,
    _master: Peer,
    uri: String,
    domain: u16,
}

fn runnel(domain: u16, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(line.split(' ')).stdin(Stdio::null()).env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

impl Graph {
    fn start(domain: u16) -> Self {
        require_private_network();
        let master = runnel(domain, "master --no-rosout --port 0");
        let mut master = Peer::spawn("master", master).expect("it starts");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        let mut publisher =
            runnel(domain, "topic pub --ros1 -r 10 /old_chatter std_msgs/String hello __name:=talker");
        publisher.env("ROS_MASTER_URI", &uri);
        let publisher = Peer::spawn("publisher", publisher).expect("it starts");
        Self { _publisher: publisher, _master: master, uri, domain }
    }

    fn runnel(&self, line: &str) -> Command {
        let mut command = runnel(self.domain, line);
        command.env("ROS_MASTER_URI", &self.uri);
        command
    }

    fn peer(&self, line: &str) -> Peer {
        Peer::spawn("peer", self.runnel(line)).expect("it starts")
    }

    /// Runs a command until its output is as wanted.
    fn wait_for(&self, line: &str, is_wanted: impl Fn(&str) -> bool) {
        let deadline = deadline_in(STEP);
        loop {
            let output = self.runnel(line).output().expect("it starts");
            let text = String::from_utf8_lossy(&output.stdout);
            if is_wanted(&text) {
                return;
            }
            assert!(Instant::now() < deadline, "{line}: {output:?}");
        }
    }
}

#[test]
fn status_lists_topics_that_wait_for_a_subscriber() {
    let graph = Graph::start(124);
    let mut bridge = graph.peer("bridge");
    let is_greeting = |line: &str| line.contains("bridge between the master http://");
    bridge.wait_for_line(is_greeting, deadline_in(STEP)).expect("it says that it runs");
    let waits = "  /old_chatter (ROS 1, std_msgs/String): waits for a subscriber in ROS 2\n";
    graph.wait_for("bridge --status", |text| text.contains(waits));
    // A command with a type is a subscriber.
    graph.wait_for("ros2 topic echo /old_chatter std_msgs/msg/String --once", |text| {
        text == "data: hello\n---\n"
    });
}

#[test]
fn bridge_of_all_topics_needs_no_subscriber() {
    let graph = Graph::start(125);
    let _bridge = graph.peer("bridge --bridge-all-1to2-topics");
    graph.wait_for("ros2 topic list -t", |text| text.contains("/old_chatter [std_msgs/msg/String]\n"));
    graph.wait_for("ros2 topic echo /old_chatter --once", |text| text == "data: hello\n---\n");
    graph.wait_for("bridge --status", |text| {
        text.contains("  /old_chatter: ROS 1 to ROS 2 (std_msgs/String, std_msgs/msg/String): ")
            && !text.contains("waits for a subscriber in ROS 2")
    });
}

/// A command is in both graphs, so it gets nothing from a bridge.
#[test]
fn messages_of_a_bridge_are_not_mixed_with_their_own() {
    let graph = Graph::start(127);
    let _fresh = graph.peer("topic pub --ros2 -r 10 /fresh std_msgs/String hi __name:=fresh");
    let _listener = graph.peer("topic echo --ros1 /fresh std_msgs/String __name:=listener");
    let _bridge = graph.peer("bridge");
    graph.wait_for("bridge --status", |text| {
        text.contains("  /fresh: ROS 2 to ROS 1 (std_msgs/String, std_msgs/msg/String): ")
            && text.contains(" messages")
    });
    let output = graph.runnel("topic echo /fresh --once").output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "data: \"hi\"\n---\n");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("are mixed"), "{error}");
}

#[test]
fn master_forgets_the_namespaces_of_carried_parameters() {
    let graph = Graph::start(128);
    let robot = Spinning::new(128);
    let node = robot.context.create_node("arm").expect("a node");
    node.declare_parameter("limits.low.hard", 1.0).expect("a parameter");
    let mut bridge = graph.peer("bridge --parameters /arm");
    graph.wait_for("param get --ros1 /arm/limits/low/hard", |text| text == "1.0\n");
    bridge.signal(Signal::INT).expect("it runs");
    bridge.wait_exit(deadline_in(STEP)).expect("it ends");
    let output = graph.runnel("param get --ros1 /arm").output().expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("parameter /arm is not set"), "{output:?}");
}
