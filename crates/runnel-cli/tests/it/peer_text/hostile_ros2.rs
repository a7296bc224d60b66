//! A ROS 2 participant whose names, types and data hold control characters.

use std::thread;
use std::time::{Duration, Instant};

use runnel::core::Message;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_testkit::loopback_participant::LoopbackParticipant;

/// First byte of its GUID prefix.
const PREFIX: u8 = 0x0e;

/// Participants of the domain that it announces itself to.
const PEERS: u16 = 10;

/// Starts a participant that stays until the test ends.
pub fn start(domain: u16, evil: &str) {
    let evil = evil.to_owned();
    let participant = LoopbackParticipant::new(domain, PREFIX, PEERS, &format!("enclave=/{evil};"));
    thread::spawn(move || run(participant, &evil));
}

fn run(mut hostile: LoopbackParticipant, evil: &str) {
    let string = "std_msgs::msg::dds_::String_";
    let hash = format!("typehash={evil};");
    let graph_hash = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
    let graph = hostile.create_writer("ros_discovery_info", ParticipantEntitiesInfo::DDS_TYPE, &graph_hash);
    let plain = hostile.create_writer("rt/t", string, &format!("typehash={};", Text::RIHS01));
    hostile.create_writer(&format!("rt/t{evil}"), string, &hash);
    hostile.create_writer("rt/u", &format!("x{evil}::msg::dds_::Y{evil}_"), &hash);
    let named = hostile.create_writer("rt/v", evil, &hash);
    hostile.create_writer(&format!("rq/s{evil}Request"), &format!("x::srv::dds_::{evil}_Request_"), &hash);
    let named = Gid { data: hostile.participant.prefix().with(named).to_bytes() };
    let nodes = ParticipantEntitiesInfo {
        node_entities_info_seq: vec![node("n", "", Gid { data: [PREFIX; 16] }), node("m", evil, named)],
        ..Default::default()
    };
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            next += Duration::from_millis(200);
            let text = Text { data: evil.to_owned() };
            let nodes = cdr::encode(&nodes, Encoding::Xcdr1).expect("it fits");
            let text = cdr::encode(&text, Encoding::Xcdr1).expect("it fits");
            for (writer, payload) in [(graph, nodes), (plain, text)] {
                // A sample that does not fit now is written again soon.
                let _ = hostile.write(writer, payload);
            }
        }
        hostile.poll_once();
    }
}

/// A node with one writer.
fn node(name: &str, evil: &str, writer: Gid) -> NodeEntitiesInfo {
    NodeEntitiesInfo {
        node_namespace: format!("/{evil}"),
        node_name: format!("{name}{evil}"),
        writer_gid_seq: vec![writer],
        ..NodeEntitiesInfo::default()
    }
}
