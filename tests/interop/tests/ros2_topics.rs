//! Runnel and the originals of ROS 2 and other DDS hear each other, and what Runnel sends is sound.

use interop::capture::Capture;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{PATIENCE, hear_out, ready};
use runnel_testkit::process::{Peer, Signal, within};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);
const JAZZY: Origin = Origin::Ros2(Distro::Jazzy);
const STRINGS: &[&str] = &["/text", "--count", "5"];
const BYTES: &[&str] = &["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray"];

/// Texts and 100 kB of bytes go from Runnel to the other and back, byte for byte, all at once.
fn understands(other: Origin) {
    understands_of_size(other, "100000");
}

fn understands_of_size(other: Origin, size: &str) {
    let ways = [(Origin::Runnel, other), (other, Origin::Runnel)];
    let pairs =
        ways.map(|(talker, listener)| [STRINGS, BYTES].map(|words| pair(talker, listener, words, size)));
    pairs.into_iter().flatten().for_each(exchange);
}

fn exchange((graph, mut talker, mut listener): (Ros2Graph, Peer, Peer)) {
    says(&mut talker, "matched 1");
    says(&mut listener, "matched 1");
    graph.open_gate();
    hear_out(&mut talker, &mut [listener], 5);
}

/// A talker that waits for the gate to open, and a listener.
fn pair(talker: Origin, listener: Origin, words: &[&str], size: &str) -> (Ros2Graph, Peer, Peer) {
    let graph = Ros2Graph::new();
    let listener = graph.listener(listener, words);
    let talker = graph.talker(talker, &[words, &["--size", size, "--after", &graph.gate()]].concat());
    (graph, talker, listener)
}

fn says(peer: &mut Peer, line: &str) {
    peer.wait_for_line(|said| said == line, within(PATIENCE)).unwrap();
}

#[test]
fn runnel_and_kilted_understand_each_other() {
    understands(KILTED);
}

#[test]
fn runnel_and_jazzy_understand_each_other() {
    understands(JAZZY);
}

#[test]
fn runnel_and_cyclone_understand_each_other() {
    understands(Origin::Cyclone);
}

#[test]
fn runnel_and_cyclone_11_understand_each_other() {
    understands(Origin::Cyclone11);
}

#[test]
fn runnel_and_fast_dds_understand_each_other() {
    understands(Origin::FastDds);
}

#[test]
fn runnel_and_dust_dds_understand_each_other() {
    // Of messages in several datagrams it makes others now and then, from whomever they are.
    understands_of_size(Origin::DustDds, "1000");
}

#[test]
fn runnel_and_rustdds_understand_each_other() {
    understands(Origin::RustDds);
}

#[test]
fn runnel_and_runnel_understand_each_other() {
    understands(Origin::Runnel);
}

#[test]
fn megabytes_arrive_whole_both_ways() {
    let words = ["/long", "--count", "3", "--type", "std_msgs/msg/UInt8MultiArray", "--size", "8388608"];
    let graphs = [(Origin::Runnel, KILTED), (JAZZY, Origin::Runnel), (Origin::Runnel, Origin::Cyclone)];
    for (talker, listener) in graphs {
        let graph = Ros2Graph::new();
        let heard = &words[..5];
        let listener = ready(graph.listener(listener, heard));
        let mut talker = graph.talker(talker, &words);
        hear_out(&mut talker, &mut [listener], 3);
    }
}

#[test]
fn who_comes_late_hears_what_is_kept() {
    for (talker, listener) in
        [(Origin::Runnel, KILTED), (JAZZY, Origin::Runnel), (Origin::Cyclone, Origin::Runnel)]
    {
        let graph = Ros2Graph::new();
        let kept = ["/kept", "--durability", "transient_local", "--depth", "3"];
        let mut talker = graph.talker(talker, &[&kept[..], &["--count", "5", "--wait", "0"]].concat());
        says(&mut talker, "done");
        let said: Vec<String> =
            talker.lines().iter().filter(|line| line.starts_with("sent ")).cloned().collect();
        let mut listener = graph.listener(listener, &[&kept[..], &["--count", "3"]].concat());
        for (number, sent) in (1..).zip(&said[2..]) {
            let body = sent.split_once(" len ").unwrap().1;
            says(&mut listener, &format!("got {number} len {body}"));
        }
    }
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
        let told = |line: &str| line.contains(&topic) && line.contains(policy);
        talker.wait_for_line(told, within(PATIENCE)).unwrap();
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
        .wait_for_line(|line| line.starts_with("+ publisher /chatter of /runnel_talker"), within(PATIENCE))
        .unwrap();
    let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    for word in ["std_msgs/msg/String", hash, "BEST_EFFORT", "VOLATILE", "deadline 500000000"] {
        assert!(publisher.contains(word), "{word} is lacking: {publisher}");
    }
    talker.signal(Signal::INT).unwrap();
    assert!(talker.wait_exit(within(PATIENCE)).unwrap().success(), "{}", talker.output());
    says(&mut view, "- node /runnel_talker");
}

#[test]
fn what_runnel_sends_is_dissected() {
    let capture = Capture::start();
    for (talker, listener) in
        [(Origin::Runnel, JAZZY), (KILTED, Origin::Runnel), (Origin::Runnel, Origin::Cyclone)]
    {
        let (graph, talker, listener) = pair(talker, listener, BYTES, "100000");
        exchange((graph, talker, listener));
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
