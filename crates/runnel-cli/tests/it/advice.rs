//! Errors that say what to do, and pairs that exchange no messages, as users of ROS 1 see them.

use std::process::{Command, Stdio};
use std::time::Instant;

use runnel::{Context, ContextOptions, EndpointInfo, EndpointType, Graphs, Ros2Graph};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

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

    /// Runs a command that ends by itself until its standard error has this text: on a busy host it may end before it
    /// has discovered the other programs. Exit code and standard error.
    fn ran_until_discovered(&self, arguments: &[&str], text: &str) -> (Option<i32>, String) {
        let deadline = deadline_in(STEP);
        loop {
            let (code, _, error) = self.ran(arguments);
            if error.contains(text) {
                return (code, error);
            }
            assert!(Instant::now() < deadline, "{arguments:?}: {code:?} {error}");
        }
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
        (&["service", "call", "/powr", "true"], 1, "(see 'runnel service list'). Try: --wait to wait for it"),
        (
            &["interface", "show", "foo"],
            1,
            "Try: source the workspace that defines it, or add --interfaces DIR",
        ),
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

/// In the original, too, a publisher whose messages nobody takes is no error.
#[test]
fn publisher_names_the_policy_of_subscribers_that_do_not_match() {
    let graph = Graph::start("85");
    let _echo = graph.peer(&[
        "topic",
        "echo",
        "/wants",
        "std_msgs/msg/String",
        "--ros2",
        "--qos-durability",
        "transient_local",
        "__name:=mapper",
    ]);
    graph.wait_for(&["topic", "info", "/wants", "--ros2"], |output| output.contains("Subscription count: 1"));
    let publish = ["topic", "pub", "/wants", "std_msgs/msg/String", "hi", "--ros2"];
    let policy = "subscription of /mapper is not matched: durability is volatile at the publisher and transient local at \
                  the subscription (set ";
    for limit in [&["-n", "1"][..], &["-1", "--qos-durability", "volatile", "--keep-alive", "0.5"]] {
        let (code, error) = graph.ran_until_discovered(&[&publish, limit].concat(), policy);
        assert_eq!(code, Some(0), "{error}");
        let delivered =
            "message not delivered: no subscriber of /wants matches (see 'runnel topic info /wants')";
        assert!(error.contains(delivered), "{limit:?}: {error}");
        assert_eq!(error.matches(policy).count(), 1, "{limit:?}: {error}");
    }
    let publish = ["ros2", "topic", "pub", "-1", "/wants", "std_msgs/msg/String", "data: hi"];
    let (code, error) =
        graph.ran_until_discovered(&[&publish[..], &["--max-wait-time-secs", "1"]].concat(), policy);
    assert_eq!(code, Some(1), "{error}");
    assert_eq!(error.matches(policy).count(), 1, "{error}");
    assert!(error.contains("Timed out waiting for subscribers: expected 1, but there are 0"), "{error}");
}

/// Advice within the program `ros2` names commands that it has.
#[test]
fn advice_of_a_linked_program_names_its_own_commands() {
    let graph = Graph::start("86");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (code, _, error) = graph.ran(&["ros2", "link", &folder.display().to_string()]);
    assert_eq!(code, Some(0), "{error}");
    let ros2 = |arguments: &[&str]| {
        let mut command = Command::new(folder.join("ros2"));
        command.args(arguments).stdin(Stdio::null()).env("ROS_DOMAIN_ID", graph.domain);
        let output = command.output().expect("it starts");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (line, advice) in [
        (
            &["service", "call", "/powr", "std_srvs/srv/SetBool", "--timeout", "0.5"][..],
            "(see 'ros2 service list')",
        ),
        (&["action", "info", "/fib"], "(see 'ros2 action list')"),
        (&["lifecycle", "get", "/camera"], "(see 'ros2 lifecycle nodes')"),
        (&["interface", "show", "no_msgs/msg/Such"], "Try: source the workspace that defines it"),
        (&["tpoic", "list"], "did you mean topic?"),
    ] {
        let error = ros2(line);
        assert!(error.contains(advice), "{line:?}: {error}");
        assert!(!error.contains("runnel "), "{line:?}: {error}");
    }
    let (_, _, error) = graph.ran(&["ros2", "action", "info", "/fib"]);
    assert!(error.contains("(see 'runnel ros2 action list')"), "{error}");
}

/// As in ROS 1, the master stops the node that registered first. Its ROS 2 half ends with it.
#[test]
fn dual_node_that_a_later_master_stops_says_so() {
    require_private_network();
    let port = free_port();
    let uri = format!("http://127.0.0.1:{port}/");
    let twin = || {
        let mut command = runnel("87", &["topic", "pub", "/twins", "std_msgs/String", "hi", "__name:=twin"]);
        command.env("ROS_MASTER_URI", &uri);
        Peer::spawn("twin", command).expect("it starts")
    };
    let mut twins = [twin(), twin()];
    let _master =
        Peer::spawn("master", runnel("87", &["master", "--no-rosout", "--port", &port.to_string()]));
    let expected = "node /twin, which is also in ROS 2, is stopped by the ROS 1 master: [/twin] Reason: new node \
                    registered with same name";
    let deadline = deadline_in(STEP);
    while !twins.iter().any(|twin| twin.output().contains(expected)) {
        let output = twins.each_ref().map(Peer::output);
        assert!(Instant::now() < deadline, "{output:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let [one, other] = &mut twins;
    let stopped = if one.output().contains(expected) { one } else { other };
    stopped.wait_exit(deadline_in(STEP)).expect("it ends");
}

/// `runnel log`, while a node collects lines, is one ROS 2 participant.
#[test]
fn follower_of_log_lines_joins_ros_2_once() {
    require_private_network();
    let port = free_port();
    let _master = Peer::spawn("master", runnel("88", &["master", "--port", &port.to_string()]));
    let uri = format!("http://127.0.0.1:{port}/");
    let deadline = deadline_in(STEP);
    let gathers = || {
        let mut list = runnel("88", &["topic", "list", "--ros1"]);
        let output = list.env("ROS_MASTER_URI", &uri).output().expect("it starts");
        String::from_utf8_lossy(&output.stdout).contains("/rosout_agg")
    };
    while !gathers() {
        assert!(Instant::now() < deadline, "the master collects no lines");
    }
    let mut log = runnel("88", &["log"]);
    log.env("ROS_MASTER_URI", &uri);
    let _log = Peer::spawn("log", log).expect("it starts");
    let options = ContextOptions::default().signals(false).graphs(Graphs::Ros2).domain_id(88);
    let context = Context::with_options(options).expect("a context");
    let _node = context.create_node("talker").expect("a node");
    let follows = |graph: &Ros2Graph| {
        let is_follower = |end: &EndpointInfo| {
            end.endpoint_type == EndpointType::Subscription && end.dds_topic == "rt/rosout"
        };
        graph.endpoints.iter().any(is_follower)
    };
    assert!(context.wait_for_ros2_graph(std::time::Duration::from_secs(STEP), follows).expect("it waits"));
    let graph = context.ros2_graph().expect("a graph").expect("it is in ROS 2");
    assert_eq!(graph.participants.iter().filter(|one| !one.is_own).count(), 1, "{graph:?}");
}
