//! A recorder that is controlled while it runs: by the services of rosbag2 and of ROS 1, and by topics.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use runnel::core::names::DdsTopic;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Graphs, Publisher, QoS, Ros2Graph};
use runnel_bag::{Message, Selection};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bag_scene::{STEP, Scene, Spinning, wait_until};

/// A domain for each test.
const SERVICES: u16 = 140;
const SNAPSHOTS: u16 = 141;
const TRIGGERS: u16 = 142;
const OPTIONS: u16 = 143;
const STATIC: u16 = 144;
const NAMES: u16 = 145;
const BEST_EFFORT: u16 = 146;
const KEPT: u16 = 147;
const HANDOVER: u16 = 148;

/// A graph with a talker on `/chatter`, and the folder of the recording.
struct Recording {
    scene: Scene,
    _talker: Peer,
}

impl Recording {
    /// With a talker in ROS 2.
    fn ros2(domain: u16) -> Self {
        Self::with_talker(Scene::ros2(domain), "--ros2")
    }

    /// With a master, and a talker in ROS 1.
    fn ros1(domain: u16) -> Self {
        Self::with_talker(Scene::both(domain), "--ros1")
    }

    fn with_talker(scene: Scene, graph: &str) -> Self {
        let line = format!("topic pub {graph} -r 50 /chatter std_msgs/String hello");
        let talker = scene.peer(scene.path(), &line);
        Self { scene, _talker: talker }
    }

    fn peer(&self, line: &str) -> Peer {
        self.scene.peer(self.scene.path(), line)
    }

    /// Starts a recorder, and waits until it says so.
    fn recorder(&self, line: &str) -> Peer {
        let mut recorder = self.peer(line);
        let begins = |line: &str| line.starts_with("recording into ");
        recorder.wait_for_line(begins, deadline_in(STEP)).expect("it records");
        recorder
    }

    /// Calls a service of the recorder. Returns the response.
    fn call(&self, words: &str) -> String {
        self.scene.call(&words.split(' ').collect::<Vec<_>>())
    }

    /// Calls a service until its response has this text.
    fn call_until(&self, words: &str, expected: &str) {
        wait_until(expected, || self.call(words).contains(expected));
    }

    /// The files of a folder, sorted.
    fn files(&self, of: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.scene.path().join(of)) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("a file"))).collect();
        names.sort();
        names
    }

    /// The number of messages that `bag info` finds.
    fn messages(&self, bag: &str) -> u64 {
        self.scene.info(bag)["messages"].as_u64().expect("a number")
    }
}

fn end(mut recorder: Peer) {
    let status = recorder.wait_exit(deadline_in(STEP)).expect("it ends");
    assert!(status.success(), "{}", recorder.output());
}

#[test]
fn recorder_has_the_services_of_rosbag2() {
    let recording = Recording::ros2(SERVICES);
    let recorder = recording.recorder("ros2 bag record /chatter -o run");
    let call = |name: &str| recording.call(&format!("/rosbag2_recorder/{name}"));
    assert!(call("is_paused").contains("paused=False"));
    call("pause");
    assert!(call("is_paused").contains("paused=True"));
    call("resume");
    assert!(call("is_paused").contains("paused=False"));
    assert!(call("snapshot").contains("success=False"), "it is not in snapshot mode");
    assert!(call("start_discovery").contains("return_code=1"), "it is running");
    assert!(call("stop_discovery").contains("return_code=0"));
    assert!(call("is_discovery_running").contains("running=False"));
    let mut events =
        recording.peer("topic echo --once /events/write_split rosbag2_interfaces/msg/WriteSplitEvent");
    // The first splits may come before the subscription.
    let deadline = deadline_in(STEP);
    while !events.output().contains("opened_file") {
        assert!(Instant::now() < deadline, "{}", events.output());
        call("split_bagfile");
    }
    let text = events.output();
    let folder = recording.scene.path().canonicalize().expect("a folder").join("run");
    assert!(text.contains(&format!("closed_file: \"{}/run_", folder.display())), "{text}");
    assert!(text.contains("node_name: \"/rosbag2_recorder\""), "{text}");
    events.wait_exit(deadline_in(STEP)).expect("it ends");
    call("stop");
    end(recorder);
    let files = recording.files("run");
    assert!(files.len() >= 3 && files[0] == "metadata.yaml" && files[1] == "run_0.mcap", "{files:?}");
    assert!(recording.messages("run") > 0);
}

