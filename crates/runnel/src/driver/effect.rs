//! Requests between the components of the driver, and their deadlines. The event loop ([`super::iteration`]) takes them one
//! at a time and passes each to its component, so that no component calls another.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;
use runnel_delivery::PairId;
use runnel_io::Stream;
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, ServiceLinkId, SubscriberLink};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::nodes::NodeKey;
use super::table::Key;
use crate::data::{CallAnswer, LinkInfo, PairPosition, Publication, TopicInput};
use crate::ipc::Sender;

/// Pending effects in the order in which they arose, and deadlines.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) queue: VecDeque<Effect>,
    pub(super) deadlines: Timers<Deadline>,
}

/// Work that a component does at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// Timeout of a ROS 1 engine.
    Engine(Key),
    /// Paused listeners accept again: those of engines, and those for IPC connections.
    Accept,
    AcceptProcesses,
    /// Timeout of incomplete messages. They are checked once the sockets have been read.
    IncompleteFrames,
    /// Checks whether the peer has read the rest of an IPC connection that ends.
    IpcTeardown(Key),
    /// Timeout of a link that waits for the rest of its connection: all IPC connections are polled.
    WaitingStreams,
    /// Connects to a process of this host again.
    Process(u128),
    /// Timeout of the handshake on an IPC connection.
    Handshake(Key),
    /// Checks the deadline or liveliness lease of an endpoint.
    MonitoredEndpoint(u64),
    /// Announces this process to a participant of this host again.
    LocalPeer(GuidPrefix),
    /// Logs diagnostics that have waited for a node's name long enough.
    Diagnostics,
    /// Timeout of service calls in ROS 2.
    ServiceCalls,
    /// Replies of services that are held are tried again.
    HeldReplies,
    /// Gives up the requests of service clients that have been gone for too long.
    AbsentClients,
    /// Timeout of links that wait for readers from discovery. They are checked at the end of each iteration.
    JoiningSubscribers,
}

/// See the module's documentation.
pub(super) enum Effect {
    /// A listener of an engine has a new connection.
    Accepted { engine: Key, port: Port, stream: Stream, peer: SocketAddr },
    /// A connection that an engine requested is established.
    Connected { engine: Key, conn: ConnId },
    /// A datagram socket that an engine requested is open.
    Bound { engine: Key, conn: ConnId, port: u16 },
    /// A connection of an engine has ended or could not be made. Its socket is removed.
    Closed { engine: Key, conn: ConnId, why: Option<String> },
    /// A connection was not attempted, since the host name has no address.
    Unresolved { engine: Key, conn: ConnId, why: String },
    /// The connection of a link has ended. Its socket remains until the messages on its IPC connection have been taken.
    LinkEnded { key: Key, why: Option<String> },
    /// RTPS has been read for a link to a subscriber of a dual node.
    SubscriberJoined(Box<JoiningSubscriber>),
    /// A peer has violated the protocol of a link.
    Misbehaved { link: Key, why: &'static str },
    /// A report to the publisher of a link is due.
    PublisherReportDue { key: Key },
    /// The set of subscriptions that RTPS serves in place of a link has changed.
    LinkShareChanged { key: Key },
    /// A shared link has ended, which followed these pairs of the dual node with this id. RTPS serves them unless
    /// another link does.
    SharedLinkEnded { dual_node_id: u64, followed: Vec<(PairId, Arc<PairPosition>)> },
    /// A fault of a peer, to be logged.
    PeerFault { engine: Key, peer: Peer, why: String },
    /// A link has ended whose peer may be on this host.
    LocalLinkClosed { key: Key },
    /// The ring of an IPC connection has new records or free space.
    DoorbellRang { ipc_connection: Key },
    /// Requests that the publisher of a link sends by an IPC connection.
    RequestFromPublisher { ipc_connection: Key, link: Key },
    /// Switches a link to an IPC connection.
    SwitchPath { ipc_connection: Key, link: Key, token: u128 },
    /// An IPC connection has closed. Its links fall back to their own connections and resend what the peer has not
    /// read.
    IpcConnectionClosed { sender: Arc<Sender> },
    /// A warning about a peer, to be logged by a node.
    NodeWarning { node: NodeKey, line: String },
    /// The nodes of this process or their endpoints have changed, and are to be announced.
    NodesChanged,
    /// Pairs have ended. The rest of their IPC connections comes first, then the datagrams behind them.
    PairsEnded,
    /// RTPS has delivered samples of pairs that links serve. Links that have ended are read to their end first.
    SamplesRefused,
    /// These links have been read. The samples of pairs that no link serves any longer are due, then the datagrams
    /// behind them.
    EndedLinksRead,
    /// The participant was used and may have events.
    ParticipantUsed,
    /// A reader was created.
    ReaderCreated { reader: EntityId },
    /// A pair with a participant that may be on this host has matched.
    PairMatched { local: EntityId, remote: Guid },
    /// The name of the node of a pair's publisher has become known.
    PublisherRenamed { pair: Key, named: Arc<LinkInfo> },
    /// A participant of this host asks for this process's id.
    LocalPeerAsks { participant: GuidPrefix },
    /// The tokens of all pairs with a participant have changed.
    LocalPeerChanged { participant: GuidPrefix },
    /// The user of a reader may have capacity for samples that a pair holds.
    DeliverPair { pair: Key },
    /// The user of a reader has capacity for samples that RTPS holds.
    TakeHeld { reader: EntityId },
    /// A service has responded.
    Answered { engine: Key, link: ServiceLinkId, answer: CallAnswer },
}

impl Effects {
    pub(super) fn push_back(&mut self, effect: Effect) {
        self.queue.push_back(effect);
    }

    pub(super) fn extend(&mut self, effects: impl IntoIterator<Item = Effect>) {
        self.queue.extend(effects);
    }

    pub(super) fn schedule(&mut self, deadline: Deadline, at: Instant) {
        self.deadlines.schedule(deadline, at);
    }

    /// Has a deadline met at that time, unless it is to be met earlier.
    pub(super) fn schedule_if_earlier(&mut self, deadline: Deadline, at: Instant) {
        self.deadlines.schedule_if_earlier(deadline, at);
    }

    pub(super) fn cancel(&mut self, deadline: Deadline) {
        self.deadlines.cancel(&deadline);
    }
}

impl Effect {
    pub(super) fn is_nodes_changed(&self) -> bool {
        matches!(self, Self::NodesChanged)
    }

    /// Whether the effect is the end of a link that RTPS may not have been informed of.
    pub(super) fn is_of_ended_link(&self) -> bool {
        matches!(self, Self::LinkEnded { .. } | Self::SharedLinkEnded { .. })
    }
}

/// A link to a subscriber of a dual node, before it begins.
pub(super) struct JoiningSubscriber {
    pub(super) key: Key,
    pub(super) publication: Arc<Publication>,
    pub(super) link: SubscriberLink,
    /// How many more times RTPS may be read before the link begins.
    pub(super) reads: usize,
}

/// Peer of a link.
pub(super) enum Peer {
    Publisher { topic: Arc<TopicInput>, name: String, address: Source },
    Subscriber { topic: String, name: String },
    Client { service: String, name: String, address: IpAddr },
}

/// Source address of messages.
pub(super) enum Source {
    Address(IpAddr),
    /// Datagrams, whose source address is not verified.
    Datagrams,
}
