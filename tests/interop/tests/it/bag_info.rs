//! `rosbag info` by the name of the original prints the same bytes.

use interop::{Ros1Graph, outcome};

use crate::bag_scene::{success, text};

const OPTIONS: [&str; 4] = ["", "--freq", "-y", "--yaml --freq"];

/// Options that select a value of the YAML.
const KEYS: [&str; 9] = [
    "-y -k duration",
    "-y --key=start",
    "-y -k indexed",
    "-y -k topics",
    "-y -k types",
    "-y -k 'topics[1]'",
    "-y -k 'topics[-1].messages'",
    "-y --freq -k 'topics[0].frequency'",
    "-y -k nothing",
];

/// No master is needed.
fn no_graph() -> Ros1Graph {
    Ros1Graph::at("http://127.0.0.1:1")
}

#[test]
fn info_of_rosbag_is_that_of_the_original() {
    let graph = no_graph();
    for compression in ["none", "bz2", "lz4"] {
        let bag = graph.home().join(format!("{compression}.bag"));
        success(outcome(graph.rospy("write_bag.py", &[text(&bag), compression])));
        let keys = if compression == "lz4" { &KEYS[..] } else { &[] };
        for options in OPTIONS.iter().chain(keys) {
            let line = format!("rosbag info {options} {}", text(&bag));
            let original = graph.original(&line);
            assert!(!original.output.is_empty() || !original.error.is_empty(), "{line}");
            assert_eq!(graph.linked(&line), original, "{line}: ours is left");
        }
    }
    let both = format!("rosbag info {0}/none.bag {0}/lz4.bag", graph.home().display());
    assert_eq!(graph.linked(&both), graph.original(&both), "ours is left");
}

/// Without messages, and of more than a minute.
#[test]
fn info_of_unusual_bags_is_that_of_the_original() {
    let graph = no_graph();
    for (name, write) in [
        ("empty", "pass"),
        ("one", "bag.write('/a', String('x'), Time(1700000000, 999999999))"),
        (
            "long",
            "[bag.write('/a', String('x' * 5000), Time(1000 + 17 * number, 500)) for number in range(300)]",
        ),
    ] {
        let path = graph.home().join(format!("{name}.bag"));
        let program = format!(
            "import rosbag; from genpy import Time; from std_msgs.msg import String; bag = rosbag.Bag('{}', 'w'); \
             {write}; bag.close()",
            text(&path)
        );
        success(outcome(graph.tool("python3", &["-c", &program])));
        for options in OPTIONS {
            let line = format!("rosbag info {options} {}", text(&path));
            assert_eq!(graph.linked(&line), graph.original(&line), "{line}: ours is left");
        }
    }
}
