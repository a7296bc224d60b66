//! Events of a node, for its driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use runnel_core::local_peer::LocalPeerId;

use super::fault::{MasterFault, PeerFault};
use super::service_links::{ServiceFailure, ServiceLinkId};
use crate::net::ConnId;
use crate::rpc::Uri;
use crate::tcpros::LENGTH;
use crate::udpros::Fragmenter;
use crate::xmlrpc::Value;

/// Counters of one link. The driver counts, the slave API reads.
#[derive(Debug, Default)]
pub struct LinkStats {
    messages: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
    by_memory: AtomicBool,
}

impl LinkStats {
    /// Counts messages and bytes. Only the thread that owns the link may call it.
    pub fn count(&self, messages: u64, bytes: u64) {
        // Two fetch_add would cost more than all other counting of a message.
        self.messages.store(self.messages() + messages, Ordering::Relaxed);
        self.bytes.store(self.bytes() + bytes, Ordering::Relaxed);
    }

    /// Counts one message of `bytes` bytes and its length prefix. Same caller as [`LinkStats::count`].
    pub fn count_framed(&self, bytes: usize) {
        self.count(1, (LENGTH + bytes) as u64);
    }

    /// Counts dropped messages.
    pub fn count_dropped(&self, messages: u64) {
        self.dropped.fetch_add(messages, Ordering::Relaxed);
    }

    /// Sets whether messages travel by shared memory instead of the connection.
    pub fn set_by_memory(&self, by_memory: bool) {
        self.by_memory.store(by_memory, Ordering::Relaxed);
    }

    /// Whether messages travel by shared memory.
    pub fn is_by_memory(&self) -> bool {
        self.by_memory.load(Ordering::Relaxed)
    }

    /// Messages counted.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Bytes counted, length prefixes included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Dropped messages.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A kind of registration with the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Publishes the topic.
    Publisher,
    /// Subscribes to the topic.
    Subscriber,
    /// Provides the service.
    Service,
    /// Sets the parameter.
    Parameter,
    /// Subscribes to changes of the parameter.
    ParamSubscriber,
}

/// An established link to a publisher: its header was accepted.
#[derive(Debug)]
pub struct PublisherLink {
    /// The topic.
    pub topic: String,
    /// The connection; from now on it carries messages.
    pub conn: ConnId,
    /// The publisher's node name.
    pub publisher: String,
    /// Message type from the publisher's header.
    pub type_name: String,
    /// MD5 sum from the publisher's header.
    pub md5: String,
    /// Message definition from the publisher's header; empty if it has none.
    pub definition: String,
    /// The topic is latched.
    pub latching: bool,
    /// Bytes that arrived after the header.
    pub rest: Vec<u8>,
    /// The connection id of the datagrams of a UDPROS link; `conn` is then a datagram socket.
    pub datagrams: Option<u32>,
    /// The peer's identity for shared memory, if it may be on the same host.
    pub same_host: Option<LocalPeerId>,
    /// The link's id in statements between messages, if both ends understand them.
    pub delivery: Option<u64>,
    /// The peer's id if it is in ROS 2, too.
    pub dual_node_id: Option<u64>,
    /// Counters, for the code that reads the messages.
    pub stats: Arc<LinkStats>,
}

/// A link to a subscriber. It is established once the subscriber has its answer. The driver must add it to the
/// publication's links before it sends the answer, so that the subscriber misses no later message.
#[derive(Debug)]
pub struct SubscriberLink {
    /// The topic.
    pub topic: String,
    /// The connection; from now on it carries messages.
    pub conn: ConnId,
    /// The subscriber's node name.
    pub subscriber: String,
    /// The answer to its header, to be sent before messages; empty on a UDPROS link.
    pub answer: Vec<u8>,
    /// The fragmenter of a UDPROS link; `conn` is then a datagram socket.
    pub datagrams: Option<Fragmenter>,
    /// The peer's identity for shared memory, if it may be on the same host.
    pub same_host: Option<LocalPeerId>,
    /// The link's id in statements between messages, if both ends understand them.
    pub delivery: Option<u64>,
    /// The peer's id if it is in ROS 2, too.
    pub dual_node_id: Option<u64>,
    /// Counters, for the code that sends the messages.
    pub stats: Arc<LinkStats>,
}

