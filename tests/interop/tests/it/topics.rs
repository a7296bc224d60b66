//! Runnel's publishers and subscribers with those of every other implementation, at the original master.

use std::fs;
use std::path::Path;

use interop::{
    Master, Origin, PATIENCE, Ros1Graph, Server, all_hear_all, body, hear_out, hears_after_restarts, outcome,
    ready, told, wait_until,
};
use runnel_testkit::process::{Peer, deadline_in};

const MESSAGES: usize = 5;

/// A Runnel talker is heard by every listener, and every talker by a Runnel listener, each alike.
fn crosses_both_ways(message_type: &str, size: usize) {
    let (master, size) = (Master::start(Server::Rosmaster), size.to_string());
    let listening = ["--type", message_type, "--count", "5"];
    let talking = [&listening[..], &["--size", &size]].concat();
    let listener = |origin| master.graph().listener(origin, &[&["/ours"], &listening[..]].concat());
    let mut listeners = Origin::ALL.map(listener);
    let mut talker =
        master.graph().talker(Origin::Runnel, &[&["/ours", "--wait", "4"], &talking[..]].concat());
    let sent = hear_out(&mut talker, &mut listeners, MESSAGES);
    for other in Origin::OTHERS {
        let (topic, name) = (format!("/{other}"), format!("listener_of_{other}"));
        let arguments = [&[topic.as_str()], &listening[..]].concat();
        let listener = master.graph().node(Origin::Runnel, "listener", &name, &arguments);
        let mut talker = master.graph().talker(other, &[&[topic.as_str()], &talking[..]].concat());
        assert_eq!(hear_out(&mut talker, &mut [listener], MESSAGES), sent, "{other} makes other messages");
    }
}

#[test]
fn strings_cross_both_ways() {
    crosses_both_ways("std_msgs/String", 0);
}

#[test]
fn empty_arrays_cross_both_ways() {
    crosses_both_ways("std_msgs/UInt8MultiArray", 0);
}

#[test]
fn arrays_of_many_segments_cross_both_ways() {
    crosses_both_ways("std_msgs/UInt8MultiArray", 70_001);
}

#[test]
fn arrays_of_four_megabytes_cross_both_ways() {
    crosses_both_ways("std_msgs/UInt8MultiArray", 4 << 20);
}

#[test]
fn images_cross_both_ways() {
    crosses_both_ways("sensor_msgs/Image", 640);
}

#[test]
fn twists_cross_both_ways() {
    crosses_both_ways("geometry_msgs/Twist", 0);
}

/// What `rostopic` shows of the header's sequence numbers of this talker's first messages.
fn sequence_numbers(graph: &Ros1Graph, talker: Origin) -> Vec<String> {
    let topic = format!("/{talker}");
    let talking = [topic.as_str(), "--type", "sensor_msgs/Image", "--wait", "1", "--rate", "20"];
    let _talker = ready(graph.talker(talker, &talking));
    let shown = outcome(graph.tool("rostopic", &["echo", "-n", "3", &format!("{topic}/header/seq")]));
    shown.success().into_iter().filter(|line| line != "---").collect()
}

#[test]
fn header_sequence_numbers_count_as_those_of_roscpp() {
    let master = Master::start(Server::Rosmaster);
    let of_roscpp = sequence_numbers(master.graph(), Origin::Roscpp);
    assert_eq!(of_roscpp, ["0", "1", "2"]);
    assert_eq!(sequence_numbers(master.graph(), Origin::Runnel), of_roscpp);
}

/// A talker that has published two latched messages, and the second of them.
fn latching(graph: &Ros1Graph, origin: Origin, topic: &str) -> (Peer, String) {
    let mut talker = graph.talker(origin, &[topic, "--latch", "--wait", "0", "--count", "2"]);
    let sent = told(&mut talker, "sent", 2, deadline_in(PATIENCE));
    talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
    (talker, body(&sent[1]).to_owned())
}

fn first_heard(mut listener: Peer) -> String {
    let heard = told(&mut listener, "got", 1, deadline_in(PATIENCE));
    body(&heard[0]).to_owned()
}

#[test]
fn late_listeners_get_the_last_message_that_runnel_latched() {
    let master = Master::start(Server::Rosmaster);
    let (_talker, last) = latching(master.graph(), Origin::Runnel, "/latched");
    for origin in Origin::ALL {
        let listener = master.graph().listener(origin, &["/latched", "--count", "1"]);
        assert_eq!(first_heard(listener), last, "{origin}");
    }
}

