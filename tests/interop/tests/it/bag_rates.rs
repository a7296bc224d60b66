//! Recordings of large messages at a rate, from shared memory and over TCPROS: none is missing, and all have their bytes.
//! `bench/recording` measures what they cost.

use std::path::Path;

use interop::{Master, Origin, Server, TIMEOUT, body, is_full, next_messages};
use runnel_bag::{Selection, open};
use runnel_testkit::process::deadline_in;

use crate::bag_scene::{Recorder, text};

/// Publishers by shared memory and over TCPROS, each with a topic of its own.
const PUBLISHERS: [(Origin, &str); 2] = [(Origin::Runnel, "/memory"), (Origin::Roscpp, "/network")];

/// Messages of each publisher in a second, and their bytes.
const RATE: usize = 50;
const LEN: usize = 1_000_000;

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
