//! Strangers in the network of ROS 2, and what they can have a program do.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{LONG, spin_until, wait_until};
use crate::logged::{count_logged, keep_log, wait_logged};
use crate::ros2_pair::{context, listen, new_domain, numbered};
use runnel::core::Message;
use runnel::core::time::Instant;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rmw_dds_common::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel::msgs::std_msgs::UInt8MultiArray;
use runnel::{Publisher, QoS};
use runnel_rtps::wire::{EntityId, GuidPrefix, Timestamp};
use runnel_rtps::{Config, EndpointOptions, Participant};

/// An RTPS message of somebody, whose only submessage says that it is longer than it is.
fn nonsense(number: u32) -> Vec<u8> {
    let mut bytes = b"RTPS\x02\x04\x01\x0f".to_vec();
    bytes.extend([0x01, 0x0f, 1, 2, 3, 4, 5, 6]);
    bytes.extend(number.to_be_bytes());
    bytes.extend([6, 1, 200, 0]);
    bytes
}

#[test]
fn datagrams_that_make_no_sense_do_not_fill_the_log() {
    keep_log();
    let domain = new_domain();
    let (talking, listening) = (context(domain, false), context(domain, false));
    let nodes = [talking.create_node("talker").unwrap(), listening.create_node("listener").unwrap()];
    let publisher: Publisher<UInt8MultiArray> = nodes[0].create_publisher("data", QoS::default()).unwrap();
    let (_subscription, heard) = listen(&nodes[1], "data", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..1000 {
        for participant in 0..2 {
            let port = 7410 + 250 * domain + 2 * participant;
            stranger.send_to(&nonsense(number), ("127.0.0.1", port)).unwrap();
        }
    }
    publisher.publish(numbered(1, 10)).unwrap();
    spin_until(&listening, "the message heard", || *heard.lock().unwrap() == [1]);
    let told = count_logged(&["127.0.0.1"]);
    assert!((1..=100).contains(&told), "{told} lines");
}

/// A participant of nobody's ROS, by which whatever is told is told as RTPS has it.
struct Stranger {
    participant: Participant<Arc<[u8]>>,
    socket: UdpSocket,
    began: std::time::Instant,
}

impl Stranger {
    /// One that calls the first participants of a domain.
    fn new(domain: u16) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut config = Config::new(GuidPrefix([0x0f; 12]), domain.into());
        config.unicast = vec![socket.local_addr().unwrap()];
        config.own_addresses = vec![IpAddr::from([127, 0, 0, 1])];
        let ports = (0..2).map(|participant| 7410 + 250 * domain + 2 * participant);
        config.peers = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        let began = std::time::Instant::now();
        Self { participant: Participant::new(Instant(1), config), socket, began }
    }

    fn now(&self) -> Instant {
        Instant(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// What tells of nodes.
    fn create_writer(&mut self) -> EntityId {
        let options = EndpointOptions {
            topic: "ros_discovery_info".into(),
            type_name: ParticipantEntitiesInfo::DDS_TYPE.into(),
            qos: QoS::keep_last(1).transient_local(),
            user_data: format!("typehash={};", ParticipantEntitiesInfo::RIHS01).into_bytes(),
        };
        self.participant.create_writer(self.now(), Timestamp { seconds: 1, fraction: 0 }, options)
    }

    /// Tells of so many nodes with so many endpoints each, and waits until everybody has it.
    fn tell(&mut self, writer: EntityId, nodes: u128, endpoints: u128) {
        let gid = |number: u128| Gid { data: number.to_be_bytes() };
        let node = |number| NodeEntitiesInfo {
            node_namespace: "/".into(),
            node_name: format!("n{number}"),
            writer_gid_seq: (0..endpoints).map(|endpoint| gid(endpoints * number + endpoint)).collect(),
            ..NodeEntitiesInfo::default()
        };
        let nodes = (0..nodes).map(node).collect();
        let told = ParticipantEntitiesInfo { node_entities_info_seq: nodes, ..Default::default() };
        let payload = cdr::encode(&told, Encoding::Xcdr1).unwrap();
        let stamp = Timestamp { seconds: 2, fraction: 0 };
        self.participant.write(self.now(), stamp, writer, payload.into()).unwrap();
        let until = std::time::Instant::now() + LONG;
        while self.participant.matched(writer).is_empty() || self.participant.unacknowledged(writer) > 0 {
            assert!(std::time::Instant::now() < until, "nobody takes it");
            self.turn();
        }
    }

    fn turn(&mut self) {
        let mut datagram = vec![0; 65_536];
        if let Ok((len, from)) = self.socket.recv_from(&mut datagram) {
            self.participant.handle_datagram(self.now(), from, &datagram[..len]);
        }
        let now = self.now();
        self.participant.handle_timeout(now);
        while let Some(transmit) = self.participant.poll_transmit(now) {
            let datagram = transmit.parts.concat();
            transmit.to.iter().for_each(|to| drop(self.socket.send_to(&datagram, to)));
        }
        while self.participant.poll_event().is_some() {}
    }
}

#[test]
fn a_participant_that_tells_of_too_many_nodes_is_known_in_part_and_that_is_logged_once() {
    keep_log();
    let domain = new_domain();
    let looking = context(domain, false);
    let _node = looking.create_node("looking").unwrap();
    let mut stranger = Stranger::new(domain);
    let writer = stranger.create_writer();
    let nodes = || {
        let graph = looking.ros2_graph().unwrap().unwrap();
        graph.nodes.iter().filter(|node| node.full_name.starts_with("/n")).count()
    };
    stranger.tell(writer, 2000, 3);
    wait_logged(&["tells of 2000 nodes with 6000 endpoints", "1024 and 4096"]);
    assert_eq!(nodes(), 1024);
    stranger.tell(writer, 2001, 3);
    stranger.tell(writer, 7, 3);
    wait_until("the last word counts", || nodes() == 7);
    assert_eq!(count_logged(&["tells of 200"]), 1);
}
