//! Folders of `ros2 bag` that Runnel records, repairs and converts, read by PyPI's `rosbags`.

use std::fs;
use std::path::Path;

use interop::ros2::{Origin, Ros2Graph};
use interop::{TIMEOUT, bag_tool, built, outcome, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in};
use serde_json::Value as Json;

use crate::bag_scene::{answer, success, text};

/// Messages of the talker, and bytes of each: the last one is in the middle of the second file, so that a killed recorder has
/// not just split the bag.
const COUNT: usize = 30;
const SIZE: &str = "50000";

/// A recorder's arguments, without the folder at their end. Each splits the bag by its size: by time, the number of files
/// depends on how busy the machine is.
const RECORDERS: [&[&str]; 2] = [
    &["bag", "record", "/chatter", "-s", "rosbag2", "--split", "--size", "1", "-O"],
    &["ros2", "bag", "record", "/chatter", "-b", "1000000", "-o"],
];

fn runnel(graph: &Ros2Graph, words: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel"));
    command.args(words);
    Peer::spawn("runnel", command).expect("it starts")
}

/// Records all messages of a talker, and ends the recorder by this signal.
fn record(graph: &Ros2Graph, words: &[&str], folder: &Path, signal: Signal) {
    let mut recorder = runnel(graph, &[words, &[text(folder)]].concat());
    let is_ready = |line: &str| line.starts_with("recording into ");
    recorder.wait_for_line(is_ready, deadline_in(TIMEOUT)).expect("it records");
    let count = COUNT.to_string();
    let words = ["/chatter", "--count", &count, "--size", SIZE, "--rate", "50"];
    let talker = graph.talker(Origin::Runnel, &words);
    // What is on the disk while it records.
    wait_until("all messages are on the disk", deadline_in(TIMEOUT), || {
        answer(&outcome(runnel(graph, &["--json", "bag", "check", text(folder)])))["messages"] == COUNT
    });
    drop(talker);
    recorder.signal(signal).expect("it runs");
    recorder.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
}

fn check(graph: &Ros2Graph, folder: &Path) -> Option<i32> {
    outcome(runnel(graph, &["bag", "check", text(folder)])).code
}

/// What the package reads: topic, type and number of messages.
fn read(folder: &Path) -> String {
    let lines = success(outcome(bag_tool("rosbags_bag.py", &["read", text(folder)])));
    let [line] = &lines[..] else { panic!("{}: {lines:#?}", folder.display()) };
    line.rsplit_once(' ').expect("a length at the end").0.to_owned()
}

fn expected(count: usize) -> String {
    format!("/chatter std_msgs/msg/String {count}")
}

#[test]
fn rosbags_package_reads_recorded_folders() {
    for words in RECORDERS {
        let graph = Ros2Graph::new();
        let folder = graph.home().join("run");
        record(&graph, words, &folder, Signal::INT);
        assert_eq!(check(&graph, &folder), Some(0), "it is good");
        assert!(folder.join("run_1.mcap").exists(), "it is split");
        assert_eq!(read(&folder), expected(COUNT), "{words:?}");
    }
}

/// A killed recorder leaves a folder that is repaired, then one of its files is lost.
#[test]
fn rosbags_package_reads_repaired_folders() {
    for words in RECORDERS {
        let graph = Ros2Graph::new();
        let folder = graph.home().join("run");
        record(&graph, words, &folder, Signal::KILL);
        assert_eq!(check(&graph, &folder), Some(1), "it is not finished");
        success(outcome(runnel(&graph, &["bag", "reindex", text(&folder)])));
        assert_eq!(check(&graph, &folder), Some(0), "it is good");
        assert_eq!(read(&folder), expected(COUNT), "{words:?}");
        let first = folder.join("run_0.mcap");
        let lost = answer(&outcome(runnel(&graph, &["--json", "bag", "check", text(&first)])));
        fs::remove_file(&first).expect("a file");
        fs::remove_file(folder.join("metadata.orig.yaml")).expect("the old metadata");
        assert_eq!(check(&graph, &folder), Some(1), "a file is missing");
        let repaired = outcome(runnel(&graph, &["--json", "bag", "reindex", text(&folder)]));
        assert_eq!(answer(&repaired)["missing"], Json::from(vec![text(&first)]), "{:#?}", repaired.lines);
        let left = COUNT - lost["messages"].as_u64().expect("a number") as usize;
        assert_eq!(read(&folder), expected(left), "{words:?}");
    }
}

/// By the commands of Runnel, and by `ros2 bag convert` with its file of options.
#[test]
fn rosbags_package_reads_converted_folders() {
    let graph = Ros2Graph::new();
    let path = |name: &str| graph.home().join(name);
    let source = path("source");
    for mode in ["none", "message"] {
        let folder = path(mode);
        let written = bag_tool("rosbags_bag.py", &["write", text(&folder), "mcap", "8", mode]);
        success(outcome(written));
        for compression in ["none", "lz4", "zstd"] {
            let new = path(&format!("{mode}_{compression}"));
            let words = ["bag", "convert", text(&folder), text(&new), "-s", "rosbag2"];
            success(outcome(runnel(&graph, &[&words[..], &["--compression", compression]].concat())));
            assert_eq!(read(&new), expected(100), "{mode} {compression}");
        }
    }
    fs::rename(path("none"), &source).expect("a folder");
    let options = path("options.yaml");
    // 100 messages in 10 s.
    let [whole, parts] = ["whole", "parts"].map(path);
    let yaml = format!(
        "output_bags:\n- uri: {}\n  storage_id: mcap\n  all: true\n  compression_mode: file\n  compression_format: \
         zstd\n- uri: {}\n  topics: [/chatter]\n  max_bagfile_duration: 3\n",
        text(&whole),
        text(&parts)
    );
    fs::write(&options, yaml).expect("a file");
    let compressed = path("message");
    let words = ["ros2", "bag", "convert", "-i", text(&source), "mcap", "-i", text(&compressed)];
    success(outcome(runnel(&graph, &[&words[..], &["-o", text(&options)]].concat())));
    for folder in [&whole, &parts] {
        assert_eq!(read(folder), expected(200), "{}", folder.display());
        assert_eq!(check(&graph, folder), Some(0), "it is good");
    }
    assert!(parts.join("parts_3.mcap").exists() && !whole.join("whole_1.mcap").exists());
}
