//! A node with a publisher, subscriptions, a service and a service client, against an arbitrary master and arbitrary peers.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use runnel_core::local_peer::LocalIdentity;
use runnel_core::time::Instant;
use runnel_fuzz::{Engine, run_script};
use runnel_ros1::net::{ConnId, Transmit};
use runnel_ros1::node::{Limits, Node, NodeConfig, Port, ServiceClientSpec, ServiceSpec, TopicSpec};
use runnel_ros1::rpc::Uri;

struct NodeUnderTest(Node);

impl Engine for NodeUnderTest {
    fn accepted(&mut self, now: Instant, rpc: bool, peer: SocketAddr) -> Option<ConnId> {
        self.0.handle_accepted(now, if rpc { Port::Rpc } else { Port::Tcpros }, peer)
    }
    fn connected(&mut self, now: Instant, conn: ConnId) {
        self.0.handle_connected(now, conn);
    }
    fn data(&mut self, now: Instant, conn: ConnId, bytes: &[u8]) {
        self.0.handle_data(now, conn, bytes);
    }
    fn bound(&mut self, now: Instant, conn: ConnId, port: u16) {
        self.0.handle_bound(now, conn, port);
    }
    fn closed(&mut self, now: Instant, conn: ConnId, reason: Option<&str>) {
        self.0.handle_closed(now, conn, reason);
    }
    fn timeout(&mut self, now: Instant) {
        self.0.handle_timeout(now);
    }
    fn transmit(&mut self) -> Option<Transmit> {
        self.0.poll_transmit()
    }
    fn take_events(&mut self) {
        while self.0.poll_event().is_some() {}
    }
}

fn strings(topic: &str) -> TopicSpec {
    TopicSpec {
        topic: topic.to_owned(),
        type_name: "std_msgs/String".to_owned(),
        md5: "992ce8a1687cec8c8bd883ec73ca41d1".to_owned(),
        definition: "string data\n".to_owned(),
        latching: true,
        udpros: false,
    }
}

fn node() -> Node {
    let config = NodeConfig {
        same_host: Some(LocalIdentity { process: 1, secret: 2 }),
        dual_node_id: None,
        standby_name: None,
        name: "/node".to_owned(),
        host: "127.0.0.1".to_owned(),
        rpc_port: 1000,
        tcpros_port: 1001,
        master: Uri::parse("http://127.0.0.1:11311").expect("a URI"),
        pid: 1,
        // Small, so that inputs reach them.
        limits: Limits {
            publishers_per_topic: 3,
            half_open: 3,
            subscribers: 3,
            datagram_subscribers: 2,
            datagram_subscribers_per_ip: 2,
        },
    };
    let mut node = Node::new(config);
    node.advertise(Instant(0), strings("/out")).expect("a first topic");
    node.subscribe(Instant(0), strings("/in")).expect("another topic");
    let radio = TopicSpec { udpros: true, ..strings("/radio") };
    node.subscribe(Instant(0), radio).expect("a third topic");
    let switch = ServiceSpec {
        service: "/switch".to_owned(),
        type_name: "std_srvs/SetBool".to_owned(),
        md5: "09fb03525b03e7ea1fd3992bafd87e16".to_owned(),
    };
    node.advertise_service(Instant(0), switch).expect("a first service");
    let client = ServiceClientSpec {
        service: "/asked".to_owned(),
        type_name: "*".to_owned(),
        md5: "*".to_owned(),
        persistent: true,
        probe: false,
    };
    node.open_service(Instant(0), client, None);
    node
}

fuzz_target!(|data: &[u8]| run_script(&mut NodeUnderTest(node()), data));
