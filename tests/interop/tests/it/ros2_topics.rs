//! What Runnel tells the originals of ROS 2, and that what it sends is sound. What goes over the wire with whom is in the
//! table of `ros2_table`.

use interop::capture::Capture;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_talks::{BYTES, Pair, says, understands};
use interop::{Master, PATIENCE, Server, ready};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Graphs};
use runnel_testkit::process::{Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);
const JAZZY: Origin = Origin::Ros2(Distro::Jazzy);

const STRING_HASH: &str = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

#[test]
fn runnel_and_runnel_understand_each_other() {
    understands(Origin::Runnel, Origin::Runnel, "100000");
}

#[test]
fn a_policy_that_keeps_them_apart_is_told_by_name() {
    let graph = Ros2Graph::new();
    for (policy, offered, requested) in [
        ("reliability", ["--reliability", "best_effort"], ["--reliability", "reliable"]),
        ("durability", ["--durability", "volatile"], ["--durability", "transient_local"]),
        ("deadline", ["--depth", "5"], ["--deadline", "0.5"]),
    ] {
        let topic = format!("/{policy}");
        let mut talker = graph.talker(Origin::Runnel, &[&[topic.as_str()], &offered[..]].concat());
        let mut listener = graph.listener(JAZZY, &[&[topic.as_str()], &requested[..]].concat());
        says(&mut listener, &format!("incompatible {policy} 1"));
        let told = |line: &str| {
            line.contains(&format!("topic {topic}: the subscription of /")) && line.contains(policy)
        };
        talker.wait_for_line(told, deadline_in(PATIENCE)).unwrap();
    }
}

#[test]
fn nodes_and_topics_of_runnel_are_seen_as_those_of_any_other() {
    let graph = Ros2Graph::new();
    let mut view = ready(graph.rclpy(Distro::Kilted, "graph.py", "view", &[]));
    let mut talker = ready(
        graph.talker(Origin::Runnel, &["/chatter", "--deadline", "0.5", "--reliability", "best_effort"]),
    );
    let publisher = view
        .wait_for_line(
            |line| line.starts_with("+ publisher /chatter of /runnel_talker"),
            deadline_in(PATIENCE),
        )
        .unwrap();
    for word in ["std_msgs/msg/String", STRING_HASH, "BEST_EFFORT", "VOLATILE", "deadline 500000000"] {
        assert!(publisher.contains(word), "{word} is lacking: {publisher}");
    }
    talker.signal(Signal::INT).unwrap();
    assert!(talker.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", talker.output());
    says(&mut view, "- node /runnel_talker");
}

/// Its user data tells more than that of a node of ROS 2 alone.
#[test]
fn a_node_of_both_graphs_is_seen_with_the_hash_of_its_type() {
    let graph = Ros2Graph::new();
    let mut view = ready(graph.rclpy(Distro::Kilted, "graph.py", "view", &[]));
    let ros1 = Master::start(Server::Runnel);
    let master = format!("__master:={}", ros1.graph().master_uri());
    let options = graph.options().graphs(Graphs::Both).arguments([master]);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node("robot").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let publisher = view
        .wait_for_line(|line| line.starts_with("+ publisher /chatter of /robot"), deadline_in(PATIENCE))
        .unwrap();
    assert!(publisher.contains(STRING_HASH), "{publisher}");
}

#[test]
fn what_runnel_sends_is_dissected() {
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
        let sent = frames.ask(&format!("{ours} && rtps.sm.id == {submessage}"), &["frame.number"]);
        assert!(!sent.is_empty(), "no {submessage}");
    }
}
