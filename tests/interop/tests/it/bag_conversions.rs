//! Bags that `runnel bag convert` makes, read by the originals.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interop::ros2::Ros2Graph;
use interop::{Ros1Graph, TIMEOUT, bag_tool, outcome};
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::{NodeOptions, QoS};
use runnel_bag::mcap::{self, Profile};
use runnel_bag::{BagWriter, open};

use crate::bag_formats::{line, ros1_channel, ros2_channel, write_messages};
use crate::bag_scene::{Recorder, success, text};

/// A type that only its publisher knows, and its definition.
const TYPE: &str = "robot_msgs/msg/Label";
const DEFINITION: &str = "string data\n";

/// Messages, and their text.
const COUNT: u64 = 5;
const TEXT: &str = "a label";

/// Whether a bag has the definition of each type.
fn is_defined(bag: &Path) -> bool {
    let reader = open(bag).expect("a bag");
    assert_eq!(reader.channels().len(), 1);
    !reader.channels()[0].schema.data.is_empty()
}

#[test]
fn bytes_get_their_definition_by_convert() {
    let graph = Ros2Graph::new();
    let [raw, whole] = ["raw.mcap", "whole"].map(|name| graph.home().join(name));
    let words = ["--json", "bag", "record", "--ros2", "/label", "-O", text(&raw)];
    let mut recorder = Recorder::new(graph.running(&words));
    let context = graph.context();
    // It does not answer what its types are.
    let options = NodeOptions::default().start_type_description_service(false);
    let node = context.create_node_with_options("labels", options).expect("a node");
    let name = TypeName::parse(TYPE).expect("a type");
    let schema = Schema::from_full_text_in(Generation::Ros2, &name, DEFINITION).expect("a definition");
    let schema = Arc::new(schema);
    let publisher =
        node.create_dynamic_publisher("/label", &schema, QoS::keep_last(10)).expect("a publisher");
    assert!(publisher.wait_for_subscribers(1, Duration::from_secs(TIMEOUT)).expect("it spins"));
    let len = (TEXT.len() as u32 + 1).to_le_bytes();
    let message = [&[0, 1, 0, 0][..], &len, TEXT.as_bytes(), b"\0"].concat();
    for _ in 0..COUNT {
        publisher.publish_bytes(|out| out.extend_from_slice(&message)).expect("it is published");
    }
    recorder.wait_for(COUNT);
    recorder.end();
    drop((publisher, node, context));
    assert!(!is_defined(&raw), "recorded as bytes");

    let folder = graph.home().join("interfaces/robot_msgs/msg");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("Label.msg"), DEFINITION).expect("a file");
    let interfaces = graph.home().join("interfaces");
    let convert =
        ["bag", "convert", text(&raw), text(&whole), "-s", "rosbag2", "--interfaces", text(&interfaces)];
    let converted = graph.ran(&convert);
    assert_eq!(converted.code, Some(0), "{}", converted.error);
    assert!(is_defined(&whole));
    let read = success(outcome(bag_tool("rosbags_bag.py", &["read", text(&whole)])));
    assert_eq!(read, [format!("/label {TYPE} {COUNT} {}", COUNT as usize * TEXT.len())]);
}

#[test]
fn split_generations_are_read_by_their_tools() {
    let graph = Ros2Graph::new();
    let both = graph.home().join("both.mcap");
    let mut writer = mcap::Writer::new(File::create(&both).expect("a file"), Profile::None).expect("a bag");
    let mut ros1 = ros1_channel();
    ros1.md5 = Some("992ce8a1687cec8c8bd883ec73ca41d1".to_owned());
    write_messages(&mut writer, &[ros1.clone(), ros2_channel()], |_, _| ());
    writer.finish().expect("it is finished");
    let ran = |words: &[&str]| {
        let ran = graph.ran(&[&["bag", "convert"], words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.error);
    };
    let file = |name: &str| graph.home().join(name);
    ran(&[text(&both), text(&file("each.mcap")), "--split-generations"]);
    for (name, profile, channel) in
        [("each_ros1.mcap", "ros1", &ros1), ("each_ros2.mcap", "ros2", &ros2_channel())]
    {
        let listing = success(outcome(bag_tool("mcap_file.py", &["read", text(&file(name))])));
        assert_eq!(listing, [format!("profile {profile}"), line(channel)], "{name}");
    }
    // rosbag reads no MCAP, and rosbags only folders with metadata.
    ran(&[text(&file("each_ros1.mcap")), text(&file("one.bag"))]);
    let listing = outcome(Ros1Graph::at("http://127.0.0.1:1").rospy("bag.py", &[text(&file("one.bag"))]));
    assert_eq!(listing.lines, ["/ros1 std_msgs/String 40"]);
    ran(&[text(&file("each_ros2.mcap")), text(&file("two")), "-s", "rosbag2"]);
    let read = success(outcome(bag_tool("rosbags_bag.py", &["read", text(&file("two"))])));
    assert_eq!(read, [line(&ros2_channel())]);
}
