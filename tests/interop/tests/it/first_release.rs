//! Interoperation with the first release, whose shared-memory protocol has another version: links with it stay on the
//! network.

use interop::ros2::Ros2Graph;
use interop::{Master, Server, TIMEOUT, built, installed};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const OTHER_VERSION: &str = "another process of this host is of another version of Runnel";

const MESSAGES: usize = 40;

/// The graphs of a command; without a flag, both.
const GRAPHS: [&[&str]; 3] = [&["--ros1"], &["--ros2"], &[]];

fn start(graph: &Ros2Graph, is_first: bool, words: &[&str]) -> Peer {
    let program = if is_first { installed().join("first-release/runnel") } else { built("runnel") };
    assert!(program.exists(), "{}: ./test --full builds it", program.display());
    let mut command = graph.command(program);
    command.args(words);
    Peer::spawn("runnel", command).expect("it starts")
}

fn count(peer: &Peer, what: &str) -> usize {
    peer.output().lines().filter(|line| line.contains(what)).count()
}

/// Checks that each message is received once, and that both ends log once why the link uses the network.
fn exchange_one(graph: &Ros2Graph, first_publishes: bool, graphs: &[&str]) {
    let listen = ["topic", "echo", "/text", "std_msgs/String"];
    let mut echo = start(graph, !first_publishes, &[&listen, graphs].concat());
    let times = MESSAGES.to_string();
    let publish =
        ["topic", "pub", "/text", "std_msgs/String", "data: hello", "-r", "20", "-w", "1", "-n", &times];
    let mut publisher = start(graph, first_publishes, &[&publish, graphs].concat());
    assert!(publisher.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", publisher.output());
    for _ in 0..MESSAGES {
        echo.wait_for_line(|line| line == "data: \"hello\"", deadline_in(TIMEOUT)).unwrap();
    }
    echo.signal(Signal::INT).unwrap();
    echo.wait_exit(deadline_in(TIMEOUT)).unwrap();
    assert_eq!(count(&echo, "data: \"hello\""), MESSAGES, "{graphs:?}: {}", echo.output());
    for peer in [&publisher, &echo] {
        assert_eq!(count(peer, OTHER_VERSION), 1, "{graphs:?}: {}", peer.output());
    }
}

#[test]
#[ignore = "in ./test --full"]
fn links_with_first_release_use_network() {
    let master = Master::start(Server::Runnel);
    let graph = Ros2Graph::new().with("ROS_MASTER_URI", master.graph().master_uri());
    for graphs in GRAPHS {
        exchange_one(&graph, true, graphs);
        exchange_one(&graph, false, graphs);
    }
}
