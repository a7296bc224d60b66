//! The program `ros2` while a ROS 1 master runs: it uses only ROS 2.

use std::process::{Command, Stdio};

use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, deadline_in};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// An empty ROS 2 domain for each test.
const PARAMETERS: u16 = 110;
const OTHERS: u16 = 111;

/// A master that runs while commands do.
struct Graph {
    _master: Peer,
    uri: String,
    domain: u16,
}

impl Graph {
    fn start(domain: u16) -> Self {
        require_private_network();
        let master = runnel(domain, &["master", "--no-rosout", "--port", "0"]);
        let mut master = Peer::spawn("master", master).expect("it starts");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        Self { _master: master, uri, domain }
    }

    /// Exit code, standard output and standard error of a command line.
    fn ran(&self, line: &str) -> (Option<i32>, String, String) {
        let mut command = runnel(self.domain, &line.split(' ').collect::<Vec<_>>());
        outcome(command.env("ROS_MASTER_URI", &self.uri))
    }
}

fn runnel(domain: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(arguments).stdin(Stdio::null()).env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn parameters_of_ros_1_stay_as_they_are() {
    let graph = Graph::start(PARAMETERS);
    let set = graph.ran("param set /params speed 1.5");
    let note = "no ROS 2 node /params: /params/speed was set at the ROS 1 master\n";
    assert_eq!(set, (Some(0), String::new(), note.to_owned()));
    assert_eq!(graph.ran("param set --ros1 /params mode a"), (Some(0), String::new(), String::new()));
    for line in [
        "set /params speed 2.0",
        "get /params speed",
        "delete /params speed",
        "list /params",
        "describe /params speed",
        "dump /params",
    ] {
        let ended = graph.ran(&format!("ros2 param {line}"));
        // A note may say that the domain is empty.
        let last = ended.2.lines().next_back();
        assert_eq!((ended.0, ended.1.as_str(), last), (Some(1), "", Some("Node not found")), "{line}");
    }
    for (line, argument) in [
        ("set /params speed", "<VALUE>"),
        ("get /params", "<NAME>"),
        ("delete /params", "NAME"),
        ("load /params", "<FILE>"),
    ] {
        let (code, output, error) = graph.ran(&format!("ros2 param {line}"));
        assert_eq!((code, output.as_str()), (Some(2), ""), "{line}: {error}");
        assert!(error.contains(": error: ") && error.contains(argument), "{line}: {error}");
    }
    let missing = "missing.yaml: No such file or directory\n";
    let loaded = graph.ran("ros2 param load /params missing.yaml");
    assert_eq!(loaded, (Some(1), String::new(), missing.to_owned()));
    let loaded = graph.ran("param load /params missing.yaml");
    assert_eq!(loaded, (Some(1), String::new(), format!("error: {missing}")));
    assert_eq!(graph.ran("param get /params").1, "mode: a\nspeed: 1.5\n");
}

#[test]
fn service_of_ros_1_is_neither_listed_nor_called() {
    let graph = Graph::start(OTHERS);
    let options = ContextOptions::default().signals(false).graphs(Graphs::Ros1);
    let arguments = vec![format!("__master:={}", graph.uri)];
    let context = Context::with_options(options.arguments(arguments)).expect("a context");
    let _old = context.create_node("old").expect("a node");
    let deadline = deadline_in(STEP);
    while !graph.ran("service list").1.contains("/old/get_loggers") {
        assert!(std::time::Instant::now() < deadline, "{:?}", graph.ran("service list"));
    }
    assert_eq!(graph.ran("ros2 service list").1, "");
    let (code, output, error) = graph.ran("ros2 service call /old/get_loggers --timeout 0.5");
    assert_eq!((code, output.as_str()), (Some(1), ""), "{error}");
    assert!(error.contains("no node provides it"), "{error}");
    for line in [
        "param list",
        "param get /a b",
        "service call /a --timeout 0.5",
        "service info /a",
        "action info /a",
        "action list",
    ] {
        let (_, output, error) = graph.ran(&format!("ros2 {line}"));
        assert!(!(output + &error).contains("master"), "{line}");
    }
}
