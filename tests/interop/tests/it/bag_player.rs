//! `runnel bag play` with the originals: its services, QoS that a file gives, and messages that get into the other graph.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::{Master, Origin, Outcome, Server, TIMEOUT, next_messages, outcome, ready};
use runnel_bag::disk::Plain;
use runnel_bag::mcap::{self, Profile};
use runnel_bag::{BagWriter, Channel, Encoding, NewMessage, Schema, SchemaLanguage};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use serde_json::{Value as Json, json};

use crate::bridge_scene::TwoGraphs;

const KILTED: Distro = Distro::Kilted;
const RCLPY: Ros2Origin = Ros2Origin::Ros2(KILTED);
const SECOND: u64 = 1_000_000_000;
/// Log time of the first message.
const START: u64 = 1_700_000_000 * SECOND;
/// Messages of each topic.
const COUNT: usize = 20;

fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

fn ros1(topic: &str) -> Channel {
    let schema = Schema { language: SchemaLanguage::Ros1Msg, data: b"string data\n".to_vec() };
    Channel { topic: topic.into(), type_name: "std_msgs/String".into(), schema, ..Channel::default() }
}

fn ros2(topic: &str) -> Channel {
    let schema = Schema { language: SchemaLanguage::Ros2Msg, data: b"string data\n".to_vec() };
    let (encoding, type_name) = (Encoding::Cdr, "std_msgs/msg/String".into());
    Channel { topic: topic.into(), type_name, encoding, schema, ..Channel::default() }
}

/// A `std_msgs/String` in the encoding of a channel.
fn message(encoding: &Encoding, data: &str) -> Vec<u8> {
    let len = |data: &str| u32::try_from(data.len()).expect("a short text").to_le_bytes();
    match encoding {
        Encoding::Ros1 => [&len(data), data.as_bytes()].concat(),
        _ => {
            let data = format!("{data}\0");
            [&[0, 1, 0, 0], &len(&data)[..], data.as_bytes()].concat()
        }
    }
}

/// Writes a bag with messages on these topics, each of which has `COUNT`, `period` nanoseconds apart.
fn write(path: PathBuf, channels: &[Channel], period: u64) -> PathBuf {
    let file = Plain::new(File::create_new(&path).expect("a new file"));
    let mut writer = mcap::Writer::on_disk(file, Profile::None).expect("it begins");
    let ids: Vec<_> = channels.iter().map(|channel| writer.add_channel(channel).expect("added")).collect();
    for number in 0..COUNT {
        let log_time = START + number as u64 * period;
        for (channel, id) in channels.iter().zip(&ids) {
            let data = message(&channel.encoding, &format!("{} {number}", channel.topic));
            let (channel, sequence) = (*id, 0);
            let message =
                NewMessage { channel, log_time, publish_time: log_time, sequence, data: (&data[..]).into() };
            writer.write(&message).expect("written");
        }
    }
    writer.finish().expect("complete");
    path
}

fn success(outcome: Outcome) -> Vec<String> {
    assert_eq!(outcome.code, Some(0), "{:#?}", outcome.lines);
    outcome.lines
}

/// Length and checksum of each message, as listeners print them.
fn bodies(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| interop::body(line).to_owned()).collect()
}

/// The bodies of the messages of a topic in this encoding.
fn expected(topic: &str, encoding: &Encoding) -> Vec<String> {
    let body = |number: usize| {
        let message = message(encoding, &format!("{topic} {number}"));
        // Listeners of ROS 2 leave out the encapsulation header.
        let data = if *encoding == Encoding::Cdr { &message[4..] } else { &message[..] };
        format!("len {} crc {:08x}", data.len(), crc32fast::hash(data))
    };
    (0..COUNT).map(body).collect()
}