#[test]
fn snapshots_are_written_by_service_and_topic() {
    let recording = Recording::ros2(SNAPSHOTS);
    let line = "bag record --ros2 /chatter --snapshot-mode --snapshot-duration 1000 --snapshot-topic /save -O last.mcap";
    let recorder = recording.recorder(line);
    recording.call_until("/rosbag2_recorder/snapshot", "success=True");
    assert_eq!(recording.files("."), ["last_0.mcap"]);
    assert!(recording.messages("last_0.mcap") > 0);
    let request = recording.peer("topic pub --ros2 -r 5 /save std_msgs/Empty");
    wait_until("the topic requests another", || recording.files(".").len() > 1);
    drop(request);
    recording.call("/rosbag2_recorder/stop");
    end(recorder);
    assert!(recording.messages("last_1.mcap") > 0);
}

#[test]
fn recorder_has_services_in_ros1() {
    let recording = Recording::ros1(TRIGGERS);
    let recorder = recording.recorder("bag record --ros1 /chatter -O run.bag --node-name recorder");
    recording.call("--ros1 /recorder/pause");
    assert!(recording.call("--ros1 /recorder/is_paused").contains("paused"));
    recording.call("--ros1 /recorder/resume");
    assert!(recording.call("--ros1 /recorder/is_paused").contains("recording"));
    recording.call("--ros1 /recorder/split");
    recording.call("--ros1 /recorder/stop");
    end(recorder);
    assert_eq!(recording.files("."), ["run.bag", "run_1.bag"]);
}

#[test]
fn texts_of_the_user_are_in_the_metadata() {
    let recording = Recording::ros2(OPTIONS);
    let recorded = |line: &str| end(recording.recorder(line));
    recorded("bag record --ros2 /chatter -l 2 --output-dir a/b -O run.mcap --custom-data robot=arm place=");
    let info = recording.scene.info("a/b/run.mcap");
    let expected = serde_json::json!([{ "name": "custom_data", "values": { "place": "", "robot": "arm" } }]);
    let is_custom = |one: &&serde_json::Value| one["name"] == "custom_data";
    let metadata: Vec<_> =
        info["metadata"].as_array().into_iter().flatten().filter(is_custom).cloned().collect();
    assert_eq!(serde_json::Value::from(metadata), expected);
    recorded("bag record --ros2 /chatter -l 2 --output-dir a -s rosbag2 -O run --custom-data robot=arm");
    let text = fs::read_to_string(recording.scene.path().join("a/run/metadata.yaml")).expect("metadata");
    assert!(text.contains("  custom_data:\n    \"robot\": \"arm\"\n"), "{text}");
    let mut full = recording.peer("bag record --ros2 /chatter -O full.mcap --min-space 1000000000G");
    assert!(!full.wait_exit(deadline_in(STEP)).expect("it ends").success());
    assert!(full.output().contains("--min-space is"), "{}", full.output());
    let checked = recording.scene.output(recording.scene.path(), "bag check full.mcap");
    assert!(checked.status.success(), "the bag is complete: {checked:?}");
}

#[test]
fn topic_of_known_type_is_subscribed_before_it_has_a_publisher() {
    let recording = Recording::ros2(STATIC);
    fs::write(recording.scene.path().join("topics.yaml"), STATIC_TOPICS).expect("written");
    let recorder = recording.recorder("bag record --ros2 --static-topics-path topics.yaml -l 1 -O run.mcap");
    let info = recording.scene.output(recording.scene.path(), "topic info --ros2 --wait 5 /later");
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(text.contains("std_msgs/msg/String"), "it has a subscription of the type: {info:?}");
    let mut publisher = recording.peer("topic pub --ros2 --once /later std_msgs/String late");
    assert!(publisher.wait_exit(deadline_in(STEP)).expect("it ends").success());
    end(recorder);
    assert_eq!(recording.messages("run.mcap"), 1);
}