#[test]
fn a_late_runnel_listener_gets_the_last_message_that_others_latched() {
    let master = Master::start(Server::Rosmaster);
    for origin in Origin::OTHERS {
        let topic = format!("/{origin}");
        let (_talker, last) = latching(master.graph(), origin, &topic);
        let listener = master.graph().listener(Origin::Runnel, &[&topic, "--count", "1"]);
        assert_eq!(first_heard(listener), last, "{origin}");
    }
}

#[test]
fn it_does_not_matter_whether_talker_or_listener_is_there_first() {
    for (talker, listener) in both_ways(Origin::Rospy).into_iter().chain(both_ways(Origin::Roscpp)) {
        let master = Master::start(Server::Rosmaster);
        let graph = master.graph();
        let early = ready(graph.listener(listener, &["/early", "--count", "5"]));
        let mut talking = graph.talker(talker, &["/early", "--count", "5"]);
        hear_out(&mut talking, &mut [early], MESSAGES);
        drop(talking);
        let mut talking = ready(graph.talker(talker, &["/late", "--count", "5"]));
        let late = graph.listener(listener, &["/late", "--count", "5"]);
        hear_out(&mut talking, &mut [late], MESSAGES);
    }
}

/// Talker and listener, of which one is Runnel's.
fn both_ways(other: Origin) -> [(Origin, Origin); 2] {
    [(Origin::Runnel, other), (other, Origin::Runnel)]
}

#[test]
fn runnel_hears_others_that_are_restarted() {
    Origin::OTHERS
        .into_iter()
        .for_each(|talker| hears_after_restarts(Server::Rosmaster, talker, Origin::Runnel));
}

#[test]
fn others_hear_runnel_when_it_is_restarted() {
    Origin::ALL
        .into_iter()
        .for_each(|listener| hears_after_restarts(Server::Rosmaster, Origin::Runnel, listener));
}

#[test]
fn several_talkers_and_listeners_of_every_kind_share_a_topic() {
    all_hear_all(Master::start(Server::Rosmaster).graph(), &Origin::ALL);
}

/// Waits until a program has said, or a log file of a Python node holds, a line with all these words.
fn says(graph: &Ros1Graph, peer: &Peer, words: &[&str]) {
    let has_all = |text: &str| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    let what = format!("{words:?} in the log of {}", peer.name());
    wait_until(&what, deadline_in(PATIENCE), || {
        has_all(&peer.output()) || peer.name().ends_with(".py") && has_all(&log_files(graph.home()))
    });
}

/// All that is in the log files below a folder.
fn log_files(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.extension() {
            _ if entry.is_dir() => text += &log_files(&entry),
            Some(extension) if extension == "log" => text += &fs::read_to_string(&entry).unwrap(),
            _ => {}
        }
    }
    text
}

const STRING: [&str; 2] = ["std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1"];
const TWIST: [&str; 2] = ["geometry_msgs/Twist", "9f195f881246fdfa2798d1d3eebca84a"];

#[test]
fn runnel_refuses_a_listener_of_another_type_in_both_logs_and_disturbs_nobody() {
    for other in [Origin::Rospy, Origin::Roscpp, Origin::Runnel] {
        let master = Master::start(Server::Rosmaster);
        let graph = master.graph();
        let mut talker = ready(graph.talker(Origin::Runnel, &["/mixed", "--count", "5"]));
        let wrong = ready(graph.node(other, "listener", "wrong", &["/mixed", "--type", TWIST[0]]));
        let what = [&["/mixed", "/wrong", "/runnel_talker"], &STRING[..], &TWIST[..]].concat();
        says(graph, &talker, &what);
        // A roscpp listener tells of it at the level of debugging only.
        if other != Origin::Roscpp {
            says(graph, &wrong, &what);
        }
        let right = graph.listener(other, &["/mixed", "--count", "5"]);
        hear_out(&mut talker, &mut [right], MESSAGES);
        assert!(!wrong.lines().iter().any(|line| line.starts_with("got ")), "{}", wrong.output());
    }
}

#[test]
fn a_talker_of_another_type_refuses_runnel_in_both_logs_and_disturbs_nobody() {
    for other in [Origin::Rospy, Origin::Roscpp] {
        let master = Master::start(Server::Rosmaster);
        let graph = master.graph();
        let wrong = ready(graph.node(other, "talker", "wrong", &["/mixed", "--type", TWIST[0]]));
        let listener = ready(graph.listener(Origin::Runnel, &["/mixed", "--count", "5"]));
        says(graph, &listener, &["publisher of /mixed", "refused the connection", STRING[0], TWIST[0]]);
        says(graph, &wrong, &["/runnel_listener", "/mixed", STRING[0], TWIST[0]]);
        let mut right = graph.talker(other, &["/mixed", "--count", "5"]);
        hear_out(&mut right, &mut [listener], MESSAGES);
    }
}