/// Calls services of the player in ROS 2 by rclpy, one after another.
fn ask(graphs: &TwoGraphs, calls: &[(&str, &str, Json)]) -> Vec<Json> {
    let words: Vec<String> = calls
        .iter()
        .flat_map(|(service, name, request)| {
            let (service, name) =
                (format!("/rosbag2_player/{service}"), format!("rosbag2_interfaces/srv/{name}"));
            [service, name, request.to_string()]
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let answered = success(outcome(graphs.ros2.rclpy(KILTED, "ask.py", "ask", &words)));
    let answers: Vec<Json> = answered.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(answers.len(), calls.len(), "{answered:#?}");
    answers
}

fn ended(mut player: Peer) {
    let ended = player.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
    assert!(ended.success(), "{}", player.output());
}

#[test]
fn rclpy_controls_the_player() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    // An hour between the messages: none is due while the test runs.
    let bag = write(graphs.ros2.home().join("slow.mcap"), &[ros2("/chatter")], 3600 * SECOND);
    let mut listener = ready(graphs.ros2.listener(RCLPY, &["/chatter"]));
    let words = ["bag", "play", text(&bag), "--pause", "--wait-for-subscribers"];
    let player = graphs.runnel(&words);
    let none = || json!({});
    let last = START / SECOND + (COUNT as u64 - 1) * 3600;
    let answers = ask(
        &graphs,
        &[
            ("is_paused", "IsPaused", none()),
            ("get_rate", "GetRate", none()),
            ("set_rate", "SetRate", json!({ "rate": 2.5 })),
            ("set_rate", "SetRate", json!({ "rate": 0.0 })),
            ("get_rate", "GetRate", none()),
            ("play_next", "PlayNext", none()),
            ("burst", "Burst", json!({ "num_messages": 3 })),
            ("seek", "Seek", json!({ "time": { "sec": last, "nanosec": 0 } })),
            ("burst", "Burst", json!({ "num_messages": 3 })),
            ("play_next", "PlayNext", none()),
            ("play", "Play", none()),
            ("toggle_paused", "TogglePaused", none()),
        ],
    );
    let expected = [
        json!({ "paused": true }),
        json!({ "rate": 1.0 }),
        json!({ "success": true }),
        json!({ "success": false }),
        json!({ "rate": 2.5 }),
        json!({ "success": true }),
        json!({ "actually_burst": 3 }),
        json!({ "success": true }),
        json!({ "actually_burst": 1 }),
        json!({ "success": false }),
        json!({ "success": false }),
    ];
    for (answer, expected) in answers.iter().zip(&expected) {
        let members = expected.as_object().expect("an object");
        assert!(members.iter().all(|(name, value)| answer[name] == *value), "{expected}: {answers:#?}");
    }
    let got = next_messages(&mut listener, "got", 5, deadline_in(TIMEOUT));
    assert_eq!(got.len(), 5);
    // It was paused at its end, so it goes on and ends.
    ended(player);
}

#[test]
fn burst_stays_paused_until_it_is_stopped() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let home = graphs.ros2.home();
    let bag = write(home.join("slow.mcap"), &[ros2("/chatter")], 3600 * SECOND);
    // It waits briefly for subscribers. One that is discovered later, as on a busy host, gets what is kept.
    let overrides = home.join("qos.yaml");
    fs::write(&overrides, "/chatter:\n  durability: transient_local\n  depth: 7\n").expect("written");
    let mut listener = ready(graphs.ros2.listener(RCLPY, &["/chatter", "--durability", "transient_local"]));
    let words = ["bag", "burst", text(&bag), "-n", "7", "--qos-profile-overrides-path", text(&overrides)];
    let player = graphs.runnel(&words);
    next_messages(&mut listener, "got", 7, deadline_in(TIMEOUT));
    let answers = ask(
        &graphs,
        &[("is_paused", "IsPaused", json!({})), ("burst", "Burst", json!({ "num_messages": 0 }))],
    );
    assert_eq!(answers[0]["paused"], true, "{answers:#?}");
    assert_eq!(answers[1]["actually_burst"], COUNT - 7, "{answers:#?}");
    ask(&graphs, &[("stop", "Stop", json!({}))]);
    ended(player);
}

#[test]
fn rospy_pauses_the_player() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let bag = write(graph.home().join("slow.mcap"), &[ros1("/chatter")], 3600 * SECOND);
    let mut listener = ready(graph.listener(Origin::Rospy, &["/chatter"]));
    let words = ["bag", "play", text(&bag), "--wait-for-subscribers", "__name:=player"];
    let mut player = graph.runnel("runnel", &words);
    next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
    let pause = |data: &str| {
        let called = outcome(graph.tool("rosservice", &["call", "/player/pause_playback", data]));
        success(called).join(" ")
    };
    for (data, expected) in
        [("true", "success: True"), ("true", "success: False"), ("false", "success: True")]
    {
        let answer = pause(data);
        assert!(answer.contains(expected), "{data}: {answer}");
    }
    player.signal(Signal::INT).expect("it runs");
    player.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
}

