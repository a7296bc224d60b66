//! Helpers of the UDPROS tests.
#![allow(dead_code, reason = "no file of tests uses all of it")]

use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::{Node, NodeEvent, PeerFault, TopicSpec};
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, Net, text_topic};

pub const TOPIC: &str = "/chatter";

/// A topic whose subscription requests UDPROS.
pub fn udpros_topic() -> TopicSpec {
    TopicSpec { udpros: true, ..text_topic(TOPIC) }
}

/// Whether a node has reported this fault of a peer.
pub fn has_reported(net: &Net, app: App, is_it: impl Fn(&PeerFault) -> bool) -> bool {
    net.events(app).iter().any(|event| matches!(event, NodeEvent::PeerFault { why } if is_it(why)))
}

pub fn header(fields: &[(&str, &str)]) -> Value {
    Value::Binary(ConnectionHeader::new(fields.iter().copied()).emit().split_off(4))
}

pub fn framed(number: u32, id: u8, text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_le_bytes();
    [&number.to_le_bytes()[..], &[0, id, 1, 0], &length, text.as_bytes()].concat()
}

/// All pending bytes of a node, on all connections.
pub fn sent(node: &mut Node) -> String {
    let bytes = std::iter::from_fn(|| node.poll_transmit()).flat_map(|transmit| match transmit {
        Transmit::Send { bytes, .. } => bytes,
        _ => Vec::new(),
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}
