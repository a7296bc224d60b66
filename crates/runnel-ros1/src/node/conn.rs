//! What connections and calls of a node are for.

use std::net::SocketAddr;
use std::sync::Arc;

use super::event::{LinkStats, Role};
use super::incoming::ExpectHeader;
use super::incoming::datagrams::Asking;
use super::service_links::ServiceLinkId;
use crate::net::{ConnId, Endpoint};

/// What a connection of TCPROS, or a datagram socket, is.
#[derive(Debug)]
pub(super) enum Conn {
    Incoming(ExpectHeader),
    Publisher {
        topic: String,
        uri: String,
        to: Endpoint,
    },
    /// A publisher is being asked to send its datagrams there.
    PublisherDatagrams {
        topic: String,
        uri: String,
        port: u16,
    },
    /// A subscriber asks for datagrams, and is answered when there is a socket to send them from.
    SubscriberDatagrams(Box<Asking>),
    LinkedPublisher(Linked),
    Subscriber(Linked),
    ServiceClient,
    ServiceLink(ServiceLinkId),
}

/// A link that stands, as the slave API tells of it.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) topic: String,
    /// The other node's name.
    pub(super) node: String,
    /// A publisher's URI; empty for a subscriber.
    pub(super) uri: String,
    /// The address of the connection's other end.
    pub(super) address: String,
    /// Our port of the datagram socket, if it is a link of UDPROS.
    pub(super) datagram_port: Option<u16>,
    pub(super) stats: Arc<LinkStats>,
}

/// What a call under way is for.
#[derive(Debug)]
pub(super) enum Purpose {
    Register(Role, String),
    Unregister(Role, String),
    AskOwner,
    RequestTopic { topic: String, uri: String },
    LookupService(ServiceLinkId),
    Close,
}

/// Who calls the slave API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The connection to answer on.
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
}
