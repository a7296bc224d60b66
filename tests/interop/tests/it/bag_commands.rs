//! `runnel bag` with the originals: what they publish is recorded, what they recorded is played, and the other way round.

use std::path::{Path, PathBuf};

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::{Master, Origin, Server, TIMEOUT, next_messages, outcome, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bag_scene::{Recorder, answer, success, text};
use crate::bridge_scene::TwoGraphs;

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// Messages of a talker. It begins when it has its subscribers, so none is missing in a recording.
const COUNT: usize = 20;

/// Starts a recorder, and waits until it has subscribed.
fn record(mut recorder: Peer) -> Peer {
    let is_ready = |line: &str| line.starts_with("recording into ");
    recorder.wait_for_line(is_ready, deadline_in(TIMEOUT)).expect("it records");
    recorder
}

/// Length and checksum of each message, as talkers and listeners print them.
fn bodies(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| interop::body(line).to_owned()).collect()
}

/// What rosbag's own library reads.
fn listed(master: &Master, bag: &Path) -> Vec<String> {
    let listing = outcome(master.graph().rospy("bag.py", &[text(bag)]));
    assert_eq!(listing.code, Some(0), "{:#?}", listing.lines);
    listing.lines
}

#[test]
fn messages_of_rosbag_play_are_recorded() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let [played, recorded] = ["played.bag", "recorded.bag"].map(|name| graph.home().join(name));
    success(outcome(graph.rospy("write_bag.py", &[text(&played), "none"])));
    let words = ["--json", "bag", "record", "/chatter", "/point", "-O", text(&recorded), "--lz4", "--ros1"];
    let mut recorder = Recorder::new(graph.runnel("runnel", &words));
    // It stays until the last message has arrived.
    let words = ["play", "--wait-for-subscribers", "--keep-alive", "-r", "5", text(&played)];
    let player = graph.tool("rosbag", &words);
    recorder.wait_for(100);
    drop(player);
    let result = recorder.end();
    assert_eq!(result["messages"], 100, "{result}");
    assert_eq!(
        listed(&master, &recorded),
        ["/chatter std_msgs/String 66", "/point geometry_msgs/PointStamped 34"]
    );
    let info = success(outcome(graph.tool("rosbag", &["info", "-y", text(&recorded)])));
    assert!(info.iter().any(|line| line == "compression: lz4"), "{info:#?}");
}

#[test]
fn played_bag_reaches_rospy_and_rosbag_record() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let [played, recorded] = ["played.bag", "recorded.bag"].map(|name| graph.home().join(name));
    success(outcome(graph.rospy("write_bag.py", &[text(&played), "bz2"])));
    let mut listener = ready(graph.listener(Origin::Rospy, &["/chatter", "--count", "66"]));
    let mut recorder =
        graph.tool("rosbag", &["record", "-O", text(&recorded), "--limit=34", "/point", "__name:=recorder"]);
    let words = ["bag", "play", text(&played), "-r", "5", "--wait-for-subscribers"];
    let printed = success(outcome(graph.runnel("runnel", &words)));
    assert!(printed.iter().any(|line| line.starts_with("played 100 messages of 2 topics")), "{printed:#?}");
    next_messages(&mut listener, "got", 66, deadline_in(TIMEOUT));
    assert!(recorder.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", recorder.output());
    assert_eq!(listed(&master, &recorded), ["/point geometry_msgs/PointStamped 34"]);
}

#[test]
fn both_generations_are_recorded_and_played_from_one_file() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let file = graphs.ros2.home().join("both.mcap");
    let words = ["--json", "bag", "record", "/one", "/two", "-O", text(&file)];
    let mut recorder = Recorder::new(graphs.runnel(&words));
    let count = COUNT.to_string();
    let mut one = graphs.master.graph().talker(Origin::Rospy, &["/one", "--count", &count]);
    let mut two = graphs.ros2.talker(KILTED, &["/two", "--count", &count]);
    let sent = [&mut one, &mut two].map(|talker| next_messages(talker, "sent", COUNT, deadline_in(TIMEOUT)));
    recorder.wait_for(2 * COUNT as u64);
    drop((one, two));
    let result = recorder.end();
    for topic in ["/one", "/two"] {
        assert_eq!(result["topics"][topic]["messages"], COUNT, "{result}");
    }
    let info = success(outcome(graphs.runnel(&["bag", "info", text(&file)])));
    for expected in ["std_msgs/String", "std_msgs/msg/String"] {
        assert!(info.iter().any(|line| line.contains(&format!(": {expected}"))), "{expected}: {info:#?}");
    }
    let mut listeners = [
        ready(graphs.master.graph().listener(Origin::Rospy, &["/one", "--count", &count])),
        ready(graphs.ros2.listener(KILTED, &["/two", "--count", &count])),
    ];
    success(outcome(graphs.runnel(&["bag", "play", text(&file), "-i", "--wait-for-subscribers"])));
    for (listener, sent) in listeners.iter_mut().zip(&sent) {
        let got = next_messages(listener, "got", COUNT, deadline_in(TIMEOUT));
        assert_eq!(bodies(&got), bodies(sent));
    }
}

