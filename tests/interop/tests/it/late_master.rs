//! Commands started before the ROS 1 master: they use ROS 2 at once, and ROS 1 as soon as the master appears.

use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin as Ros2Origin, Ros2Graph};
use interop::{Master, Origin, Server, TIMEOUT, built, ready};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// A ROS 2 domain whose programs have the address of a master that is not running.
fn without_master() -> (Master, Ros2Graph) {
    let mut master = Master::start(Server::Rosmaster);
    master.kill();
    let graph = Ros2Graph::new().with("ROS_MASTER_URI", master.graph().master_uri());
    (master, graph)
}

fn running(graph: &Ros2Graph, words: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel"));
    command.args(words);
    Peer::spawn("runnel", command).expect("it starts")
}

fn expect_line_start(peer: &mut Peer, begins: &str) {
    peer.wait_for_line(|line| line.starts_with(begins), deadline_in(TIMEOUT)).unwrap();
}

fn ends(mut peer: Peer) {
    peer.signal(Signal::INT).unwrap();
    assert!(peer.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", peer.output());
}

#[test]
fn echo_adds_ros1_when_master_appears() {
    let (mut master, graph) = without_master();
    let value = r#"{"data":"from ROS 2"}"#;
    let words = ["/text", "--value", value, "--rate", "20", "--wait", "0"];
    let _talker = ready(graph.talker(Ros2Origin::Ros2(Distro::Kilted), &words));
    let mut echo = running(&graph, &["topic", "echo", "/text"]);
    let missed = format!("no master at {}/: ROS 1 is joined when it answers", master.graph().master_uri());
    expect_line_start(&mut echo, &missed);
    expect_line_start(&mut echo, "data: \"from ROS 2\"");
    master.restart();
    let _late = ready(master.graph().talker(Origin::Rospy, &["/text", "--rate", "20", "--wait", "0"]));
    expect_line_start(&mut echo, "data: \"hello ");
    expect_line_start(&mut echo, "data: \"from ROS 2\"");
    assert!(!echo.output().contains("[WARN]"), "{}", echo.output());
    ends(echo);
}

#[test]
fn rate_is_measured_in_ros1_only() {
    let (mut master, graph) = without_master();
    let measuring = ["hz", "bw", "delay"].map(|command| running(&graph, &["topic", command, "/image"]));
    let mut measuring = measuring.map(|mut peer| {
        expect_line_start(&mut peer, "subscribed to [/image]");
        peer
    });
    master.restart();
    let words = ["/image", "--type", "sensor_msgs/Image", "--size", "640", "--rate", "20", "--wait", "3"];
    let _talker = ready(master.graph().talker(Origin::Roscpp, &words));
    measuring.iter_mut().for_each(|peer| expect_line_start(peer, "average"));
    measuring.into_iter().for_each(ends);
}

#[test]
fn publisher_adds_ros1_when_master_appears() {
    let (mut master, graph) = without_master();
    let words = ["topic", "pub", "-r", "20", "/text", "std_msgs/String", "hello"];
    let publishing = running(&graph, &words);
    let mut in_ros2 = graph.listener(Ros2Origin::Ros2(Distro::Kilted), &["/text", "--count", "1"]);
    expect_line_start(&mut in_ros2, "done");
    master.restart();
    let mut in_ros1 = master.graph().listener(Origin::Roscpp, &["/text", "--count", "1"]);
    expect_line_start(&mut in_ros1, "done");
    ends(publishing);
}

/// Checks that the command does not wait for the master, nor mention it at the end.
#[test]
fn command_ends_normally_without_master() {
    let (_master, graph) = without_master();
    let time_to_end = || {
        let mut echo = running(&graph, &["topic", "echo", "/text"]);
        expect_line_start(&mut echo, "waiting for /text");
        let begun = Instant::now();
        echo.signal(Signal::INT).unwrap();
        assert!(echo.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", echo.output());
        let took = begun.elapsed();
        assert_eq!(echo.lines().len(), 2, "{}", echo.output());
        took
    };
    // A busy machine is sometimes that slow.
    assert!((0..5).any(|_| time_to_end() < Duration::from_secs(1)), "it waits for something");
}
