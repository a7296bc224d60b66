//! Purposes of a node's connections and calls.

use std::net::SocketAddr;
use std::sync::Arc;

use super::event::{LinkStats, Role};
use super::incoming::ExpectHeader;
use super::incoming::datagrams::DatagramRequest;
use super::service_links::ServiceLinkId;
use crate::net::{ConnId, Endpoint};

/// The role of a TCPROS connection or a datagram socket.
#[derive(Debug)]
pub(super) enum Conn {
    Incoming(ExpectHeader),
    Publisher {
        topic: String,
        uri: String,
        to: Endpoint,
    },
    /// The socket for the datagrams of a publisher, which has been asked to send them.
    PublisherDatagrams {
        topic: String,
        uri: String,
        port: u16,
    },
    /// The socket for the datagrams to a subscriber, which is answered once the socket is open.
    SubscriberDatagrams(Box<DatagramRequest>),
    LinkedPublisher(Linked),
    Subscriber(Linked),
    ServiceClient,
    ServiceLink(ServiceLinkId),
}

/// An established link, as the slave API reports it.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) topic: String,
    /// The other node's name.
    pub(super) node: String,
    /// The publisher's URI; empty for a subscriber.
    pub(super) uri: String,
    /// The address of the peer.
    pub(super) address: String,
    /// The local port of the datagram socket of a UDPROS link.
    pub(super) datagram_port: Option<u16>,
    pub(super) stats: Arc<LinkStats>,
}

/// The purpose of a call in progress.
#[derive(Debug)]
pub(super) enum Purpose {
    Register(Role, String),
    Unregister(Role, String),
    AskOwner,
    RequestTopic {
        topic: String,
        uri: String,
    },
    LookupService(ServiceLinkId),
    ReadParameter {
        key: String,
        token: u64,
    },
    Close,
    /// Of the registrations under a name that the node had.
    UnregisterFormer,
}

/// A caller of the slave API.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The connection to answer on.
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
}