#[test]
fn transient_local_messages_before_the_start_are_played_first() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let file = graphs.ros2.home().join("kept.mcap");
    let words = ["--json", "bag", "record", "/map", "/scan", "-O", text(&file)];
    let mut recorder = Recorder::new(graphs.runnel(&words));
    let kept = ["/map", "--count", "1", "--durability", "transient_local", "--depth", "1"];
    let mut map = graphs.ros2.talker(KILTED, &kept);
    let sent = next_messages(&mut map, "sent", 1, deadline_in(TIMEOUT));
    recorder.wait_for(1);
    let scan = graphs.ros2.talker(KILTED, &["/scan", "--count", "10", "--rate", "20"]);
    recorder.wait_for(11);
    drop((map, scan));
    recorder.end();
    let info = answer(&outcome(graphs.runnel(&["--json", "bag", "info", text(&file)])));
    let [first, last] = ["start", "end"].map(|name| info[name].as_u64().expect("a time"));
    // The map is the first message, so it comes before any later start.
    let middle = format!("{:.9}", (last - first) as f64 / 2e9);
    let late = ["/map", "--count", "1", "--durability", "transient_local"];
    let mut listener = ready(graphs.ros2.listener(KILTED, &late));
    // On a busy host a player that ends after its last message may end before the listener has matched it.
    let mut player = graphs.runnel(&["bag", "play", text(&file), "--start", &middle, "--keep-alive"]);
    let got = next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
    player.signal(Signal::INT).unwrap();
    assert!(player.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", player.output());
    assert_eq!(bodies(&got), bodies(&sent));
}

#[test]
fn killed_recording_is_repaired() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let file = graph.home().join("killed.bag");
    let active = PathBuf::from(format!("{}.active", text(&file)));
    let words = ["bag", "record", "/chatter", "-O", text(&file), "--ros1", "--max-loss", "0.2"];
    let mut recorder = record(graph.runnel("runnel", &words));
    let count = COUNT.to_string();
    let talker = graph.talker(Origin::Roscpp, &["/chatter", "--count", &count]);
    let check = || outcome(graph.runnel("runnel", &["--json", "bag", "check", text(&active)]));
    // What is on the disk while it records.
    wait_until("all messages are on the disk", deadline_in(TIMEOUT), || {
        answer(&check())["messages"] == COUNT
    });
    recorder.signal(Signal::KILL).unwrap();
    recorder.wait_exit(deadline_in(TIMEOUT)).expect("it is killed");
    drop(talker);
    let checked = check();
    assert_eq!(checked.code, Some(1), "it is not finished: {:#?}", checked.lines);
    success(outcome(graph.runnel("runnel", &["bag", "reindex", text(&active)])));
    assert_eq!(listed(&master, &file), [format!("/chatter std_msgs/String {COUNT}")]);
}

#[test]
fn rosbag_by_name_records_and_plays_as_the_original() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let graph = graphs.master.graph();
    let bag = graph.home().join("linked.bag");
    let rosbag = |words: &[&str]| graph.runnel("runnel", &[&["ros1", "rosbag"], words].concat());
    let recorder = record(rosbag(&["record", "-O", text(&bag), "--limit=5", "/chatter"]));
    let mut talker = graph.talker(Origin::Rospy, &["/chatter", "--count", "5"]);
    let sent = next_messages(&mut talker, "sent", 5, deadline_in(TIMEOUT));
    let mut recorder = recorder;
    assert!(recorder.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", recorder.output());
    assert_eq!(listed(&graphs.master, &bag), ["/chatter std_msgs/String 5"]);
    drop(talker);
    let mut listener = ready(graph.listener(Origin::Rospy, &["/chatter", "--count", "5"]));
    success(outcome(rosbag(&["play", "-i", "--wait-for-subscribers", text(&bag)])));
    let got = next_messages(&mut listener, "got", 5, deadline_in(TIMEOUT));
    assert_eq!(bodies(&got), bodies(&sent));
    let ours = success(outcome(rosbag(&["info", "-y", text(&bag)])));
    let theirs = success(outcome(graph.tool("rosbag", &["info", "-y", text(&bag)])));
    let keys = |lines: &[String]| {
        lines.iter().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(keys(&ours), keys(&theirs), "ours is left, the original right");
}
