//! The program as scripts use it: exit codes, output streams, several processes in one graph.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// The program, in a ROS 2 domain that no other test uses.
fn runnel(arguments: &[&str]) -> Command {
    static TESTS: AtomicU16 = AtomicU16::new(1);
    thread_local!(static DOMAIN: u16 = TESTS.fetch_add(1, Ordering::Relaxed));
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(arguments).stdin(Stdio::null());
    command.env("ROS_DOMAIN_ID", DOMAIN.with(u16::to_string));
    // A peer on a busy host may need longer than the default of one second.
    command.env("RUNNEL_LINGER", "10");
    for variable in
        ["ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "RUNNEL_LOG"]
    {
        command.env_remove(variable);
    }
    command
}

/// Exit code, standard output and standard error.
fn result(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn ran(arguments: &[&str]) -> (Option<i32>, String, String) {
    result(runnel(arguments).output().expect("it starts"))
}

/// A master, and the commands that use it.
struct Graph {
    master: Peer,
    uri: String,
}

impl Graph {
    fn start() -> Self {
        require_private_network();
        let mut master = Peer::spawn("master", runnel(&["master", "--no-rosout", "--port", "0"]))
            .expect("the master starts");
        let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
        let uri = line.expect("the master prints its URI").replace("ROS_MASTER_URI=", "");
        Self { master, uri }
    }

    fn runnel(&self, arguments: &[&str]) -> Command {
        let mut command = runnel(arguments);
        command.env("ROS_MASTER_URI", &self.uri);
        command
    }

    fn spawn(&self, name: &str, arguments: &[&str]) -> Peer {
        Peer::spawn(name, self.runnel(arguments)).expect("it starts")
    }

    /// Standard output of a command that must succeed with nothing on standard error.
    fn answer(&self, arguments: &[&str]) -> String {
        let mut peer = self.spawn("command", arguments);
        let status = peer.wait_exit(deadline_in(STEP)).expect("it ends by itself");
        assert!(status.success() && !peer.output().contains("    err| "), "{arguments:?}: {}", peer.output());
        peer.lines().iter().map(|line| format!("{line}\n")).collect()
    }

    /// Repeats a command until its output is `expected`.
    fn wait_for(&self, arguments: &[&str], expected: &str) {
        let deadline = deadline_in(STEP);
        while self.answer(arguments) != expected {
            assert!(Instant::now() < deadline, "{arguments:?} never answers {expected:?}");
        }
    }
}

#[test]
fn wrong_usage_gives_exit_code_2() {
    let long = "x".repeat(300);
    for arguments in [
        &["topic", "echo"][..],
        &["topic", "echo", "bad name"],
        &["topic", "echo", &long],
        &["topic", "list", "a:=b-c"],
        &["topic", "pub", "/x", "std_msgs/Int32", "hello"],
        &["topic", "pub", "/x", "std_msgs/Int32", "1", "-r", "0"],
        &["topic", "pub", "/x", "std_msgs/Int32", "1", "-1", "-r", "5"],
        &["topic", "pub", "/x", "std_msgs/Int32", "-5"],
        &["topic", "hz", "/x", "--window", "0"],
        &["topic", "bw", "/x", "-w", "50001"],
        &["interface", "show", "not/a/type/name"],
        &["nonsense"],
    ] {
        let (code, output, error) = ran(arguments);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{arguments:?}: {error}");
    }
}

#[test]
fn invalid_value_error_names_the_parameter() {
    for (value, why) in [("", "a parameter cannot be null"), ("[1", "not YAML: ")] {
        let (code, _, error) = ran(&["param", "set", "speed", value]);
        let is_named = error.starts_with(&format!("error: parameter /speed: {why}"));
        assert!(code == Some(2) && is_named, "{error}");
    }
}

/// Nothing of a file that is broken at its end is set, and the master serves others.
#[test]
fn broken_yaml_sets_no_parameter() {
    let graph = Graph::start();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("robot.yaml");
    std::fs::write(&file, "speed: 5\nrate: 2\nlimits: [1, 2\n").expect("a file");
    let file = file.to_str().expect("UTF-8");
    graph.answer(&["param", "set", "speed", "1"]);
    let output = graph.runnel(&["param", "load", file]).output().expect("it starts");
    let (code, output, error) = result(output);
    assert_eq!((code, output.as_str()), (Some(1), ""), "{error}");
    let is_named = error.starts_with(&format!("error: {file}: not YAML: ")) && error.contains("(line 4, ");
    assert!(is_named && error.lines().count() == 1, "{error}");
    assert_eq!(graph.answer(&["param", "get", "speed"]), "1\n");
    assert_eq!(graph.answer(&["param", "list", "/rate"]), "");
}

#[test]
fn failure_gives_exit_code_1_and_one_line() {
    for arguments in [&["interface", "show", "no_msgs/Such"][..], &["interface", "md5", "Such"]] {
        let (code, output, error) = ran(arguments);
        assert_eq!(
            (code, output.as_str(), error.lines().count()),
            (Some(1), "", 1),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn closed_output_pipe_is_no_failure() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let output =
        runnel(&["interface", "list"]).stdout(writer).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(result(output), (Some(0), String::new(), String::new()));
}

#[test]
fn missing_master_error_says_what_to_do() {
    require_private_network();
    let uri = format!("http://localhost:{}/", free_port());
    for arguments in [
        &["topic", "list", "--ros1"][..],
        &["topic", "echo", "/x", "--ros1"],
        &["node", "list", "--ros1"],
        &["topic", "pub", "/x", "std_msgs/Empty", "--ros1"],
    ] {
        let output = runnel(arguments).env("ROS_MASTER_URI", &uri).output().expect("it starts");
        let (code, output, error) = result(output);
        assert_eq!((code, output.as_str()), (Some(1), ""));
        let expected =
            format!("error: cannot reach the master at {uri}: connection refused (is it running? start one");
        assert!(error.starts_with(&expected) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn echo_prints_messages_and_learns_their_type() {
    let graph = Graph::start();
    let mut echo = graph.spawn("echo", &["topic", "echo", "/chatter", "-n", "2"]);
    echo.wait_for_line(|line| line == "waiting for /chatter: no publisher yet", deadline_in(STEP))
        .expect("a note");
    graph.answer(&["topic", "pub", "-n", "2", "-r", "100", "/chatter", "std_msgs/String", "hello"]);
    assert!(echo.wait_exit(deadline_in(STEP)).expect("two messages are enough").success());
    let printed: Vec<String> =
        echo.lines().into_iter().filter(|line| !line.starts_with(['w', '['])).collect();
    assert_eq!(printed, ["data: \"hello\"", "---", "data: \"hello\"", "---"]);
}

#[test]
fn commands_show_a_running_graph() {
    let graph = Graph::start();
    let publish =
        ["topic", "pub", "/a/b", "geometry_msgs/Point", "[1, 2, 3]", "-r", "50", "--ros1", "__name:=source"];
    let mut source = graph.spawn("source", &publish);
    graph.wait_for(&["topic", "list"], "/a/b\n");
    assert_eq!(graph.answer(&["topic", "echo", "/a/b/y", "--once"]), "2.0\n---\n");
    assert_eq!(graph.answer(&["topic", "echo", "b", "__ns:=/a", "--once", "--csv"]), "1.0,2.0,3.0\n");
    assert_eq!(graph.answer(&["topic", "list", "-t"]), "/a/b [geometry_msgs/Point]\n");
    assert_eq!(graph.answer(&["topic", "list", "/b"]), "");
    assert_eq!(graph.answer(&["topic", "find", "geometry_msgs/msg/Point"]), "/a/b\n");
    assert_eq!(graph.answer(&["node", "list", "--json"]), "[\"/source\"]\n");
    let info = graph.answer(&["node", "info", "source", "--json"]);
    assert!(
        info.contains("\"publications\":[{\"topic\":\"/a/b\",\"type\":\"geometry_msgs/Point\"}]"),
        "{info}"
    );
    assert!(info.contains(&format!("\"pid\":{}", source.id())), "{info}");
    assert_eq!(graph.answer(&["node", "kill", "/source"]), "killed /source\n");
    assert!(source.wait_exit(deadline_in(STEP)).expect("it is shut down").success());
    assert_eq!(graph.answer(&["node", "list"]), "");
}

#[test]
fn dead_node_is_cleaned_up() {
    let graph = Graph::start();
    let mut victim = graph.spawn("victim", &["topic", "echo", "/x", "--ros1", "__name:=victim"]);
    victim.wait_for_line(|line| line.starts_with("waiting"), deadline_in(STEP)).expect("it listens");
    graph.wait_for(&["node", "list"], "/victim\n");
    victim.signal(Signal::KILL).expect("it runs");
    victim.wait_exit(deadline_in(STEP)).expect("it is dead");
    assert_eq!(graph.answer(&["node", "cleanup", "--yes"]), "unregistered /victim\n");
    assert_eq!(graph.answer(&["node", "cleanup", "--yes"]), "All nodes answer.\n");
}

#[test]
fn master_starts_without_a_writable_log() {
    require_private_network();
    let mut command = runnel(&["master", "--port", "0"]);
    command.env("ROS_LOG_DIR", "/dev/null/no/folder");
    let mut master = Peer::spawn("master", command).expect("it starts");
    master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP)).expect("it listens");
    master.signal(Signal::INT).expect("it runs");
    assert!(master.wait_exit(deadline_in(STEP)).expect("it ends").success());
    // Checked after the end: two threads read the two streams, in any order.
    let warning = "[WARN] cannot log to /dev/null/no/folder/rosout.log: ";
    assert!(master.output().contains(warning), "{}", master.output());
}

#[test]
fn master_warns_that_nodes_look_at_another_address() {
    require_private_network();
    let mut command = runnel(&["master", "--port", "0"]);
    command.env("ROS_MASTER_URI", "http://robot.invalid:11311");
    let mut master = Peer::spawn("master", command).expect("it starts");
    let line = master
        .wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP))
        .expect("it listens");
    master.signal(Signal::INT).expect("it runs");
    assert!(master.wait_exit(deadline_in(STEP)).expect("it ends").success());
    let output = master.output();
    assert!(output.contains("[WARN] ROS_MASTER_URI is http://robot.invalid:11311"), "{output}");
    assert!(output.contains("'--host robot.invalid'") && output.contains(&format!("or {line} ")), "{output}");
}

#[test]
fn default_master_serves_ipv6_clients() {
    require_private_network();
    let with_ipv6 = |arguments: &[&str]| {
        let mut command = runnel(arguments);
        command.env("ROS_IPV6", "on").env_remove("ROS_MASTER_URI");
        command
    };
    let mut master = Peer::spawn("master", with_ipv6(&["master"])).expect("it starts");
    let line = master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(STEP));
    assert_eq!(line.expect("it listens"), "ROS_MASTER_URI=http://localhost:11311/");
    let listed = result(with_ipv6(&["node", "list"]).output().expect("it starts"));
    assert_eq!(listed, (Some(0), "/rosout\n".into(), String::new()));
    master.signal(Signal::INT).expect("it runs");
    assert!(master.wait_exit(deadline_in(STEP)).expect("it ends").success());
}

#[test]
fn ctrl_c_ends_running_commands_with_success() {
    let mut graph = Graph::start();
    let mut echo = graph.spawn("echo", &["topic", "echo", "/x"]);
    echo.wait_for_line(|line| line.starts_with("waiting"), deadline_in(STEP)).expect("it listens");
    let mut hz = graph.spawn("hz", &["topic", "hz", "/x"]);
    hz.wait_for_line(|line| line == "no new messages", deadline_in(STEP)).expect("it counts");
    for mut peer in [echo, hz] {
        peer.signal(Signal::INT).expect("it runs");
        assert!(peer.wait_exit(deadline_in(STEP)).expect("it ends").success(), "{}", peer.name());
    }
    graph.master.signal(Signal::INT).expect("it runs");
    assert!(graph.master.wait_exit(deadline_in(STEP)).expect("it ends").success());
}

#[test]
fn documents_of_standard_input_are_published_in_order() {
    let graph = Graph::start();
    let mut echo = graph.runnel(&["topic", "echo", "/n", "-n", "100", "--csv"]);
    let mut echo = echo.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let documents: String = (0..100).map(|number| format!("{number}\n---\n")).collect();
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let mut publish = graph.runnel(&["topic", "pub", "/n", "std_msgs/Int32", "--stdin", "--wait", "1"]);
    let mut publish = publish.stdin(reader).stderr(Stdio::null()).spawn().expect("it starts");
    io::Write::write_all(&mut writer, documents.as_bytes()).expect("it reads");
    drop(writer);
    let mut printed = String::new();
    echo.stdout.take().expect("it is piped").read_to_string(&mut printed).expect("text");
    assert!(echo.wait().expect("it ends").success() && publish.wait().expect("it ends").success());
    assert_eq!(printed, (0..100).map(|number| format!("{number}\n")).collect::<String>());
}

#[test]
fn doctor_reports_a_dead_master_only() {
    let mut graph = Graph::start();
    let mut echo = graph.spawn("echo", &["topic", "echo", "--ros1", "/t"]);
    let publish = ["topic", "pub", "--ros1", "-r", "10", "/t", "std_msgs/String", "hello"];
    let _publisher = graph.spawn("publisher", &publish);
    echo.wait_for_line(|line| line.contains("hello"), deadline_in(STEP)).expect("they are connected");
    let sound = "checked 2 nodes, 1 topic, 1 connection, 0 services\nno problems found\n";
    assert_eq!(graph.answer(&["doctor", "--all"]), sound);
    graph.master.signal(Signal::KILL).expect("it runs");
    graph.master.wait_exit(deadline_in(STEP)).expect("it ends");
    let (code, output, error) = result(graph.runnel(&["doctor"]).output().expect("it starts"));
    assert_eq!((code, error.as_str()), (Some(1), ""), "{output}");
    assert!(output.starts_with("error: master: no process listens at http://"), "{output}");
}

#[test]
fn empty_graphs_are_named_in_one_line() {
    require_private_network();
    let asked = |line: &[&str]| {
        let mut command = runnel(line);
        command.env("ROS_MASTER_URI", "http://127.0.0.1:1/").env("ROS_DOMAIN_ID", "100");
        result(command.output().expect("it starts"))
    };
    let both = "no graph found: no master answers at http://127.0.0.1:1/, and no ROS 2 participant in domain 100 \
                within 1 s (see --wait)\n";
    let ros2 = "no graph found: no ROS 2 participant in domain 100 within 0.3 s (see --wait)\n";
    for command in [["topic", "list"], ["node", "list"]] {
        assert_eq!(asked(&command), (Some(1), String::new(), both.to_owned()), "as rostopic and rosnode");
        let narrow = [&command[..], &["--ros2", "--wait", "0.3"]].concat();
        assert_eq!(asked(&narrow), (Some(0), String::new(), ros2.to_owned()));
    }
    let (code, _, error) = asked(&["topic", "info", "/a"]);
    assert_eq!((code, error), (Some(1), format!("{both}error: no topic /a (see 'runnel topic list')\n")));
    assert_eq!(asked(&["topic", "list", "--json"]), (Some(1), "[]\n".to_owned(), String::new()));
}

#[test]
fn message_without_subscriber_causes_a_warning() {
    let graph = Graph::start();
    let line = |kept| ["topic", "pub", "-1", "-k", kept, "/t", "std_msgs/String", "hello"];
    let (code, _, error) = result(graph.runnel(&line("0.5")).output().expect("it starts"));
    assert!(
        code == Some(0) && error.ends_with("message not delivered: no subscriber on /t within 0.5 s\n"),
        "{error}"
    );
    let mut echo = graph.spawn("echo", &["topic", "echo", "/t", "--once"]);
    graph.wait_for(&["topic", "list", "-s"], "/t\n");
    // Long enough to connect on a busy host.
    let (code, _, error) = result(graph.runnel(&line("5")).output().expect("it starts"));
    assert!(code == Some(0) && !error.contains("not delivered"), "{error}");
    assert!(echo.wait_exit(deadline_in(STEP)).expect("it gets the message").success());
}

#[test]
fn incompatible_subscriber_is_not_reported_as_missing() {
    let graph = Graph::start();
    let refused = |line: &[&str]| {
        let words = [&["topic", "pub", "-1", "-k", "0.5"], line].concat();
        let deadline = deadline_in(STEP);
        // On a busy host it may not discover the subscriber in time.
        loop {
            let (code, _, error) = result(graph.runnel(&words).output().expect("it starts"));
            assert!(code == Some(0) && !error.contains("()"), "{error}");
            if error.contains("message not delivered: no subscriber of /t matches") {
                return error;
            }
            assert!(Instant::now() < deadline, "{error}");
        }
    };
    let is_there = || {
        let listed = graph.runnel(&["topic", "list", "-s", "--ros2"]).output().expect("it starts");
        result(listed).1 == "/t\n"
    };
    let wait = || {
        let deadline = deadline_in(STEP);
        while !is_there() {
            assert!(Instant::now() < deadline, "no subscriber");
        }
    };
    let mut echo = graph.spawn("echo", &["topic", "echo", "/t", "std_msgs/Int32", "--ros2"]);
    wait();
    refused(&["/t", "std_msgs/String", "hello", "--ros2"]);
    let offered = ["/t", "std_msgs/Int32", "1", "--ros2", "--qos-reliability", "best_effort"];
    echo.signal(Signal::INT).expect("it runs");
    echo.wait_exit(deadline_in(STEP)).expect("it ends");
    let asks = ["topic", "echo", "/t", "std_msgs/Int32", "--ros2", "--qos-reliability", "reliable"];
    let _echo = graph.spawn("echo", &asks);
    wait();
    let error = refused(&offered);
    assert!(error.contains("(set reliable at the publisher, or best effort at the subscription)"), "{error}");
}

#[test]
fn several_fields_of_a_message_are_printed() {
    let graph = Graph::start();
    let fields = ["--field", "layout.data_offset", "--field", "data[1:]", "--once"];
    let line = [&["topic", "echo", "--ros1", "/t", "std_msgs/UInt8MultiArray"], &fields[..]].concat();
    let mut echo = graph.spawn("echo", &line);
    let mut json = graph.spawn("json", &[&line[..], &["--json"]].concat());
    graph.wait_for(&["topic", "list", "-s", "--ros1"], "/t\n");
    let subscribers = || graph.answer(&["topic", "info", "/t", "--ros1"]).matches("/runnel_echo").count();
    let until = deadline_in(STEP);
    while subscribers() < 2 {
        assert!(Instant::now() < until, "both subscribe");
    }
    let message = "{layout: {data_offset: 7}, data: [1, 2, 3]}";
    graph.answer(&["topic", "pub", "-n", "1", "/t", "std_msgs/UInt8MultiArray", message]);
    for peer in [&mut echo, &mut json] {
        assert!(peer.wait_exit(deadline_in(STEP)).expect("it prints one").success());
    }
    let lines = echo.lines();
    assert!(lines.windows(3).any(|lines| lines == ["7", "[2, 3]", "---"]), "{lines:?}");
    let lines = json.lines();
    assert!(lines.iter().any(|line| line == r#"{"layout.data_offset":7,"data[1:]":[2,3]}"#), "{lines:?}");
}

#[test]
fn missing_element_is_reported_once() {
    let graph = Graph::start();
    let line = ["topic", "echo", "--ros1", "--field", "data[1]", "--once", "/t", "std_msgs/UInt8MultiArray"];
    let mut echo = graph.spawn("echo", &line);
    graph.wait_for(&["topic", "list", "-s", "--ros1"], "/t\n");
    for data in ["data: [1]", "data: [1, 2]"] {
        graph.answer(&["topic", "pub", "-n", "3", "-r", "100", "/t", "std_msgs/UInt8MultiArray", data]);
    }
    assert!(echo.wait_exit(deadline_in(STEP)).expect("it prints one").success());
    let lines = echo.lines();
    let reports = lines.iter().filter(|line| line.contains("data[1]: no such element; the array has 1;"));
    assert!(reports.count() == 1 && lines.contains(&"2".to_owned()), "{lines:?}");
}

#[test]
fn topic_info_shows_transport_and_message_count() {
    require_private_network();
    let spawned = |arguments: &[&str]| {
        let mut command = runnel(arguments);
        command.env("ROS_MASTER_URI", "http://127.0.0.1:1/");
        Peer::spawn(arguments[1], command).expect("it starts")
    };
    let _publisher = spawned(&["topic", "pub", "-r", "50", "/t", "std_msgs/msg/String", "hello", "--ros2"]);
    let mut echo = spawned(&["topic", "echo", "/t", "std_msgs/msg/String", "--ros2"]);
    let info = |echo: &mut Peer| {
        echo.wait_for_line(|line| line == "data: \"hello\"", deadline_in(STEP)).expect("it gets messages");
        // Without text if the publisher does not answer in time.
        ran(&["topic", "info", "-v", "/t", "--ros2"])
    };
    let count = |text: &str, word: &str| {
        let line = text.lines().find(|line| line.ends_with(&format!(" {word}, 0 dropped")));
        line.and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok())
    };
    let begun = Instant::now();
    loop {
        let (code, text, error) = info(&mut echo);
        let [published, received] = ["published", "received"].map(|word| count(&text, word));
        let in_memory =
            text.lines().any(|line| line.starts_with("Link from /_runnel_pub_") && line.ends_with(": SHM"));
        if (code, error.as_str()) == (Some(0), "") && in_memory && published > Some(10) && received > Some(10)
        {
            break;
        }
        assert!(begun.elapsed().as_secs() < STEP, "{code:?}: {text}{error}");
    }
}

#[test]
fn command_nodes_are_hidden_in_ros_2_unless_named() {
    let graph = Graph::start();
    let nodes = |arguments: &[&str], expected: &dyn Fn(&[String]) -> bool| {
        let deadline = deadline_in(STEP);
        loop {
            let (_, listed, _) = result(graph.runnel(arguments).output().expect("it starts"));
            let listed: Vec<String> = listed.lines().map(str::to_owned).collect();
            if expected(&listed) {
                return;
            }
            assert!(Instant::now() < deadline, "{arguments:?}: {listed:?}");
        }
    };
    let only = |start: &'static str| move |all: &[String]| all.len() == 1 && all[0].starts_with(start);
    let echo = graph.spawn("echo", &["topic", "echo", "/t", "std_msgs/String", "--ros2"]);
    nodes(&["node", "list", "-a", "--ros2"], &|all| all.iter().any(|line| line.contains("/_runnel_echo_")));
    nodes(&["node", "list", "--ros2"], &|all| all.is_empty());
    let named = graph.spawn("named", &["topic", "echo", "/t", "std_msgs/String", "__name:=watcher"]);
    nodes(&["node", "list", "--ros2"], &only("/watcher"));
    drop((echo, named));
    nodes(&["node", "list", "--ros1"], &|all| all.is_empty());
    let dual = graph.spawn("dual", &["topic", "echo", "/t", "std_msgs/String"]);
    nodes(&["ros1", "rosnode", "list"], &only("/_runnel_echo_"));
    nodes(&["node", "list"], &|all| all.is_empty());
    drop(dual);
    // ROS 1 hides no nodes. Its users know nodes of tools by the name of the tool.
    let words = ["ros1", "rostopic", "pub", "/t", "std_msgs/String", "x"];
    let process = graph.spawn("rostopic", &words);
    let expected = format!("/rostopic_{}_", process.id());
    nodes(&["ros1", "rosnode", "list"], &|all| all.iter().any(|line| line.starts_with(&expected)));
    nodes(&["node", "list", "--ros1"], &|all| all.iter().any(|line| line.starts_with(&expected)));
    drop(process);
    let _ros1 = graph.spawn("ros1", &["topic", "echo", "/t", "std_msgs/String", "--ros1"]);
    nodes(&["node", "list", "--ros1"], &|all| all.iter().any(|line| line.starts_with("/runnel_echo_")));
}

#[test]
fn completion_offers_the_type_of_the_topic() {
    let graph = Graph::start();
    let _publisher =
        graph.spawn("publisher", &["topic", "pub", "-r", "10", "/flag", "std_msgs/Bool", "true"]);
    graph.wait_for(&["topic", "-v", "find", "std_msgs/Bool"], "/flag\n");
    let offered = |topic: &str| {
        let line = ["--", "runnel", "topic", "pub", "-r", "5", topic, "std_msgs/B"];
        let mut command = graph.runnel(&line);
        command.env("RUNNEL_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "6");
        command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_IFS", " ");
        result(command.output().expect("it starts"))
    };
    // The shell waits only 300 ms, in which the master may not answer on a busy host.
    let is_offered = |topic: &str| {
        let expected = (Some(0), "std_msgs/Bool".to_owned(), String::new());
        let deadline = deadline_in(STEP);
        while offered(topic) != expected {
            assert!(Instant::now() < deadline, "{topic}: {:?}", offered(topic));
        }
    };
    is_offered("/flag");
    is_offered("flag");
    let (_, others, _) = offered("/none");
    assert_eq!(others, "std_msgs/Bool std_msgs/Byte std_msgs/ByteMultiArray");
}
