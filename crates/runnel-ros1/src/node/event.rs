//! What a node tells whoever drives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use runnel_core::local_peer::LocalPeerId;

use super::fault::{MasterFault, PeerFault};
use super::service_links::{ServiceFailure, ServiceLinkId};
use crate::net::ConnId;
use crate::tcpros::LENGTH;
use crate::udpros::Fragmenter;
use crate::xmlrpc::Value;

/// Counters of one link, counted where its messages pass and read by the slave API.
#[derive(Debug, Default)]
pub struct LinkStats {
    messages: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
    by_memory: AtomicBool,
}

impl LinkStats {
    /// Counts messages that passed and their bytes. One thread at a time: whoever holds the link.
    pub fn count(&self, messages: u64, bytes: u64) {
        // Twice a fetch_add would cost a message more than all the rest of its counting.
        self.messages.store(self.messages() + messages, Ordering::Relaxed);
        self.bytes.store(self.bytes() + bytes, Ordering::Relaxed);
    }

    /// Counts a message of so many bytes that passed, which has its length before it. As [`LinkStats::count`].
    pub fn count_framed(&self, bytes: usize) {
        self.count(1, (LENGTH + bytes) as u64);
    }

    /// Counts messages that were dropped.
    pub fn count_dropped(&self, messages: u64) {
        self.dropped.fetch_add(messages, Ordering::Relaxed);
    }

    /// Notes whether its messages pass by shared memory and no longer by its connection.
    pub fn set_by_memory(&self, by_memory: bool) {
        self.by_memory.store(by_memory, Ordering::Relaxed);
    }

    /// Whether its messages pass by shared memory.
    pub fn is_by_memory(&self) -> bool {
        self.by_memory.load(Ordering::Relaxed)
    }

    /// Messages that passed.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Bytes that passed, lengths included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Messages that were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A side that a node registers with the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It publishes the topic.
    Publisher,
    /// It subscribes to the topic.
    Subscriber,
    /// It provides the service.
    Service,
    /// It has the parameter set.
    Parameter,
    /// It wants to hear of the parameter's changes.
    ParamSubscriber,
}

/// A link to a publisher that stands: its header was good.
#[derive(Debug)]
pub struct PublisherLink {
    /// The topic.
    pub topic: String,
    /// The connection; from now on its bytes are messages.
    pub conn: ConnId,
    /// The publisher's node.
    pub publisher: String,
    /// Message type, as the publisher says.
    pub type_name: String,
    /// MD5 sum of the type, as the publisher says.
    pub md5: String,
    /// Message definition, as the publisher says; empty if it does not.
    pub definition: String,
    /// The first message is one that was kept.
    pub latching: bool,
    /// Bytes that came behind the header.
    pub rest: Vec<u8>,
    /// The number that its datagrams bear, if it is a link of UDPROS; then `conn` is a datagram socket.
    pub datagrams: Option<u32>,
    /// The other end may be of the same host.
    pub same_host: Option<LocalPeerId>,
    /// What statements among the messages name the link by, if both ends understand them.
    pub delivery: Option<u64>,
    /// The other end is in ROS 2, too, where it is known by this.
    pub origin: Option<u64>,
    /// To be counted on by whoever reads the messages.
    pub stats: Arc<LinkStats>,
}

/// A link to a subscriber that stands once it has its answer. Whoever sends messages counts it among the links before it
/// gets that, so that it misses none from then on.
#[derive(Debug)]
pub struct SubscriberLink {
    /// The topic.
    pub topic: String,
    /// The connection; from now on messages are sent on it.
    pub conn: ConnId,
    /// The subscriber's node.
    pub subscriber: String,
    /// The answer to its header, to be sent before messages; nothing on a link of UDPROS.
    pub answer: Vec<u8>,
    /// How its datagrams are made, if it is a link of UDPROS; then `conn` is a datagram socket.
    pub datagrams: Option<Fragmenter>,
    /// The other end may be of the same host.
    pub same_host: Option<LocalPeerId>,
    /// What statements among the messages name the link by, if both ends understand them.
    pub delivery: Option<u64>,
    /// The other end is in ROS 2, too, where it is known by this.
    pub origin: Option<u64>,
    /// To be counted on by whoever sends the messages.
    pub stats: Arc<LinkStats>,
}