/// A client of a service that the node provides. The answer to its header is already queued for sending.
#[derive(Debug)]
pub struct ServiceClientLink {
    /// The service.
    pub service: String,
    /// The connection; from now on it carries requests and responses.
    pub conn: ConnId,
    /// The client's node name.
    pub client: String,
    /// The client makes more than one call.
    pub persistent: bool,
    /// The peer's identity for shared memory, if it may be on the same host.
    pub same_host: Option<LocalPeerId>,
    /// Bytes that arrived after the header.
    pub rest: Vec<u8>,
}

/// An established link to a service: its header was accepted.
#[derive(Debug)]
pub struct ServiceServerLink {
    /// The link.
    pub link: ServiceLinkId,
    /// The connection; from now on it carries requests and responses.
    pub conn: ConnId,
    /// The node that provides the service.
    pub provider: String,
    /// Service type from the provider's header.
    pub type_name: String,
    /// MD5 sum from the provider's header.
    pub md5: String,
    /// The peer's identity for shared memory, if it may be on the same host.
    pub same_host: Option<LocalPeerId>,
    /// Bytes that arrived after the header.
    pub rest: Vec<u8>,
}

/// An event of a node. The driver must drain `poll_transmit` before it takes the next event.
#[derive(Debug)]
pub enum NodeEvent {
    /// The master has accepted a registration.
    Registered {
        /// The kind.
        role: Role,
        /// The topic, service or parameter.
        name: String,
    },
    /// The master has refused a registration.
    RegistrationRefused {
        /// The kind.
        role: Role,
        /// The topic, service or parameter.
        name: String,
        /// The master's reason.
        why: MasterFault,
    },
    /// The master does not answer; the node retries until it does.
    MasterUnreachable {
        /// The master's URI.
        master: Uri,
        /// The error.
        why: MasterFault,
    },
    /// The master answers again, and the node registers everything again.
    MasterReconnected,
    /// A link to a publisher is established.
    PublisherJoined(PublisherLink),
    /// A link to a subscriber is established.
    SubscriberJoined(SubscriberLink),
    /// A client of a service is connected.
    ServiceClientJoined(ServiceClientLink),
    /// A link to a service is established.
    ServiceLinked(ServiceServerLink),
    /// A link to a service has failed. Its connection is already closed.
    ServiceFailed {
        /// The link.
        link: ServiceLinkId,
        /// The error.
        why: ServiceFailure,
    },
    /// The node has closed a link to a publisher or subscriber, with its connection.
    LinkClosed {
        /// The topic.
        topic: String,
        /// The connection.
        conn: ConnId,
    },
    /// A node of the same process publishes the topic. No connection is made.
    LocalPublisherJoined {
        /// The topic.
        topic: String,
        /// URI of the publisher's slave API.
        uri: String,
    },
    /// A node of the same process no longer publishes the topic.
    LocalPublisherLeft {
        /// The topic.
        topic: String,
        /// URI of the publisher's slave API.
        uri: String,
    },
    /// A peer violated the protocol or did not fulfil a request. Nothing else is affected.
    PeerFault {
        /// The peer and the fault.
        why: PeerFault,
    },
    /// A parameter that the node subscribed to has changed.
    ParameterChanged {
        /// Its name, or that of a parameter in its namespace.
        key: String,
        /// The new value; `None` if it has none.
        value: Option<Value>,
    },
    /// The value of a parameter that [`Node::read_parameter`] has requested.
    ///
    /// [`Node::read_parameter`]: super::Node::read_parameter
    ParameterRead {
        /// Its name.
        key: String,
        /// That of the request.
        token: u64,
        /// The value; `None` if it is not set.
        value: Option<Value>,
    },
    /// A newer node of the same name, or a user, requests that the node stops.
    Stopped {
        /// The reason given.
        reason: String,
    },
    /// Unregistering after [`Node::begin_close`] has ended, with or without the master's answer.
    ///
    /// [`Node::begin_close`]: super::Node::begin_close
    Closed,
}
