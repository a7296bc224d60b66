//! Configuration of a node, and of its topics and services.

use std::fmt;

use runnel_core::local_peer::LocalIdentity;

use crate::net::Endpoint;
use crate::rpc::Uri;

/// Identity and addresses of a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Global name, such as `/talker`.
    pub name: String,
    /// The host name or address that is announced to other nodes.
    pub host: String,
    /// Port of the slave API.
    pub rpc_port: u16,
    /// Port of TCPROS connections.
    pub tcpros_port: u16,
    /// The master's URI.
    pub master: Uri,
    /// Process id, the answer to `getPid`.
    pub pid: i32,
    /// Limits on the resources that peers can make the node use.
    pub limits: Limits,
    /// Announcement to peers for shared memory on the same host; not sent if `None`.
    pub same_host: Option<LocalIdentity>,
    /// Random id by which a node in both graphs is recognized in ROS 2; unique per node.
    pub dual_node_id: Option<u64>,
    /// The name by which the master knows the node until [`Node::take_over_name`](super::Node::take_over_name): another
    /// node has its own name until then.
    pub standby_name: Option<String>,
}

impl NodeConfig {
    /// The name by which the master knows the node.
    pub fn registered_name(&self) -> &str {
        self.standby_name.as_deref().unwrap_or(&self.name)
    }

    /// The URI of the slave API, which identifies the node at the master.
    pub fn uri(&self) -> String {
        format!("http://{}/", Endpoint { host: self.host.clone(), port: self.rpc_port })
    }
}

/// Limits on the resources that peers can make a node use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Publishers to which one subscription is linked.
    pub publishers_per_topic: usize,
    /// Incoming connections without a header; the oldest is evicted.
    pub half_open: usize,
    /// Incoming connections with a header, and UDPROS subscribers.
    pub subscribers: usize,
    /// UDPROS subscribers among them; the oldest is evicted, since nothing may reveal that it is gone.
    pub datagram_subscribers: usize,
    /// UDPROS subscribers among them at one IP address; the oldest there is evicted.
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

/// A topic that a node publishes or subscribes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSpec {
    /// Global name, such as `/chatter`.
    pub topic: String,
    /// Message type; `*` accepts any.
    pub type_name: String,
    /// MD5 sum of the type; `*` accepts any.
    pub md5: String,
    /// Message definition with all its dependencies; may be empty for a subscription.
    pub definition: String,
    /// For a publication: late subscribers get the last message.
    pub latching: bool,
    /// For a subscription: UDPROS is requested first, then TCPROS. Used while all subscriptions of this node to the topic
    /// request it.
    pub udpros: bool,
}

impl TopicSpec {
    /// Whether the other end's messages can be read: the MD5 sums are equal, or one end accepts any type.
    pub(super) fn agrees_with(&self, md5: &str) -> bool {
        self.md5 == md5 || self.md5 == "*" || md5 == "*"
    }
}

/// A service that a node provides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceSpec {
    /// Global name, such as `/add_two_ints`.
    pub service: String,
    /// Service type.
    pub type_name: String,
    /// MD5 sum of the type.
    pub md5: String,
}

/// Reason why a node cannot publish, subscribe or provide a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicError {
    /// The node already uses the topic with another type.
    TypeConflict {
        /// The topic.
        topic: String,
        /// The type in use.
        has: String,
        /// The requested type.
        requested: String,
    },
    /// The node already provides the service.
    ServiceExists {
        /// The service.
        service: String,
    },
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TypeConflict { topic, has, requested } => {
                write!(
                    f,
                    "topic {topic}: this node already uses it with type {has}, so it cannot use {requested}"
                )
            }
            Self::ServiceExists { service } => write!(f, "service {service}: this node already provides it"),
        }
    }
}

impl std::error::Error for TopicError {}