/// A client of a service that the node provides: the answer to its header is among what is to be sent.
#[derive(Debug)]
pub struct ServiceClientLink {
    /// The service.
    pub service: String,
    /// The connection; from now on requests come and responses go on it.
    pub conn: ConnId,
    /// The client's node.
    pub client: String,
    /// It stays for more than one call.
    pub persistent: bool,
    /// The other end may be of the same host.
    pub same_host: Option<LocalPeerId>,
    /// Bytes that came behind the header.
    pub rest: Vec<u8>,
}

/// A link to a service that stands: its header was good.
#[derive(Debug)]
pub struct ServiceServerLink {
    /// Which.
    pub link: ServiceLinkId,
    /// The connection; from now on requests go and responses come on it.
    pub conn: ConnId,
    /// The node that provides the service.
    pub provider: String,
    /// Service type, as the provider says.
    pub type_name: String,
    /// MD5 sum of the type, as the provider says.
    pub md5: String,
    /// The other end may be of the same host.
    pub same_host: Option<LocalPeerId>,
    /// Bytes that came behind the header.
    pub rest: Vec<u8>,
}

/// What a node tells. Everything from `poll_transmit` is to be taken before the next event.
#[derive(Debug)]
pub enum NodeEvent {
    /// The master knows that the node has this role.
    Registered {
        /// Which.
        role: Role,
        /// The topic, service or parameter.
        name: String,
    },
    /// The master will not have it.
    RegistrationRefused {
        /// Which.
        role: Role,
        /// The topic, service or parameter.
        name: String,
        /// What the master says.
        why: MasterFault,
    },
    /// The master does not answer; it is tried again until it does.
    MasterUnreachable {
        /// What went wrong.
        why: MasterFault,
    },
    /// The master answers again and is told everything anew.
    MasterBack,
    /// A publisher's link stands.
    PublisherJoined(PublisherLink),
    /// A subscriber's link stands.
    SubscriberJoined(SubscriberLink),
    /// A client of a service has joined.
    ServiceClientJoined(ServiceClientLink),
    /// A link to a service stands.
    ServiceLinked(ServiceServerLink),
    /// A link to a service is gone: its connection is closed already.
    ServiceFailed {
        /// Which.
        link: ServiceLinkId,
        /// What went wrong.
        why: ServiceFailure,
    },
    /// A link of either kind is gone, by our doing: the connection is closed already.
    LinkClosed {
        /// The topic.
        topic: String,
        /// The connection.
        conn: ConnId,
    },
    /// A node of this same process publishes the topic: no connection is made.
    LocalPublisherJoined {
        /// The topic.
        topic: String,
        /// URI of its slave API.
        uri: String,
    },
    /// It does no longer.
    LocalPublisherLeft {
        /// The topic.
        topic: String,
        /// URI of its slave API.
        uri: String,
    },
    /// A peer did what is not accepted, or not what was asked of it; nothing else is disturbed.
    PeerTrouble {
        /// Who, and what was wrong.
        why: PeerFault,
    },
    /// A parameter that the node subscribed to has changed.
    ParameterChanged {
        /// Its name, or that of a parameter below it.
        key: String,
        /// Its value; `None` if it has none.
        value: Option<Value>,
    },
    /// The node has been told to stop, by a newer one of its name or by a user.
    Stopped {
        /// The reason given.
        reason: String,
    },
    /// Unregistering after [`Node::begin_close`] is over, whether the master answered or not.
    ///
    /// [`Node::begin_close`]: super::Node::begin_close
    Closed,
}
