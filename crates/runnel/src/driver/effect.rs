//! What components of the driver want done by others, and when they have something to do themselves. The loop takes these one at
//! a time and hands each to the component that it concerns ([`super::turn`]), so that no component calls another.

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
use crate::data::{CallAnswer, LinkInfo, Publication, TopicInput};
use crate::ipc::{Sender, Unread};

/// What is to be done: effects in the order in which they arose, and deadlines.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) queue: VecDeque<Effect>,
    pub(super) deadlines: Timers<Deadline>,
}

/// What a component has to do at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// An engine of ROS 1 has something to do.
    Engine(Key),
    /// Listeners that paused accept again: those of engines, and those for other processes of this host.
    Accept,
    AcceptProcesses,
    /// Messages that arrive too slowly are given up, once the sockets have been read.
    IncompleteFrames,
    /// It is looked at whether the other end of a session that ends has read.
    EndingSession(Key),
    /// A link does not wait longer for what its connection still has: sessions are looked at.
    LateLinks,
    /// A process of this host is met again.
    Process(u128),
    /// The greeting on a connection is late.
    Greeting(Key),
    /// An endpoint is looked at whose deadline or lease is watched.
    WatchedEndpoint(u64),
    /// A participant of this host is told again who this process is.
    Neighbour(GuidPrefix),
    /// Complaints no longer wait for the names of nodes.
    Complaints,
    /// A link begins though discovery may still deliver readers of its node: the turn looks at such links when it ends.
    JoiningSubscribers,
}

/// See the module's documentation.
pub(super) enum Effect {
    /// A connection came to a listener of an engine.
    Accepted { engine: Key, port: Port, stream: Stream, peer: SocketAddr },
    /// A connection that an engine asked for stands.
    Connected { engine: Key, conn: ConnId },
    /// A datagram socket that an engine asked for is open.
    Bound { engine: Key, conn: ConnId, port: u16 },
    /// A connection of an engine has ended, or could not be made. Its socket is gone.
    Closed { engine: Key, conn: ConnId, why: Option<String> },
    /// A connection was not even tried, since its host has no address.
    Unresolved { engine: Key, conn: ConnId, why: String },
    /// The connection of a link has ended, which still has its socket: what its session brings is to be taken first.
    LinkEnded { key: Key, why: Option<String> },
    /// RTPS has been read for a link to a subscriber of a node in both graphs.
    SubscriberJoined(Box<JoiningSubscriber>),
    /// A link makes no sense.
    Misbehaved { link: Key, why: &'static str },
    /// What has come by a link is something that its publisher is to be told of.
    PublisherUntold { key: Key },
    /// What has come by a link changes which subscriptions RTPS serves instead.
    LinkShared { key: Key },
    /// A link is gone by which such changes came, from the node of this origin at this address: RTPS serves these pairs, if no other
    /// link does.
    LinkUnshared { node: (u64, IpAddr), pairs: Vec<PairId> },
    /// Something is to be logged about a peer.
    PeerFault { engine: Key, peer: Peer, why: String },
    /// A link is gone whose other end may be of this host.
    Parted { key: Key },
    /// There are records of a session, or room for more.
    BellRang { session: Key },
    /// The publisher of a link is to be asked to send by a session.
    AskPublisher { session: Key, link: Key },
    /// What a link carries is to go by a session.
    SwitchPath { session: Key, link: Key, token: u128 },
    /// A session is over: its links go back to their connections, with what the other end has not read.
    SessionOver { sender: Arc<Sender>, unread: Unread },
    /// A node has something to say of a peer.
    NodeTrouble { node: NodeKey, line: String },
    /// Others are to be told of the nodes of this process, which have changed or have other endpoints.
    NodesChanged,
    /// Pairs have ended: what their sessions still bring is to be taken, then the datagrams that came behind.
    PairsEnded,
    /// RTPS has brought samples of pairs that links serve: links that have ended are to be read to their ends.
    SamplesRefused,
    /// That is done: the samples of pairs that no link serves any longer are due, then the datagrams that came behind.
    EndedLinksRead,
    /// The participant may have events, since it was worked on.
    ParticipantWorked,
    /// A reader has been made.
    ReaderMade { reader: EntityId },
    /// A pair with an endpoint of another process is known by which it may leave the network.
    PairKnown { local: EntityId, remote: Guid },
    /// The publisher of a pair is known by another name.
    PublisherRenamed { pair: Key, named: Arc<LinkInfo> },
    /// A participant of this host asks by what this process is found.
    NeighbourAsks { participant: GuidPrefix },
    /// The pairs with a participant are known otherwise from now on.
    NeighbourChanged { participant: GuidPrefix },
    /// A reader's user may have room for what a pair holds.
    DeliverPair { pair: Key },
    /// A reader's user has room for what RTPS holds.
    TakeHeld { reader: EntityId },
    /// A service has answered.
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

    /// Whether a link has ended and RTPS may not know yet which pairs it is to serve.
    pub(super) fn is_of_ended_link(&self) -> bool {
        matches!(self, Self::LinkEnded { .. } | Self::LinkUnshared { .. })
    }
}

/// A link to a subscriber of a node in both graphs that has yet to begin.
pub(super) struct JoiningSubscriber {
    pub(super) key: Key,
    pub(super) publication: Arc<Publication>,
    pub(super) link: SubscriberLink,
    /// How often RTPS may still be read before it begins.
    pub(super) reads: usize,
}

/// The other end of a link.
pub(super) enum Peer {
    Publisher { topic: Arc<TopicInput>, name: String, address: Source },
    Subscriber { topic: String, name: String },
    Client { service: String, name: String, address: IpAddr },
}

/// Where messages come from.
pub(super) enum Source {
    Address(IpAddr),
    /// Datagrams do not prove where they are from.
    Datagrams,
}
