//! Recordings of large messages at a rate, from shared memory and over TCPROS: none is missing, and all have their bytes.
//! `bench/recording` measures what they cost.

use std::fs;
use std::path::Path;
use std::process::Command;

use interop::{Master, Origin, Server, TIMEOUT, body, is_full, next_messages};
use runnel_bag::{Selection, open};
use runnel_testkit::process::{Peer, deadline_in};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::bag_scene::{Recorder, text};

/// Publishers by shared memory and over TCPROS, each with a topic of its own.
const PUBLISHERS: [(Origin, &str); 2] = [(Origin::Runnel, "/memory"), (Origin::Roscpp, "/network")];

/// Messages of each publisher in a second, and their bytes.
const RATE: usize = 50;
const LEN: usize = 1_000_000;

/// Time limit of the bench on a busy host, in seconds.
const BENCH: u64 = 300;

/// The messages of a topic, as publishers describe them.
fn recorded(bag: &Path, topic: &str) -> Vec<String> {
    let mut reader = open(bag).expect("a bag");
    let topics: Vec<String> = reader.channels().iter().map(|channel| channel.topic.clone()).collect();
    let messages = reader.messages(&Selection::default()).map(|message| message.expect("a message"));
    let messages = messages.filter(|message| topics[message.channel.index()] == topic);
    messages
        .map(|message| format!("len {} crc {:08x}", message.data.len(), crc32fast::hash(&message.data)))
        .collect()
}

#[test]
fn large_messages_are_all_recorded() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let bag = graph.home().join("large.mcap");
    let topics = PUBLISHERS.map(|(_, topic)| topic);
    let words = [&["--json", "bag", "record", "--ros1", "-O", text(&bag)][..], &topics].concat();
    let mut recorder = Recorder::new(graph.runnel("runnel", &words));
    let count = if is_full() { 10 } else { 2 } * RATE;
    let [len, rate, messages] = [LEN, RATE, count].map(|number| number.to_string());
    let load = ["--type", "std_msgs/UInt8MultiArray", "--size", &len, "--rate", &rate, "--count", &messages];
    let talkers = PUBLISHERS.map(|(origin, topic)| graph.talker(origin, &[&[topic][..], &load].concat()));
    let sent = talkers.map(|mut talker| {
        let sent = next_messages(&mut talker, "sent", count, deadline_in(TIMEOUT));
        (sent, talker)
    });
    recorder.wait_for((PUBLISHERS.len() * count) as u64);
    recorder.end();
    for ((sent, _talker), topic) in sent.iter().zip(topics) {
        let sent: Vec<&str> = sent.iter().map(|line| body(line)).collect();
        assert_eq!(recorded(&bag, topic), sent, "{topic}");
    }
}

/// Its figures mean nothing here. Each of its recordings must get messages.
#[test]
fn recording_bench_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = TempDir::new().expect("a folder");
    let results = folder.path().join("results.json");
    let mut bench = Command::new(root.join("bench/recording"));
    bench.arg("--quick").arg("--programs").arg(interop::folder());
    bench.arg("--folder").arg(folder.path()).arg("--json").arg(&results);
    let mut bench = Peer::spawn("bench/recording", bench).expect("it starts");
    let ended = bench.wait_exit(deadline_in(BENCH)).expect("it ends");
    assert!(ended.success(), "{}", bench.output());
    let rows: Vec<Json> = serde_json::from_slice(&fs::read(results).expect("the results")).expect("JSON");
    let recorders: Vec<&str> = rows.iter().filter_map(|row| row["recorder"].as_str()).collect();
    let expected =
        ["runnel", "rosbag", "runnel", "rosbag", "runnel", "runnel --lz4", "runnel --zstd", "runnel"];
    assert_eq!(recorders, expected);
    for row in rows {
        let number = |name: &str| row[name].as_i64().unwrap_or_else(|| panic!("{name} of {row}"));
        assert!(number("sent") > number("lost"), "nothing is recorded: {row}");
    }
}
