//! A participant of ROS 2 whose names, types and data hold control characters.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant as Clock};

use runnel::core::Message;
use runnel::core::qos::QoS;
use runnel::core::time::Instant;
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rmw_dds_common::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel::msgs::std_msgs::String as Text;
use runnel_rtps::wire::{EntityId, GuidPrefix, Timestamp};
use runnel_rtps::{Config, EndpointOptions, Participant};

/// Starts one that stays until the test ends.
pub fn start(domain: u16, evil: &str) {
    let evil = evil.to_owned();
    thread::spawn(move || Hostile::new(domain).run(&evil));
}

struct Hostile {
    participant: Participant<Arc<[u8]>>,
    socket: UdpSocket,
    began: Clock,
}

impl Hostile {
    fn new(domain: u16) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(Duration::from_millis(5))).expect("a time");
        let mut config = Config::new(GuidPrefix([0x0e; 12]), domain.into());
        config.unicast = vec![socket.local_addr().expect("an address")];
        config.own_addresses = vec![IpAddr::from([127, 0, 0, 1])];
        let ports = (0..10).map(|participant| 7410 + 250 * domain + 2 * participant);
        config.peers = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect();
        Self { participant: Participant::new(Instant(1), config), socket, began: Clock::now() }
    }

    fn now(&self) -> Instant {
        Instant(1 + self.began.elapsed().as_nanos() as u64)
    }

    fn create_writer(&mut self, topic: &str, type_name: &str, user_data: &str) -> EntityId {
        let options = EndpointOptions {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            qos: QoS::keep_last(1).transient_local(),
            user_data: user_data.as_bytes().to_vec(),
        };
        self.participant.create_writer(self.now(), Timestamp { seconds: 1, fraction: 0 }, options)
    }

    fn write(&mut self, writer: EntityId, payload: Vec<u8>) {
        let stamp = Timestamp { seconds: 2, fraction: 0 };
        // What is not taken now is written again soon.
        let _ = self.participant.write(self.now(), stamp, writer, payload.into());
    }

    fn run(&mut self, evil: &str) {
        let string = "std_msgs::msg::dds_::String_";
        let hash = format!("typehash={evil};");
        let graph_hash = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
        let graph = self.create_writer("ros_discovery_info", ParticipantEntitiesInfo::DDS_TYPE, &graph_hash);
        let plain = self.create_writer("rt/t", string, &format!("typehash={};", Text::RIHS01));
        self.create_writer(&format!("rt/t{evil}"), string, &hash);
        self.create_writer("rt/u", &format!("x{evil}::msg::dds_::Y{evil}_"), &hash);
        self.create_writer("rt/v", evil, &hash);
        self.create_writer(&format!("rq/s{evil}Request"), &format!("x::srv::dds_::{evil}_Request_"), &hash);
        let nodes = ParticipantEntitiesInfo {
            node_entities_info_seq: ["n", "m"].map(|name| node(name, evil)).into(),
            ..Default::default()
        };
        let mut next = Clock::now();
        loop {
            if Clock::now() >= next {
                next += Duration::from_millis(200);
                self.write(graph, cdr::encode(&nodes, Encoding::Xcdr1).expect("it fits"));
                let text = Text { data: evil.to_owned() };
                self.write(plain, cdr::encode(&text, Encoding::Xcdr1).expect("it fits"));
            }
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

/// A node whose name is plain only where it is `n`.
fn node(name: &str, evil: &str) -> NodeEntitiesInfo {
    let evil = if name == "n" { "" } else { evil };
    NodeEntitiesInfo {
        node_namespace: format!("/{evil}"),
        node_name: format!("{name}{evil}"),
        writer_gid_seq: vec![Gid { data: [0x0e; 16] }],
        ..NodeEntitiesInfo::default()
    }
}