const STATIC_TOPICS: &str = "static_topics_and_types_list:\n - [/later, std_msgs/msg/String]\n";

#[test]
fn best_effort_publisher_of_known_topic_is_recorded() {
    let recording = Recording::ros2(BEST_EFFORT);
    fs::write(recording.scene.path().join("topics.yaml"), STATIC_TOPICS).expect("written");
    let recorder = recording.recorder("bag record --ros2 --static-topics-path topics.yaml -l 5 -O run.mcap");
    let line = "topic pub --ros2 -r 50 --qos-reliability best_effort /later std_msgs/String late";
    let _publisher = recording.peer(line);
    end(recorder);
    assert_eq!(recording.messages("run.mcap"), 5);
}

/// A recording of numbers on a topic of known type, by a publisher that keeps them.
struct Numbers {
    recording: Recording,
    recorder: Peer,
    nodes: Spinning,
}

impl Numbers {
    fn new(domain: u16, count: u8) -> Self {
        let recording = Recording::ros2(domain);
        fs::write(recording.scene.path().join("topics.yaml"), STATIC_TOPICS).expect("written");
        let line = format!("bag record --ros2 --static-topics-path topics.yaml -l {count} -O run.mcap");
        let recorder = recording.recorder(&line);
        let nodes = recording.scene.nodes(Graphs::Ros2, &[]);
        Self { recording, recorder, nodes }
    }

    fn publisher(&self) -> Publisher<Text> {
        let node = self.nodes.context.create_node("late").expect("a node");
        node.create_publisher("/later", QoS::keep_last(100).transient_local()).expect("a publisher")
    }

    /// The recorded numbers, sorted.
    fn recorded(self) -> Vec<u8> {
        end(self.recorder);
        let mut bag = runnel_bag::open(&self.recording.scene.path().join("run.mcap")).expect("a bag");
        let number = |message: Message| {
            // Behind the encapsulation header and the length, which counts a final zero.
            let text = &message.data[8..7 + usize::from(message.data[4])];
            String::from_utf8_lossy(text).parse().expect("a number")
        };
        let messages = bag.messages(&Selection::default());
        let mut numbers: Vec<u8> = messages.map(|message| number(message.expect("sound"))).collect();
        numbers.sort_unstable();
        numbers
    }
}

fn publish(publisher: &Publisher<Text>, number: u8) {
    publisher.publish(Text { data: number.to_string() }).expect("it is published");
}

#[test]
fn kept_messages_of_known_topic_are_recorded() {
    let numbers = Numbers::new(KEPT, 3);
    let publisher = numbers.publisher();
    // It has no subscriber yet.
    (0..3).for_each(|number| publish(&publisher, number));
    assert_eq!(numbers.recorded(), [0, 1, 2]);
}

/// The first subscription of the recorder receives some of them, the second one requests all.
#[test]
fn messages_at_the_handover_are_recorded_once() {
    let numbers = Numbers::new(HANDOVER, 60);
    let has_subscriber = |graph: &Ros2Graph| {
        graph.endpoints.iter().any(|end| end.ros_topic() == Some(DdsTopic::Topic("/later")))
    };
    let context = &numbers.nodes.context;
    assert!(context.wait_for_ros2_graph(Duration::from_secs(STEP), has_subscriber).expect("it runs"));
    let publisher = numbers.publisher();
    assert!(publisher.wait_for_subscribers(1, Duration::from_secs(STEP)).expect("it runs"));
    // For longer than the recorder takes to look at the graph.
    for number in 0..60 {
        publish(&publisher, number);
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(numbers.recorded(), (0..60).collect::<Vec<u8>>());
}

#[test]
fn names_of_bags_are_published_in_ros1() {
    let recording = Recording::ros1(NAMES);
    let recorder = recording.recorder("ros1 rosbag record /chatter --publish -O run --split --duration 1");
    let mut names = recording.peer("topic echo --ros1 -n 2 /begin_write");
    names.wait_exit(deadline_in(STEP)).expect("it ends");
    let text = names.output();
    assert!(text.contains("run_") && text.contains(".bag") && !text.contains(".active"), "{text}");
    recorder.signal(Signal::INT).expect("it records");
    end(recorder);
}
