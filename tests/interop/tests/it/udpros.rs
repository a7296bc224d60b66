//! Datagram links between Runnel and roscpp, the one original that has them, and what becomes of the wish for them
//! where a publisher has none.

use std::process::Command;

use interop::{Master, Origin, PATIENCE, Ros1Graph, Server, hear_out, ready, told};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const MESSAGES: usize = 5;

/// Bytes of an array's message that lie in a datagram of 1472 bytes: 8 are of the header, 4 of the length and 12 of the
/// message are not the array's.
const IN_ONE: usize = 1472 - 8 - 4 - 12;

/// Whether `rosnode info` tells of this transport, from the node's own mouth.
fn travels_by(graph: &Ros1Graph, node: &str, transport: &str) {
    let mut info = graph.tool("rosnode", &["info", node]);
    let line = format!("* transport: {transport}");
    info.wait_for_line(|said| said.trim() == line, deadline_in(PATIENCE))
        .unwrap_or_else(|error| panic!("{error}: {}", info.output()));
}

/// A talker of one kind is heard by a listener of another in messages of this size, and `rosnode` is told how.
fn is_heard(talker: Origin, listener: Origin, wish: &str, size: usize, transport: &str) {
    let master = Master::start(Server::Rosmaster);
    let size = size.to_string();
    // At a pace: roscpp begins to read some 100 ms after it has asked, later where others have the processor, and until then
    // the kernel holds two of the longest of these messages.
    let typed = ["/data", "--type", "std_msgs/UInt8MultiArray"];
    let talking = [&typed[..], &["--count", "5", "--rate", "3", "--size", &size]].concat();
    let mut listener = ready(master.graph().listener(listener, &[&typed[..], &[wish]].concat()));
    let mut talker = master.graph().talker(talker, &talking);
    let sent = told(&mut talker, "sent", MESSAGES, deadline_in(PATIENCE));
    let heard = told(&mut listener, "got", MESSAGES, deadline_in(PATIENCE));
    assert_eq!(heard, sent, "{size} bytes");
    for peer in [&talker, &listener] {
        travels_by(master.graph(), &format!("/{}", name_of(peer)), transport);
    }
}

/// Of the node that a talker or listener is.
fn name_of(peer: &Peer) -> String {
    let origin = if peer.name().starts_with("runnel_") {
        "runnel"
    } else if peer.name().ends_with(".py") {
        "rospy"
    } else {
        "roscpp"
    };
    let role = if peer.name().contains("talker") { "talker" } else { "listener" };
    format!("{origin}_{role}")
}

fn both_directions(size: usize) {
    is_heard(Origin::Roscpp, Origin::Runnel, "--udp", size, "UDPROS");
    is_heard(Origin::Runnel, Origin::Roscpp, "--udp", size, "UDPROS");
}

#[test]
fn empty_arrays_cross_both_ways() {
    both_directions(0);
}

#[test]
fn ten_bytes_cross_both_ways() {
    both_directions(10);
}

#[test]
fn what_just_fits_one_datagram_crosses_both_ways() {
    both_directions(IN_ONE);
}

#[test]
fn what_just_does_not_fit_one_datagram_crosses_both_ways() {
    both_directions(IN_ONE + 1);
}

#[test]
fn sixty_kilobytes_cross_both_ways() {
    both_directions(60_000);
}

#[test]
fn runnel_listens_to_runnel() {
    is_heard(Origin::Runnel, Origin::Runnel, "--udp", 5000, "UDPROS");
}

#[test]
fn a_roscpp_listener_that_takes_either_gets_datagrams() {
    is_heard(Origin::Runnel, Origin::Roscpp, "--udp-or-tcp", 1000, "UDPROS");
}

#[test]
fn the_wish_for_datagrams_falls_back_to_a_connection_where_there_are_none() {
    is_heard(Origin::Rospy, Origin::Runnel, "--udp", 60_000, "TCPROS");
}

#[test]
fn an_independent_publisher_without_datagrams_is_heard_all_the_same() {
    let master = Master::start(Server::Rosmaster);
    let listener = ready(master.graph().listener(Origin::Runnel, &["/chatter", "--udp", "--count", "5"]));
    let mut talker = master.graph().talker(Origin::Foxglove, &["/chatter", "--count", "5"]);
    hear_out(&mut talker, &mut [listener], MESSAGES);
}

