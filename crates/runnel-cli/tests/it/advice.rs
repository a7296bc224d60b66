//! Errors that say what to do, and pairs that exchange no messages, as users of ROS 1 see them.

use std::process::{Command, Stdio};
use std::time::Instant;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 20;

/// A master, and commands in a ROS 2 domain of their own.
struct Graph {
    _master: Peer,
    uri: String,
    domain: &'static str,
}

fn runnel(domain: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(arguments).stdin(Stdio::null()).env("ROS_DOMAIN_ID", domain);
    for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

impl Graph {
    fn start(domain: &'static str) -> Self {
        require_private_network();
        let master = runnel(domain, &["master", "--no-rosout", "--port", "0"]);
        let mut master = Peer::spawn("master", master).expect("it starts");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        Self { _master: master, uri, domain }
    }

    fn runnel(&self, arguments: &[&str]) -> Command {
        let mut command = runnel(self.domain, arguments);
        command.env("ROS_MASTER_URI", &self.uri);
        command
    }

    fn peer(&self, arguments: &[&str]) -> Peer {
        Peer::spawn(arguments[1], self.runnel(arguments)).expect("it starts")
    }

    /// Exit code, standard output and standard error.
    fn ran(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.runnel(arguments).output().expect("it starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Runs a command until its output is as wanted.
    fn wait_for(&self, arguments: &[&str], is_wanted: impl Fn(&str) -> bool) {
        let deadline = deadline_in(STEP);
        loop {
            let (_, output, error) = self.ran(arguments);
            if is_wanted(&output) {
                return;
            }
            assert!(Instant::now() < deadline, "{arguments:?}: {output}{error}");
        }
    }
}

#[test]
fn type_mismatch_of_ros_1_is_shown_by_info() {
    let graph = Graph::start("81");
    let _publisher =
        graph.peer(&["topic", "pub", "/chatter", "std_msgs/String", "hello", "--ros1", "__name:=talker"]);
    let _subscriber =
        graph.peer(&["topic", "echo", "/chatter", "std_msgs/Int32", "--ros1", "__name:=listener"]);
    let expected = "\nNo messages from publisher /talker to subscriber /listener: type mismatch: std_msgs/String and \
                    std_msgs/Int32. Try: one type at both ends\n";
    graph.wait_for(&["topic", "info", "/chatter", "--ros1"], |output| output.contains(expected));
}

/// Commands that listen in both graphs do not make a ROS 1 graph a ROS 2 one.
#[test]
fn nodes_of_commands_are_no_ros_2_participants() {
    let graph = Graph::start("82");
    let _echo = graph.peer(&["topic", "echo", "/foo"]);
    graph.wait_for(&["node", "list", "--all"], |output| output.contains("_runnel_echo_"));
    assert_eq!(graph.ran(&["param", "list"]), (Some(0), String::new(), String::new()));
    let (_, output, _) = graph.ran(&["doctor"]);
    assert!(!output.contains("ROS 2: "), "{output}");
}

#[test]
fn errors_name_the_next_step() {
    let graph = Graph::start("83");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["service", "call", "/powr", "true"], 1, "(see 'runnel service list')"),
        (&["interface", "show", "foo"], 1, "Try: --interfaces FOLDER"),
        (&["topic", "echo", "/scan", "--field", "ranges["], 2, "not a path such as"),
        (&["topic", "pub", "-1", "/a", "std_msgs/Int8", "{data: ["], 2, "error: not YAML: "),
        (&["master", "--host", "203.0.113.7"], 1, ": 203.0.113.7 is not an address of this host"),
    ];
    for (line, expected, text) in cases {
        let (code, _, error) = graph.ran(line);
        assert!(code == Some(expected) && error.contains(text), "{line:?}: {code:?} {error}");
    }
}

#[test]
fn interrupted_wait_for_an_action_server_is_named() {
    let graph = Graph::start("84");
    let mut waits = graph.peer(&["action", "send_goal", "/add", "actionlib/TwoInts"]);
    waits.wait_for_line(|line| line.contains("waiting for a server"), deadline_in(STEP)).expect("it waits");
    waits.signal(Signal::INT).expect("it runs");
    assert_eq!(waits.wait_exit(deadline_in(STEP)).expect("it ends").code(), Some(1));
    assert!(
        waits.output().contains("action /add: interrupted while waiting for a server"),
        "{}",
        waits.output()
    );
}
