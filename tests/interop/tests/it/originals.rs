//! The originals among themselves: when a test of Runnel against one of them fails, these tell whether it is the
//! original, or its installation, that fails.

use interop::{Master, Origin, PATIENCE, Server, body, hear_out, ready, told};
use runnel_testkit::process::{Signal, deadline_in};

/// `got` or `sent` lines as every implementation must print them for String messages "hello 1" and so on.
fn hellos(count: u32) -> Vec<String> {
    let body = |number| {
        let text = format!("hello {number}");
        [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    };
    let line =
        |number, body: Vec<u8>| format!("{number} len {} crc {:08x}", body.len(), crc32fast::hash(&body));
    (1..=count).map(|number| line(number, body(number))).collect()
}

/// One talker and a listener of every implementation.
fn every_listener_hears(talker: Origin, message_type: &str, size: &str) -> Vec<String> {
    let master = Master::start(Server::Rosmaster);
    let arguments = ["/chatter", "--type", message_type, "--count", "5"];
    let talking = [&arguments[..], &["--wait", "3", "--size", size]].concat();
    let mut listeners = Origin::OTHERS.map(|origin| master.graph().listener(origin, &arguments));
    let mut talker = master.graph().talker(talker, &talking);
    hear_out(&mut talker, &mut listeners, 5)
}

#[test]
fn strings_cross_between_all_as_the_bytes_that_the_specification_gives() {
    for talker in Origin::OTHERS {
        assert_eq!(every_listener_hears(talker, "std_msgs/String", "0"), hellos(5), "{talker}");
    }
}

#[test]
fn byte_arrays_of_many_segments_cross_between_all() {
    let sent =
        Origin::OTHERS.map(|talker| every_listener_hears(talker, "std_msgs/UInt8MultiArray", "300000"));
    assert!(sent.iter().all(|lines| *lines == sent[0]), "the talkers make different messages: {sent:?}");
}

#[test]
fn messages_with_a_header_cross_between_all() {
    let sent = Origin::OTHERS.map(|talker| every_listener_hears(talker, "sensor_msgs/Image", "1000"));
    assert!(sent.iter().all(|lines| *lines == sent[0]), "the talkers make different messages: {sent:?}");
}

#[test]
fn floating_point_messages_cross_between_all() {
    let sent = Origin::OTHERS.map(|talker| every_listener_hears(talker, "geometry_msgs/Twist", "0"));
    assert!(sent.iter().all(|lines| *lines == sent[0]), "the talkers make different messages: {sent:?}");
}

#[test]
fn a_late_listener_gets_the_last_message_of_a_latched_topic() {
    for talker in Origin::OTHERS {
        let master = Master::start(Server::Rosmaster);
        let latched = ["/chatter", "--latch", "--wait", "0", "--count", "2"];
        let mut talker = master.graph().talker(talker, &latched);
        talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
        for listener in Origin::OTHERS {
            let mut listener = master.graph().listener(listener, &["/chatter", "--count", "1"]);
            let heard = told(&mut listener, "got", 1, deadline_in(PATIENCE));
            assert_eq!(body(&heard[0]), body(&hellos(2)[1]), "{} from {}", listener.name(), talker.name());
        }
    }
}

#[test]
fn a_roscpp_listener_hears_a_roscpp_talker_over_udp() {
    let master = Master::start(Server::Rosmaster);
    let mut listener = master.graph().listener(Origin::Roscpp, &["/chatter", "--udp"]);
    let talking = ["/chatter", "--count", "3", "--rate", "20", "--size", "5000"];
    let mut talker = master.graph().talker(Origin::Roscpp, &talking);
    let sent = told(&mut talker, "sent", 3, deadline_in(PATIENCE));
    assert_eq!(told(&mut listener, "got", 3, deadline_in(PATIENCE)), sent);
    let mut info = master.graph().tool("rosnode", &["info", "/roscpp_talker"]);
    info.wait_for_line(|line| line.contains("transport: UDPROS"), deadline_in(PATIENCE)).unwrap();
}

#[test]
fn the_command_line_tools_see_a_node_come_and_go() {
    let master = Master::start(Server::Rosmaster);
    for origin in Origin::OTHERS {
        let name = format!("/{origin}_talker");
        let mut talker = ready(master.graph().talker(origin, &["/chatter", "--wait", "0", "--count", "1"]));
        let mut list = master.graph().tool("rosnode", &["list"]);
        list.wait_for_line(|line| line == name, deadline_in(PATIENCE)).unwrap();
        talker.signal(Signal::INT).unwrap();
        talker.wait_exit(deadline_in(PATIENCE)).unwrap();
        let mut list = master.graph().tool("rosnode", &["list"]);
        list.wait_exit(deadline_in(PATIENCE)).unwrap();
        assert!(!list.lines().contains(&name), "{}", list.output());
    }
}

#[test]
fn a_roscpp_pair_plays_ping_pong() {
    let master = Master::start(Server::Rosmaster);
    let _pong = ready(master.graph().roscpp("pingpong", &["/game", "--role", "pong", "__name:=pong"]));
    let playing = ["/game", "--role", "ping", "--count", "50", "--warm-up", "5", "__name:=ping"];
    let mut ping = master.graph().roscpp("pingpong", &playing);
    ping.wait_for_line(|line| line.starts_with("rtt_us count 50 "), deadline_in(PATIENCE)).unwrap();
}
