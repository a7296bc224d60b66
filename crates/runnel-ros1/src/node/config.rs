//! What a node is told when it is made, and what it is asked to publish and subscribe to.

use std::fmt;

use runnel_core::local_peer::LocalIdentity;

use crate::net::Endpoint;
use crate::rpc::Uri;

/// Who a node is and where it can be reached.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Global name, such as `/talker`.
    pub name: String,
    /// The host that is told to others, a name or an address.
    pub host: String,
    /// Port of the slave API.
    pub rpc_port: u16,
    /// Port of TCPROS connections.
    pub tcpros_port: u16,
    /// The master.
    pub master: Uri,
    /// Process id, told by `getPid`.
    pub pid: i32,
    /// What peers may make the node hold.
    pub limits: Limits,
    /// What it tells peers for the case that they are of the same host; nothing if `None`.
    pub same_host: Option<LocalIdentity>,
    /// By what peers know it in ROS 2, if it is there, too: random, and not the same for two nodes.
    pub origin: Option<u64>,
}

impl NodeConfig {
    /// The URI of the slave API, by which the master knows the node.
    pub fn uri(&self) -> String {
        format!("http://{}/", Endpoint { host: self.host.clone(), port: self.rpc_port })
    }
}

/// Bounds on what peers may make a node hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Publishers that one topic is subscribed from.
    pub publishers_per_topic: usize,
    /// Incoming connections that have not sent their header; the oldest gives way.
    pub half_open: usize,
    /// Incoming connections that have, and subscribers that get datagrams.
    pub subscribers: usize,
    /// Of those, subscribers that get datagrams; the oldest gives way, since nothing may tell that it is gone.
    pub datagram_subscribers: usize,
    /// Of those, subscribers at one IP address; the oldest there gives way.
    pub datagram_subscribers_per_ip: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            publishers_per_topic: 1000,
            half_open: 128,
            subscribers: 10_000,
            datagram_subscribers: 128,
            datagram_subscribers_per_ip: 32,
        }
    }
}

/// A topic as one node publishes it or subscribes to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSpec {
    /// Global name, such as `/chatter`.
    pub topic: String,
    /// Message type; `*` subscribes to any.
    pub type_name: String,
    /// MD5 sum of the type; `*` subscribes to any.
    pub md5: String,
    /// Message definition with all it depends on; may be empty for a subscription.
    pub definition: String,
    /// For a publication: the last message is kept for those who come later.
    pub latching: bool,
    /// For a subscription: publishers are asked for UDPROS first and for TCPROS after it. It holds as long as all who
    /// subscribe to the topic in this node want it.
    pub udpros: bool,
}

impl TopicSpec {
    /// True if messages of the other end can be read here: equal sums, or one end that takes any.
    pub(super) fn agrees_with(&self, md5: &str) -> bool {
        self.md5 == md5 || self.md5 == "*" || md5 == "*"
    }
}

/// A service as one node provides it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Global name, such as `/add_two_ints`.
    pub service: String,
    /// Service type.
    pub type_name: String,
    /// MD5 sum of the type.
    pub md5: String,
}

/// Why a node cannot publish, subscribe or provide as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicError {
    /// The node uses the topic with another type already.
    TypeConflict {
        /// The topic.
        topic: String,
        /// Its type so far.
        has: String,
        /// The type asked for.
        asked: String,
    },
    /// The node provides the service already.
    ServiceExists {
        /// The service.
        service: String,
    },
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TypeConflict { topic, has, asked } => {
                write!(f, "topic {topic} is used as {has} in this node already and cannot also be {asked}")
            }
            Self::ServiceExists { service } => write!(f, "this node provides service {service} already"),
        }
    }
}

impl std::error::Error for TopicError {}