#[test]
fn latched_messages_come_as_datagrams() {
    let master = Master::start(Server::Rosmaster);
    for (origin, listener) in [(Origin::Runnel, Origin::Roscpp), (Origin::Roscpp, Origin::Runnel)] {
        let topic = format!("/{origin}");
        let arguments = [topic.as_str(), "--latch", "--wait", "0", "--count", "2"];
        let mut talker = master.graph().talker(origin, &arguments);
        let sent = told(&mut talker, "sent", 2, deadline_in(PATIENCE));
        talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
        let mut listener = master.graph().listener(listener, &[topic.as_str(), "--udp"]);
        let heard = told(&mut listener, "got", 1, deadline_in(PATIENCE));
        assert_eq!(interop::body(&heard[0]), interop::body(&sent[1]), "of {origin}");
        travels_by(master.graph(), &format!("/{}", name_of(&talker)), "UDPROS");
    }
}

#[test]
fn a_listener_of_either_kind_that_is_killed_leaves_no_link() {
    let master = Master::start(Server::Rosmaster);
    for listener in [Origin::Runnel, Origin::Roscpp] {
        let topic = format!("/to_{listener}");
        let arguments = [topic.as_str(), "--rate", "50"];
        let name = format!("talker_to_{listener}");
        let _talker = master.graph().node(Origin::Runnel, "talker", &name, &arguments);
        let mut listener = master.graph().listener(listener, &[topic.as_str(), "--udp"]);
        told(&mut listener, "got", 1, deadline_in(PATIENCE));
        travels_by(master.graph(), &format!("/{name}"), "UDPROS");
        listener.signal(Signal::KILL).unwrap();
        listener.wait_exit(deadline_in(PATIENCE)).unwrap();
        interop::wait_until("the link is gone", deadline_in(PATIENCE), || {
            let info = interop::outcome(master.graph().tool("rosnode", &["info", &format!("/{name}")]));
            !info.success().iter().any(|line| line.contains("UDPROS"))
        });
    }
}

#[test]
fn runnel_topic_echo_and_hz_take_datagrams() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _talker = ready(graph.talker(Origin::Roscpp, &["/chatter", "--wait", "0", "--rate", "50"]));
    for command in ["echo", "hz"] {
        let mut shown = graph.runnel("runnel", &["topic", command, "--udp", "/chatter"]);
        let prints = |line: &str| line.starts_with("data: ") || line.starts_with("average rate: ");
        shown.wait_for_line(prints, deadline_in(PATIENCE)).unwrap();
        travels_by(graph, "/roscpp_talker", "UDPROS");
        shown.signal(Signal::INT).unwrap();
        shown.wait_exit(deadline_in(PATIENCE)).unwrap();
    }
}

/// Has the kernel lose every fifth datagram of this length, headers of UDP included, from whatever program.
fn lose_every_fifth(length: usize) {
    let rule = format!("add rule ip udpros_{length} lossy udp length {length} numgen inc mod 5 == 0 drop");
    let lines = [
        format!("add table ip udpros_{length}"),
        format!("add chain ip udpros_{length} lossy {{ type filter hook input priority 0; }}"),
        rule,
    ];
    for line in lines {
        let done = Command::new("nft").arg(&line).output().expect("nft");
        assert!(done.status.success(), "nft {line}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

#[test]
fn losses_of_roscpps_datagrams_are_counted_and_told() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    // A length that no other test here has: 8 of UDP, 8 of the header, 4 and 12 of the message.
    lose_every_fifth(8 + 8 + 4 + 12 + 777);
    let typed = ["/lossy", "--type", "std_msgs/UInt8MultiArray", "--size", "777"];
    let _talker =
        ready(graph.talker(Origin::Roscpp, &[&typed[..], &["--wait", "0", "--rate", "100"]].concat()));
    let mut echo = graph.runnel("runnel", &["topic", "echo", "--udp", "--json", "-n", "80", "/lossy"]);
    assert!(echo.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", echo.output());
    let lines = echo.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with('{')).count(), 80);
    let told = lines.iter().find_map(|line| line.strip_suffix(" messages on the way"));
    let lost: usize =
        told.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("a number of messages");
    // One for every four that came, and what came after the last was printed.
    assert!((19..=40).contains(&lost), "{lost} lost: {lines:#?}");
}

#[test]
fn many_small_messages_arrive_in_order() {
    let master = Master::start(Server::Rosmaster);
    for (talker, listener) in [(Origin::Runnel, Origin::Roscpp), (Origin::Roscpp, Origin::Runnel)] {
        let topic = format!("/many_of_{talker}");
        // More than there are numbers for messages.
        let listening = [topic.as_str(), "--udp", "--count", "600"];
        let listener = ready(master.graph().listener(listener, &listening));
        let talking = [topic.as_str(), "--count", "600", "--rate", "400"];
        let mut talker = master.graph().talker(talker, &talking);
        hear_out(&mut talker, &mut [listener], 600);
    }
}