#[test]
fn overridden_qos_reaches_rclpy() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let home = graphs.ros2.home();
    let bag = write(home.join("fast.mcap"), &[ros2("/chatter")], SECOND / 100);
    let overrides = home.join("qos.yaml");
    fs::write(&overrides, "/chatter:\n  durability: transient_local\n  depth: 3\n").expect("written");
    let words =
        ["bag", "play", text(&bag), "-i", "--keep-alive", "--qos-profile-overrides-path", text(&overrides)];
    let mut player = graphs.runnel(&words);
    let late = ["/chatter", "--durability", "transient_local", "--count", "3"];
    let mut listener = ready(graphs.ros2.listener(RCLPY, &late));
    // What was recorded is volatile, which this listener does not accept.
    next_messages(&mut listener, "got", 3, deadline_in(TIMEOUT));
    player.signal(Signal::INT).expect("it runs");
    player.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
    fs::write(&overrides, "/chatter:\n  durabilty: volatile\n").expect("written");
    let refused = outcome(graphs.runnel(&words));
    assert_ne!(refused.code, Some(0));
    let names_line = |line: &String| line.contains("line 2: QoS of topic /chatter: policy durabilty:");
    assert!(refused.lines.iter().any(names_line), "{:#?}", refused.lines);
}

#[test]
fn both_generations_are_played_into_one_graph() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let bag = write(graphs.ros2.home().join("both.mcap"), &[ros1("/one"), ros2("/two")], SECOND / 100);
    let count = COUNT.to_string();
    let options = ["--count", &count];
    let play = |graph: &str| {
        success(outcome(graphs.runnel(&[
            "bag",
            "play",
            text(&bag),
            "-i",
            "--wait-for-subscribers",
            "--graph",
            graph,
        ])))
    };
    let received =
        |mut listener: Peer| bodies(&next_messages(&mut listener, "got", COUNT, deadline_in(TIMEOUT)));
    for (graph, encoding) in [("ros1", Encoding::Ros1), ("ros2", Encoding::Cdr)] {
        let listeners = ["/one", "/two"].map(|topic| {
            let (words, name) = ([&[topic], &options[..]].concat(), topic.trim_start_matches('/'));
            ready(match graph {
                "ros1" => graphs.master.graph().node(Origin::Rospy, "listener", name, &words),
                _ => graphs.ros2.node(RCLPY, "listener", name, &words),
            })
        });
        play(graph);
        for (listener, topic) in listeners.into_iter().zip(["/one", "/two"]) {
            assert_eq!(received(listener), expected(topic, &encoding), "{graph}");
        }
    }
}

#[test]
fn recorded_requests_are_sent_to_rclpy() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let bag = graphs.ros2.home().join("calls.mcap");
    let server = || graphs.ros2.rclpy(KILTED, "server.py", "server", &["/power", "--introspect"]);
    let recorded = ready(server());
    let words = ["--json", "bag", "record", "/power/_service_event", "-O", text(&bag), "--ros2", "-l", "6"];
    let mut recorder = graphs.runnel(&words);
    recorder.wait_for_line(|line| line.starts_with('{'), deadline_in(TIMEOUT)).expect("it records");
    let called = outcome(graphs.ros2.rclpy(KILTED, "caller.py", "caller", &["/power", "--count", "2"]));
    success(called);
    // Two events of each of the three calls.
    assert!(recorder.wait_exit(deadline_in(TIMEOUT)).expect("it ends").success(), "{}", recorder.output());
    drop(recorded);
    let info = success(outcome(graphs.runnel(&["bag", "info", text(&bag)])));
    let shown =
        |line: &String| line.starts_with("services:") && line.contains("/power   6 events    : std_srvs");
    assert!(info.iter().any(shown), "{info:#?}");
    let mut asked = ready(server());
    let words = ["bag", "play", text(&bag), "-i", "--publish-service-requests"];
    let played = success(outcome(graphs.runnel(&words)));
    assert!(played.iter().any(|line| line.starts_with("played 3 messages")), "{played:#?}");
    for number in 1..=3 {
        let line = format!("asked {number}");
        asked.wait_for_line(|one| one == line, deadline_in(TIMEOUT)).expect("each request is sent");
    }
}
