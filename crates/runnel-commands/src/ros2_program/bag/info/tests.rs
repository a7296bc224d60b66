use std::path::{Path, PathBuf};

use runnel_bag::mcap::Profile;
use runnel_bag::{BagWriter, Channel, Encoding, NewMessage, files, rosbag2};
use tempfile::TempDir;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// An event of a service.
fn event(kind: u8, number: u8) -> Vec<u8> {
    [&[0, 1, 0, 0, kind, 0, 0, 0][..], &[0; 8], &[5; 16], &[0; 4], &[number], &[0; 7]].concat()
}

/// A folder with these topics, and how many messages of ten bytes or events of a service they have.
fn folder(parent: &TempDir, topics: &[(&str, &str, u8)]) -> PathBuf {
    let path = parent.path().join("run");
    let folder = files::Folder::create(&path).expect("a folder");
    let mut writer = rosbag2::Writer::new(folder, "run", Profile::Ros2, "kilted").expect("a bag");
    for (topic, type_name, count) in topics {
        let channel = Channel {
            topic: (*topic).to_owned(),
            type_name: (*type_name).to_owned(),
            encoding: Encoding::Cdr,
            ..Channel::default()
        };
        let channel = writer.add_channel(&channel).expect("a channel");
        for number in 0..*count {
            let log_time = 1_700_000_000 * SECOND + u64::from(number) * SECOND / 4;
            // Each request is recorded by the client and by the server, and answered by the server.
            let data = if topic.ends_with("_event") { event(number % 3, number / 3) } else { vec![7; 10] };
            let data = data[..].into();
            let message = NewMessage { channel, log_time, publish_time: log_time, sequence: 0, data };
            writer.write(&message).expect("it is written");
        }
    }
    writer.finish().expect("it is finished");
    path
}

/// The text without times and the size of the file.
fn text(path: &Path, is_verbose: bool, order: SortOrder) -> String {
    let mut bag = Description::of(path, is_verbose).expect("a bag");
    bag.sort(order);
    let text = bag.text();
    let is_shown = |line: &&str| !["Bag size:", "Start:", "End:"].iter().any(|start| line.starts_with(start));
    text.split_inclusive('\n').filter(|line| is_shown(&line.trim_end())).collect()
}

#[test]
fn topics_and_services_have_the_layout_of_the_original() {
    let parent = tempfile::tempdir().expect("a folder");
    let topics = [
        ("/tf", "tf2_msgs/msg/TFMessage", 3),
        ("/power/_service_event", "std_srvs/srv/SetBool_Event", 6),
        ("/map", "std_msgs/msg/String", 5),
    ];
    let path = folder(&parent, &topics);
    let expected = "
Files:             run_0.mcap
Storage id:        mcap
ROS Distro:        kilted
Duration:          1.250000000s
Messages:          8
Topic information: Topic: /map | Type: std_msgs/msg/String | Count: 5 | Serialization Format: cdr
                   Topic: /tf | Type: tf2_msgs/msg/TFMessage | Count: 3 | Serialization Format: cdr
Service:           1
Service information: Service: /power | Type: std_srvs/srv/SetBool | Event Count: 6 | Serialization Format: cdr

";
    assert_eq!(text(&path, false, SortOrder::Name), expected);
    let by_count = text(&path, false, SortOrder::Count);
    assert!(by_count.contains("Topic information: Topic: /tf "), "{by_count}");
    let verbose = text(&path, true, SortOrder::Type);
    for part in [
        "Type: std_msgs/msg/String | Count: 5 | Size Contribution: 50 B | Serialization Format: cdr\n",
        "Type: std_srvs/srv/SetBool | Request Count: 2 | Response Count: 2 | Size Contribution: 264 B | Serial",
    ] {
        assert!(verbose.contains(part), "{part}: {verbose}");
    }
}

#[test]
fn parts_of_an_action_are_shown_below_it() {
    let parent = tempfile::tempdir().expect("a folder");
    let topics = [
        ("/fib/_action/feedback", "a/action/Fibonacci_FeedbackMessage", 4),
        ("/fib/_action/status", "action_msgs/msg/GoalStatusArray", 2),
        ("/fib/_action/send_goal/_service_event", "a/action/Fibonacci_SendGoal_Event", 3),
        ("/fib/_action/cancel_goal/_service_event", "action_msgs/srv/CancelGoal_Event", 0),
    ];
    let path = folder(&parent, &topics);
    let expected = "Messages:          0
Topic information: 
Service:           0
Service information: 
Actions:           1
Action information: 
  Action: /fib | Type: a/action/Fibonacci | Topics: 2 | Service: 3 | Serialization Format: cdr
    Topic: feedback | Count: 4
    Topic: status | Count: 2
    Service: send_goal | Event Count: 3
    Service: cancel_goal | Event Count: 0
    Service: get_result | Event Count: 0

";
    let found = text(&path, false, SortOrder::Name);
    assert!(found.ends_with(expected), "{found}");
    let verbose = text(&path, true, SortOrder::Name);
    assert!(verbose.contains("    Service: send_goal | Request Count: 1 | Response Count: 1\n"), "{verbose}");
}

/// A file has its own name, and what its recorder said of the folder.
#[test]
fn file_of_a_folder_is_shown() {
    let parent = tempfile::tempdir().expect("a folder");
    let file = folder(&parent, &[("/map", "std_msgs/msg/String", 1)]).join("run_0.mcap");
    let found = text(&file, false, SortOrder::Name);
    assert!(found.starts_with(&format!("\nFiles:             {}\n", file.display())), "{found}");
    assert!(found.contains("ROS Distro:        kilted\n"), "{found}");
}
