//! Nodes in WebAssembly that are written to a file, and go on in another process: the guests of `guests/`, which `./test`
//! builds, among rclpy, rospy and native programs.

use std::fs;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{Master, Server, TIMEOUT, folder, outcome, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

/// A graph whose nodes in WebAssembly no other test sees.
fn graph() -> Ros2Graph {
    let graph = Ros2Graph::new();
    let home = graph.home().to_str().expect("a name in UTF-8").to_owned();
    graph.with("XDG_RUNTIME_DIR", home.clone()).with("TMPDIR", home)
}

fn guest(name: &str) -> String {
    let module = folder().join("../guests").join(format!("{name}.wasm"));
    assert!(module.is_file(), "{} is missing: run ./test, or guests/build", module.display());
    module.to_str().expect("a name in UTF-8").to_owned()
}

fn run(graph: &Ros2Graph, name: &str) -> Peer {
    graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest(name)])
}

/// Writes a node to a file once it is there, and ends it.
fn save(graph: &Ros2Graph, node: &str, process: Peer) {
    wait_until("the node can be written", deadline_in(TIMEOUT), || {
        graph.ran(&["wasm", "checkpoint", node, "-o", "saved", "--stop"]).code == Some(0)
    });
    assert_eq!(outcome(process).code, Some(0));
}

/// The numbers in `got N {"data":"hello 5"}`, up to one that is greater than `than`.
fn numbers(listener: &mut Peer, than: i64) -> Vec<i64> {
    let number = |line: &str| line.split_once("hello ")?.1.split('"').next()?.parse().ok();
    let is_last = |line: &str| number(line).is_some_and(|number: i64| number > than);
    listener.wait_for_line(is_last, deadline_in(TIMEOUT)).expect("a greeting");
    listener.lines().iter().filter_map(|line| number(line)).collect()
}

#[test]
fn rclpy_hears_a_talker_go_on_in_another_process() {
    let has_assemblyscript = std::env::var_os("RUNNEL_TEST_NO_ASSEMBLYSCRIPT").is_none();
    for talker in ["talker"].into_iter().chain(has_assemblyscript.then_some("talker_as")) {
        let graph = graph();
        let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "0", "--show"];
        let mut listener = ready(graph.listener(KILTED, &arguments));
        let first = run(&graph, talker);
        let before = *numbers(&mut listener, 3).last().expect("a number");
        save(&graph, "/talker", first);
        for engine in [&["--interpreter"][..], &[]] {
            let module = guest(talker);
            let words = [&["wasm", "restore", "saved", &module, "--allow-all"], engine].concat();
            let restored = graph.running(&words);
            let all = numbers(&mut listener, before + 10);
            assert!(all.is_sorted_by(|a, b| a < b), "{talker}: it neither repeats nor begins again: {all:?}");
            restored.signal(Signal::KILL).expect("it runs");
            if engine.is_empty() {
                break;
            }
            // The second one begins where the first one did.
            listener = ready(graph.listener(KILTED, &arguments));
        }
    }
}

#[test]
fn parameters_services_and_actions_go_on() {
    let graph = graph();
    let module = guest("fibonacci_server");
    let first =
        graph.running(&["wasm", "run", "--ros2", "--allow-all", &module, "--ros-args", "-p", "period:=0.2"]);
    let set = ["param", "set", "--ros2", "/fibonacci_server", "period", "0.05"];
    wait_until("the parameter is set", deadline_in(TIMEOUT), || graph.ran(&set).code == Some(0));
    save(&graph, "/fibonacci_server", first);
    let words = [
        "wasm",
        "restore",
        "saved",
        &module,
        "--allow-all",
        "--interpreter",
        "--ros-args",
        "-p",
        "period:=9.0",
    ];
    let _restored = graph.running(&words);
    let get = ["param", "get", "--ros2", "/fibonacci_server", "period"];
    wait_until("the node is there", deadline_in(TIMEOUT), || graph.ran(&get).code == Some(0));
    let value = graph.answer(&get);
    assert!(value.contains("0.05"), "what it was set to, not what it would begin with: {value}");
    let mut client =
        graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest("fibonacci_client"), "--", "3"]);
    assert!(client.wait_exit(deadline_in(TIMEOUT)).expect("it ends").success(), "{}", client.output());
    assert_eq!(client.lines().last().map(String::as_str), Some("SUCCEEDED [0, 1, 1, 2]"));
}

#[test]
fn node_of_ros1_keeps_its_arguments() {
    let master = Master::start(Server::Rosmaster);
    let graph = graph().with_master(master.graph());
    let mut echo = master.graph().tool("rostopic", &["echo", "/speech"]);
    let words =
        ["wasm", "run", "--ros1", "--allow-all", "chatter:=/speech", "__name:=speaker", &guest("talker")];
    let first = graph.running(&words);
    let hello = |line: &str| line.starts_with("data: \"hello ");
    echo.wait_for_line(hello, deadline_in(TIMEOUT)).expect("a greeting");
    save(&graph, "/speaker", first);
    let heard = echo.lines().len();
    let _restored = graph.running(&["wasm", "restore", "saved", &guest("talker"), "--allow-all"]);
    wait_until("it is heard again", deadline_in(TIMEOUT), || echo.lines().len() > heard + 10);
    let number = |line: &String| line.split_once("hello ")?.1.trim_end_matches('"').parse::<u32>().ok();
    let numbers: Vec<u32> = echo.lines().iter().filter_map(number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn errors_say_why_and_what_helps() {
    let graph = graph();
    let why = |words: &[&str]| {
        let ran = graph.ran(words);
        assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.error);
        ran.error
    };
    let missing = why(&["wasm", "checkpoint", "/nobody", "-o", "saved"]);
    assert!(missing.contains("/nobody: no node in WebAssembly of this user runs on this host"), "{missing}");
    let process = run(&graph, "counter");
    wait_until("the node runs", deadline_in(TIMEOUT), || {
        why(&["wasm", "checkpoint", "/nobody", "-o", "saved"]).contains("but /counter")
    });
    let folder = why(&["wasm", "checkpoint", "/counter", "-o", "missing/saved"]);
    assert!(folder.contains("missing/saved"), "{folder}");
    save(&graph, "/counter", process);
    fs::write(graph.home().join("text"), "no checkpoint").unwrap();
    assert!(why(&["wasm", "restore", "text", &guest("talker")]).contains("text: it is no checkpoint"));
    let other = why(&["wasm", "restore", "saved", &guest("talker"), "--allow-all"]);
    assert!(other.contains("the checkpoint is of a node of module"), "{other}");
    let nowhere = why(&["wasm", "restore", "saved", "nowhere.wasm"]);
    assert!(nowhere.contains("nowhere.wasm: No such file"), "{nowhere}");
    let bare = guest("counter");
    let unlike = graph.answer(&["wasm", "compile", &bare, "--no-checkpoint", "-o", "bare.cwasm"]);
    let bare = why(&["wasm", "restore", "saved", "bare.cwasm", "--allow-all"]);
    assert!(bare.contains("it was compiled with --no-checkpoint"), "{bare} {unlike}");
    let limited = graph.home().join("limited.toml");
    fs::write(&limited, "nodes = [\"counter\"]").unwrap();
    let refused = why(&["wasm", "restore", "saved", &guest("counter"), "--manifest", "limited.toml"]);
    assert!(refused.contains("the manifest does not allow count"), "{refused}");
}
