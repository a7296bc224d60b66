//! UDPROS links between Runnel and roscpp, the only original with UDPROS, and the fallback where a publisher lacks
//! it.

use std::process::Command;

use interop::{
    Master, Origin, Ros1Graph, Server, TIMEOUT, body, check_all_received, next_messages, ready, wait_until,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const MESSAGES: usize = 5;

/// Messages of this length may be lost before a listener reads, in bytes: the kernel buffers only two of them.
const LOST_FROM: usize = 50_000;

/// Payload bytes of an array message in a datagram of 1472 bytes: the header has 8, the length 4, and the message's
/// other fields 12.
const IN_ONE: usize = 1472 - 8 - 4 - 12;

/// Checks that `rosnode info` reports this transport.
fn check_transport(graph: &Ros1Graph, node: &str, transport: &str) {
    let mut info = graph.tool("rosnode", &["info", node]);
    let line = format!("* transport: {transport}");
    info.wait_for_line(|printed| printed.trim() == line, deadline_in(TIMEOUT))
        .unwrap_or_else(|error| panic!("{error}: {}", info.output()));
}

/// The messages that a talker has sent until now.
fn sent_bodies(talker: &Peer) -> Vec<String> {
    let lines = talker.lines();
    lines.iter().filter_map(|line| line.strip_prefix("sent ")).map(|line| body(line).to_owned()).collect()
}

/// Checks that a listener receives consecutive messages of this size of a talker, and nothing else, and that `rosnode`
/// reports the transport.
fn check_received(talker: Origin, listener: Origin, wish: &str, size: usize, transport: &str) {
    let master = Master::start(Server::Rosmaster);
    let (message_size, size) = (size, size.to_string());
    let typed = ["/data", "--type", "std_msgs/UInt8MultiArray"];
    let talking = [&typed[..], &["--rate", "5", "--size", &size]].concat();
    let mut listener = ready(master.graph().listener(listener, &[&typed[..], &[wish]].concat()));
    let talker = master.graph().talker(talker, &talking);
    // roscpp starts to read some 100 ms after its request, later on a busy machine, and the kernel buffers only two of
    // the longest messages: the first ones may be lost.
    let (mut received, deadline) = (Vec::new(), deadline_in(TIMEOUT));
    let ends_consecutively = |received: &[String]| {
        let last = received.len().checked_sub(MESSAGES).map(|from| &received[from..]);
        last.is_some_and(|last| sent_bodies(&talker).windows(MESSAGES).any(|sent| sent == last))
    };
    while !ends_consecutively(&received) {
        received.push(body(&next_messages(&mut listener, "got", 1, deadline)[0]).to_owned());
    }
    // A talker prints a message after sending it.
    let may_lose = transport == "UDPROS" && message_size >= LOST_FROM;
    wait_until("every received message is printed as sent, and none is lost", deadline, || {
        let sent = sent_bodies(&talker);
        sent.starts_with(&received) || (may_lose && received.iter().all(|received| sent.contains(received)))
    });
    for peer in [&talker, &listener] {
        check_transport(master.graph(), &format!("/{}", name_of(peer)), transport);
    }
}

/// Node name of a talker or listener.
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
    check_received(Origin::Roscpp, Origin::Runnel, "--udp", size, "UDPROS");
    check_received(Origin::Runnel, Origin::Roscpp, "--udp", size, "UDPROS");
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
fn largest_single_datagram_crosses_both_ways() {
    both_directions(IN_ONE);
}

#[test]
fn smallest_split_message_crosses_both_ways() {
    both_directions(IN_ONE + 1);
}

#[test]
fn sixty_kilobytes_cross_both_ways() {
    both_directions(60_000);
}

#[test]
fn runnel_pair_uses_datagrams() {
    check_received(Origin::Runnel, Origin::Runnel, "--udp", 5000, "UDPROS");
}

#[test]
fn roscpp_listener_of_either_transport_gets_datagrams() {
    check_received(Origin::Runnel, Origin::Roscpp, "--udp-or-tcp", 1000, "UDPROS");
}

#[test]
fn udp_request_falls_back_to_tcp() {
    check_received(Origin::Rospy, Origin::Runnel, "--udp", 60_000, "TCPROS");
}

#[test]
fn publisher_without_udpros_is_received_by_tcp() {
    let master = Master::start(Server::Rosmaster);
    let listener = ready(master.graph().listener(Origin::Runnel, &["/chatter", "--udp", "--count", "5"]));
    let mut talker = master.graph().talker(Origin::Foxglove, &["/chatter", "--count", "5"]);
    check_all_received(&mut talker, &mut [listener], MESSAGES);
}

#[test]
fn latched_messages_come_as_datagrams() {
    let master = Master::start(Server::Rosmaster);
    for (origin, listener) in [(Origin::Runnel, Origin::Roscpp), (Origin::Roscpp, Origin::Runnel)] {
        let topic = format!("/{origin}");
        let arguments = [topic.as_str(), "--latch", "--wait", "0", "--count", "2"];
        let mut talker = master.graph().talker(origin, &arguments);
        let sent = next_messages(&mut talker, "sent", 2, deadline_in(TIMEOUT));
        talker.wait_for_line(|line| line == "done", deadline_in(TIMEOUT)).unwrap();
        let mut listener = master.graph().listener(listener, &[topic.as_str(), "--udp"]);
        let received = next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
        assert_eq!(body(&received[0]), body(&sent[1]), "of {origin}");
        check_transport(master.graph(), &format!("/{}", name_of(&talker)), "UDPROS");
    }
}

#[test]
fn killed_listener_leaves_no_link() {
    let master = Master::start(Server::Rosmaster);
    for listener in [Origin::Runnel, Origin::Roscpp] {
        let topic = format!("/to_{listener}");
        let arguments = [topic.as_str(), "--rate", "50"];
        let name = format!("talker_to_{listener}");
        let _talker = master.graph().node(Origin::Runnel, "talker", &name, &arguments);
        let mut listener = master.graph().listener(listener, &[topic.as_str(), "--udp"]);
        next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT));
        check_transport(master.graph(), &format!("/{name}"), "UDPROS");
        listener.signal(Signal::KILL).unwrap();
        listener.wait_exit(deadline_in(TIMEOUT)).unwrap();
        wait_until("the link is gone", deadline_in(TIMEOUT), || {
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
        shown.wait_for_line(prints, deadline_in(TIMEOUT)).unwrap();
        check_transport(graph, "/roscpp_talker", "UDPROS");
        shown.signal(Signal::INT).unwrap();
        shown.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

/// Makes the kernel drop every fifth datagram of this length, including UDP headers.
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
fn lost_roscpp_datagrams_are_counted() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    // A length that no other test uses: UDP 8, header 8, length 4 and message 12.
    lose_every_fifth(8 + 8 + 4 + 12 + 777);
    let typed = ["/lossy", "--type", "std_msgs/UInt8MultiArray", "--size", "777"];
    let _talker =
        ready(graph.talker(Origin::Roscpp, &[&typed[..], &["--wait", "0", "--rate", "100"]].concat()));
    let mut echo = graph.runnel("runnel", &["topic", "echo", "--udp", "--json", "-n", "80", "/lossy"]);
    assert!(echo.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", echo.output());
    let lines = echo.lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with('{')).count(), 80);
    let lost = lines.iter().find_map(|line| line.strip_suffix(" messages on the way"));
    let lost: usize =
        lost.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("a number of messages");
    // One per four received, plus those after the last printed message.
    assert!((19..=40).contains(&lost), "{lost} lost: {lines:#?}");
}

#[test]
fn many_small_messages_arrive_in_order() {
    let master = Master::start(Server::Rosmaster);
    for (talker, listener) in [(Origin::Runnel, Origin::Roscpp), (Origin::Roscpp, Origin::Runnel)] {
        let topic = format!("/many_of_{talker}");
        // More than there are message numbers.
        let listening = [topic.as_str(), "--udp", "--count", "600"];
        let listener = ready(master.graph().listener(listener, &listening));
        let talking = [topic.as_str(), "--count", "600", "--rate", "100"];
        let mut talker = master.graph().talker(talker, &talking);
        check_all_received(&mut talker, &mut [listener], 600);
    }
}
