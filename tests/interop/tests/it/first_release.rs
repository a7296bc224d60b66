//! The program of the first release, whose sessions in shared memory are of another version: links with it stay on the
//! network.

use interop::ros2::Ros2Graph;
use interop::{Master, PATIENCE, Server, built, installed};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const OTHER_VERSION: &str = "another process of this host is of another version of Runnel";

const MESSAGES: usize = 40;

/// The graphs that a command takes part in: without a word in both.
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

/// Each message goes from one to the other once, and both say once why it goes by the network.
fn talk(graph: &Ros2Graph, first_publishes: bool, graphs: &[&str]) {
    let listen = ["topic", "echo", "/text", "std_msgs/String"];
    let mut echo = start(graph, !first_publishes, &[&listen, graphs].concat());
    let times = MESSAGES.to_string();
    let publish =
        ["topic", "pub", "/text", "std_msgs/String", "data: hello", "-r", "20", "-w", "1", "-n", &times];
    let mut publisher = start(graph, first_publishes, &[&publish, graphs].concat());
    assert!(publisher.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", publisher.output());
    for _ in 0..MESSAGES {
        echo.wait_for_line(|line| line == "data: \"hello\"", deadline_in(PATIENCE)).unwrap();
    }
    echo.signal(Signal::INT).unwrap();
    echo.wait_exit(deadline_in(PATIENCE)).unwrap();
    assert_eq!(count(&echo, "data: \"hello\""), MESSAGES, "{graphs:?}: {}", echo.output());
    for peer in [&publisher, &echo] {
        assert_eq!(count(peer, OTHER_VERSION), 1, "{graphs:?}: {}", peer.output());
    }
}

#[test]
#[ignore = "in ./test --full"]
fn links_with_the_first_release_stay_on_the_network() {
    let master = Master::start(Server::Runnel);
    let graph = Ros2Graph::new().with("ROS_MASTER_URI", master.graph().master_uri());
    for graphs in GRAPHS {
        talk(&graph, true, graphs);
        talk(&graph, false, graphs);
    }
}
