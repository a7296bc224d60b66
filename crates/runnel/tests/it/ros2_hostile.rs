//! Tests of hostile peers in the ROS 2 network.

use std::net::UdpSocket;

use crate::common::{LONG, spin_until, wait_until};
use crate::logged::{count_logged, keep_log, wait_logged};
use crate::ros2_pair::{context, listen, new_domain, numbered};
use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::{Publisher, QoS};
use runnel_rtps::wire::EntityId;
use runnel_testkit::loopback_participant::LoopbackParticipant;

/// An RTPS message whose only submessage has too large a length.
fn invalid_datagram(number: u32) -> Vec<u8> {
    let mut bytes = b"RTPS\x02\x04\x01\x0f".to_vec();
    bytes.extend([0x01, 0x0f, 1, 2, 3, 4, 5, 6]);
    bytes.extend(number.to_be_bytes());
    bytes.extend([6, 1, 200, 0]);
    bytes
}

#[test]
fn invalid_datagrams_do_not_fill_the_log() {
    keep_log();
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
    let publisher: Publisher<UInt8MultiArray> = nodes[0].create_publisher("data", QoS::default()).unwrap();
    let (_subscription, received) = listen(&nodes[1], "data", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..1000 {
        for participant in 0..2 {
            let port = 7410 + 250 * domain + 2 * participant;
            socket.send_to(&invalid_datagram(number), ("127.0.0.1", port)).unwrap();
        }
    }
    publisher.publish(numbered(1, 10)).unwrap();
    spin_until(&listening, "the message received", || *received.lock().unwrap() == [1]);
    let logged = || count_logged(&["127.0.0.1"]);
    // The message arrived on another socket.
    spin_until(&listening, "some of them logged", || logged() > 0);
    assert!(logged() <= 100, "{} lines", logged());
}

/// Announces this many nodes with this many endpoints each, and waits until all peers have acknowledged it.
fn announce_nodes(participant: &mut LoopbackParticipant, writer: EntityId, nodes: u128, endpoints: u128) {
    let gid = |number: u128| Gid { data: number.to_be_bytes() };
    let node = |number| NodeEntitiesInfo {
        node_namespace: "/".into(),
        node_name: format!("n{number}"),
        writer_gid_seq: (0..endpoints).map(|endpoint| gid(endpoints * number + endpoint)).collect(),
        ..NodeEntitiesInfo::default()
    };
    let nodes = (0..nodes).map(node).collect();
    let announcement = ParticipantEntitiesInfo { node_entities_info_seq: nodes, ..Default::default() };
    participant.write(writer, cdr::encode(&announcement, Encoding::Xcdr1).unwrap()).unwrap();
    let until = std::time::Instant::now() + LONG;
    let is_taken = |of: &LoopbackParticipant| {
        !of.participant.matched(writer).is_empty() && of.participant.unacknowledged(writer) == 0
    };
    while !is_taken(participant) {
        assert!(std::time::Instant::now() < until, "no peer acknowledges it");
        participant.poll_once();
    }
}

#[test]
fn excess_nodes_of_participant_are_logged_once() {
    keep_log();
    let domain = new_domain();
    let looking = context(domain, false);
    let _node = looking.create_node("looking").unwrap();
    let mut participant = LoopbackParticipant::new(domain, 0x0f, 2, "");
    let hash = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
    let writer = participant.create_writer("ros_discovery_info", ParticipantEntitiesInfo::DDS_TYPE, &hash);
    let nodes = || {
        let graph = looking.ros2_graph().unwrap().unwrap();
        graph.nodes.iter().filter(|node| node.full_name.starts_with("/n")).count()
    };
    announce_nodes(&mut participant, writer, 2000, 3);
    wait_logged(&["announces 2000 nodes with 6000 endpoints", "1024 and 4096"]);
    assert_eq!(nodes(), 1024);
    announce_nodes(&mut participant, writer, 2001, 3);
    announce_nodes(&mut participant, writer, 7, 3);
    wait_until("the last word counts", || nodes() == 7);
    assert_eq!(count_logged(&["announces 200"]), 1);
}
