//! Commands that are started before the master of ROS 1: in ROS 2 at once, and in ROS 1 as soon as the master is there.

use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin as Ros2Origin, Ros2Graph};
use interop::{Master, Origin, PATIENCE, Server, built, ready};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// A domain of ROS 2 and a master that its programs are told of, which is dead.
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

fn says(peer: &mut Peer, begins: &str) {
    peer.wait_for_line(|line| line.starts_with(begins), deadline_in(PATIENCE)).unwrap();
}

fn ends(mut peer: Peer) {
    peer.signal(Signal::INT).unwrap();
    assert!(peer.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", peer.output());
}

#[test]
fn what_is_echoed_comes_from_ros_2_and_later_from_ros_1_too() {
    let (mut master, graph) = without_master();
    let value = r#"{"data":"from ROS 2"}"#;
    let words = ["/text", "--value", value, "--rate", "20", "--wait", "0"];
    let _talker = ready(graph.talker(Ros2Origin::Ros2(Distro::Kilted), &words));
    let mut echo = running(&graph, &["topic", "echo", "/text"]);
    let missed = format!("no master at {}/: ROS 1 is joined when it answers", master.graph().master_uri());
    says(&mut echo, &missed);
    says(&mut echo, "data: \"from ROS 2\"");
    master.restart();
    let _late = ready(master.graph().talker(Origin::Rospy, &["/text", "--rate", "20", "--wait", "0"]));
    says(&mut echo, "data: \"hello ");
    says(&mut echo, "data: \"from ROS 2\"");
    assert!(!echo.output().contains("[WARN]"), "{}", echo.output());
    ends(echo);
}

#[test]
fn what_is_measured_may_come_from_ros_1_alone() {
    let (mut master, graph) = without_master();
    let measuring = ["hz", "bw", "delay"].map(|command| running(&graph, &["topic", command, "/image"]));
    let mut measuring = measuring.map(|mut peer| {
        says(&mut peer, "subscribed to [/image]");
        peer
    });
    master.restart();
    let words = ["/image", "--type", "sensor_msgs/Image", "--size", "640", "--rate", "20", "--wait", "3"];
    let _talker = ready(master.graph().talker(Origin::Roscpp, &words));
    measuring.iter_mut().for_each(|peer| says(peer, "average"));
    measuring.into_iter().for_each(ends);
}

#[test]
fn what_is_published_goes_to_ros_1_when_it_is_there() {
    let (mut master, graph) = without_master();
    let words = ["topic", "pub", "-r", "20", "/text", "std_msgs/String", "hello"];
    let publishing = running(&graph, &words);
    let mut in_ros2 = graph.listener(Ros2Origin::Ros2(Distro::Kilted), &["/text", "--count", "1"]);
    says(&mut in_ros2, "done");
    master.restart();
    let mut in_ros1 = master.graph().listener(Origin::Roscpp, &["/text", "--count", "1"]);
    says(&mut in_ros1, "done");
    ends(publishing);
}

/// Neither a wait for the master nor a line about it at the end.
#[test]
fn a_command_ends_as_usual_when_the_master_never_came() {
    let (_master, graph) = without_master();
    let time_to_end = || {
        let mut echo = running(&graph, &["topic", "echo", "/text"]);
        says(&mut echo, "waiting for /text");
        let begun = Instant::now();
        echo.signal(Signal::INT).unwrap();
        assert!(echo.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", echo.output());
        let took = begun.elapsed();
        assert_eq!(echo.lines().len(), 2, "{}", echo.output());
        took
    };
    // A busy machine may be that slow now and then.
    assert!((0..5).any(|_| time_to_end() < Duration::from_secs(1)), "it waits for something");
}
