//! A drive of the demonstration in both graphs: recorded into one file, read by Foxglove's libraries, and played to rospy
//! and rclpy.

use std::collections::BTreeMap;
use std::path::Path;

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::{Origin, Server, TIMEOUT, built, is_full, outcome, ready};
use runnel_testkit::process::{Peer, deadline_in};

use crate::bag_scene::{Recorder, success, text};
use crate::bridge_scene::TwoGraphs;

/// Time limit of a lap with its preparation on a busy host, in seconds.
const LAP: u64 = 150;

/// Messages of some seconds of the drive.
const SHORT: u64 = 2000;

/// Topics of the robot, in both graphs.
const TOPICS: [&str; 8] =
    ["/buzzer", "/camera", "/cmd_vel", "/leds", "/light_sensors", "/odom", "/switches", "/tf"];

/// Graphs by the encodings of their messages.
const ENCODINGS: [&str; 2] = ["ros1", "cdr"];

/// Side length of the square images.
const IMAGE: [&str; 2] = ["--size", "30000"];

/// Length and checksum of each message of a topic, in their order.
type Contents = BTreeMap<String, Vec<String>>;

/// A robot in each graph that drives on its own track, and a camera of the original.
struct Drive {
    _nodes: Vec<Peer>,
}

impl Drive {
    fn start(graphs: &TwoGraphs) -> Self {
        let camera = [&["/camera", "--rate", "10", "--wait", "0"][..], &IMAGE].concat();
        let of_type = |name| [&camera[..], &["--type", name]].concat();
        let kilted = Ros2Origin::Ros2(Distro::Kilted);
        let mut nodes = vec![
            graphs.master.graph().talker(Origin::Rospy, &of_type("sensor_msgs/Image")),
            graphs.ros2.talker(kilted, &of_type("sensor_msgs/msg/Image")),
        ];
        nodes.extend([&[][..], &["--ros2"]].map(|graph| line_trace(graphs, "robot", graph)));
        Self { _nodes: nodes }
    }
}

fn line_trace(graphs: &TwoGraphs, role: &str, graph: &[&str]) -> Peer {
    let mut command = graphs.ros2.command(built("line_trace"));
    command.arg(role).args(if role == "robot" { &["--simulate"][..] } else { &[] }).args(graph);
    Peer::spawn(role, command).expect("it starts")
}

/// Waits until both robots drive.
fn wait_for_driving(graphs: &TwoGraphs) {
    for graph in ["--ros1", "--ros2"] {
        let mut first = graphs.runnel(&["topic", "echo", graph, "-n", "1", "/cmd_vel"]);
        let ended = first.wait_exit(deadline_in(LAP)).expect("a command to drive");
        assert!(ended.success(), "{}", first.output());
    }
}

/// Waits until both robots have driven a lap.
fn wait_for_laps(graphs: &TwoGraphs) {
    let watching = [&[][..], &["--ros2"]].map(|graph| line_trace(graphs, "watch", graph));
    for mut watch in watching {
        watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap");
    }
}

/// Records both graphs. Returns the number of messages of each topic.
fn record(graphs: &TwoGraphs, file: &Path) -> BTreeMap<String, u64> {
    let drive = Drive::start(graphs);
    let words = ["--json", "bag", "record", "--all", "-x", "^/(rosout|parameter_events)$", "-O", text(file)];
    let recorder = || Recorder::new(graphs.runnel(&words));
    let recorder = if is_full() {
        let recorder = recorder();
        wait_for_laps(graphs);
        recorder
    } else {
        wait_for_driving(graphs);
        let mut recorder = recorder();
        recorder.wait_for(SHORT);
        recorder
    };
    let result = recorder.end();
    drop(drive);
    let topics = result["topics"].as_object().expect("topics");
    for (topic, counts) in topics {
        assert_eq!([&counts["lost"], &counts["dropped"], &counts["refused"]], [0, 0, 0], "{topic}: {counts}");
    }
    topics
        .iter()
        .map(|(topic, counts)| (topic.clone(), counts["messages"].as_u64().expect("a number")))
        .collect()
}

/// What Foxglove's libraries read: type and contents of each topic, by `ENCODING TOPIC`.
struct Shown {
    types: BTreeMap<String, String>,
    contents: Contents,
}

impl Shown {
    fn read(graphs: &TwoGraphs, file: &Path) -> Self {
        let lines = success(outcome(graphs.master.graph().foxglove("read_mcap.mjs", &[text(file)])));
        let mut shown = Self { types: BTreeMap::new(), contents: Contents::new() };
        for line in &lines {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            let [kind, encoding, topic, rest] = words[..] else { panic!("{line}") };
            let name = format!("{encoding} {topic}");
            match kind {
                "channel" => {
                    let (type_name, _) = rest.split_once(' ').expect("a type and a number");
                    shown.types.insert(name, type_name.to_owned());
                }
                _ => shown.contents.entry(name).or_default().push(rest.to_owned()),
            }
        }
        shown
    }

    /// The contents in one graph, by topic.
    fn of(&self, encoding: &str) -> Contents {
        let of_graph = self.contents.iter().filter_map(|(name, contents)| {
            let (of, topic) = name.split_once(' ')?;
            (of == encoding).then(|| (topic.to_owned(), contents.clone()))
        });
        of_graph.collect()
    }
}

/// The next messages of a listener.
fn received(listener: &mut Peer, count: usize) -> Contents {
    let mut contents = Contents::new();
    for _ in 0..count {
        let line = listener.wait_for_line(|line| line.starts_with("got "), deadline_in(TIMEOUT)).unwrap();
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        contents.entry(words[1].to_owned()).or_default().push(words[2].to_owned());
    }
    contents
}

#[test]
fn drive_in_both_graphs_is_shown_and_played() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let file = graphs.ros2.home().join("drive.mcap");
    let recorded = record(&graphs, &file);
    let shown = Shown::read(&graphs, &file);
    let contents = ENCODINGS.map(|encoding| shown.of(encoding));
    for contents in &contents {
        assert!(contents.keys().eq(TOPICS), "{:?}", contents.keys());
    }
    for (topic, count) in recorded {
        let of_both = contents.iter().map(|contents| contents[&topic].len() as u64);
        assert_eq!(of_both.sum::<u64>(), count, "{topic}");
    }
    let typed = TOPICS.map(|topic| format!("{topic}={}", shown.types[&format!("cdr {topic}")]));
    let typed = typed.each_ref().map(String::as_str);
    let listeners = [
        graphs.master.graph().rospy("raw_listener.py", &TOPICS),
        graphs.ros2.rclpy(Distro::Kilted, "topic_listener.py", "listener", &typed),
    ];
    let listeners = listeners.map(ready);
    let words = ["bag", "play", text(&file), "--rate", "2", "--wait-for-subscribers"];
    let mut player = graphs.runnel(&words);
    assert!(player.wait_exit(deadline_in(LAP)).expect("it ends").success(), "{}", player.output());
    for (mut listener, expected) in listeners.into_iter().zip(contents) {
        let count = expected.values().map(Vec::len).sum();
        let received = received(&mut listener, count);
        for topic in TOPICS {
            assert_eq!(received.get(topic), expected.get(topic), "{topic}, {}", listener.name());
        }
    }
}
