//! Discovery data of Runnel as seen by ROS 2 originals, and validity of its traffic. The table of `ros2_table` has
//! the exchanges with each implementation.

use interop::capture::Capture;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_checks::{BYTES, Pair, check_exchange, expect_line};
use interop::{Master, Server, TIMEOUT, ready};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Graphs};
use runnel_testkit::process::{Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);
const JAZZY: Origin = Origin::Ros2(Distro::Jazzy);

const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

#[test]
fn runnel_pair_exchanges_messages() {
    check_exchange(Origin::Runnel, Origin::Runnel, "100000");
}

#[test]
fn incompatible_policy_is_named() {
    let graph = Ros2Graph::new();
    for (policy, offered, requested) in [
        ("reliability", ["--reliability", "best_effort"], ["--reliability", "reliable"]),
        ("durability", ["--durability", "volatile"], ["--durability", "transient_local"]),
        ("deadline", ["--depth", "5"], ["--deadline", "0.5"]),
    ] {
        let topic = format!("/{policy}");
        let mut talker = graph.talker(Origin::Runnel, &[&[topic.as_str()], &offered[..]].concat());
        let mut listener = graph.listener(JAZZY, &[&[topic.as_str()], &requested[..]].concat());
        expect_line(&mut listener, &format!("incompatible {policy} 1"));
        let logged = |line: &str| {
            line.contains(&format!("topic {topic}: the subscription of /")) && line.contains(policy)
        };
        talker.wait_for_line(logged, deadline_in(TIMEOUT)).unwrap();
    }
}

#[test]
fn runnel_nodes_and_topics_are_visible_to_rclpy() {
    let graph = Ros2Graph::new();
    let mut view = ready(graph.rclpy(Distro::Kilted, "graph.py", "view", &[]));
    let mut talker = ready(
        graph.talker(Origin::Runnel, &["/chatter", "--deadline", "0.5", "--reliability", "best_effort"]),
    );
    let publisher = view
        .wait_for_line(
            |line| line.starts_with("+ publisher /chatter of /runnel_talker"),
            deadline_in(TIMEOUT),
        )
        .unwrap();
    for word in ["std_msgs/msg/String", STRING_HASH, "BEST_EFFORT", "VOLATILE", "deadline 500000000"] {
        assert!(publisher.contains(word), "{word} is lacking: {publisher}");
    }
    talker.signal(Signal::INT).unwrap();
    assert!(talker.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", talker.output());
    expect_line(&mut view, "- node /runnel_talker");
}

/// The user data of a dual node has additional fields.
#[test]
fn dual_node_is_visible_with_type_hash() {
    let graph = Ros2Graph::new();
    let mut view = ready(graph.rclpy(Distro::Kilted, "graph.py", "view", &[]));
    let ros1 = Master::start(Server::Runnel);
    let master = format!("__master:={}", ros1.graph().master_uri());
    let options = graph.options().graphs(Graphs::Both).arguments([master]);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("robot").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let publisher = view
        .wait_for_line(|line| line.starts_with("+ publisher /chatter of /robot"), deadline_in(TIMEOUT))
        .unwrap();
    assert!(publisher.contains(STRING_HASH), "{publisher}");
}

#[test]
fn runnel_traffic_is_dissected_without_errors() {
    let capture = Capture::start();
    for (talker, listener) in
        [(Origin::Runnel, JAZZY), (KILTED, Origin::Runnel), (Origin::Runnel, Origin::Cyclone)]
    {
        Pair::start(talker, listener, BYTES, &["--size", "100000"]).exchange(5);
    }
    let frames = capture.end();
    let ours = "rtps.vendorId == 0x0172";
    let unsound = frames.unsound_rtps(ours);
    assert!(unsound.is_empty(), "{unsound:#?}");
    for submessage in ["0x06", "0x07", "0x15", "0x16", "0x0e", "0x09"] {
        let sent = frames.query(&format!("{ours} && rtps.sm.id == {submessage}"), &["frame.number"]);
        assert!(!sent.is_empty(), "no {submessage}");
    }
}
