//! What components of the driver want done by others. The loop takes these one at a time and hands each to the component that
//! it concerns ([`super::turn`]), so that no component calls another.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use runnel_core::local_peer::LocalPeerId;
use runnel_io::Stream;
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, ServiceLinkId};
use runnel_rtps::wire::EntityId;

use super::nodes::NodeKey;
use super::table::Key;
use crate::data::{CallAnswer, TopicInput};

/// Effects in the order in which they arose.
pub(super) type Effects = VecDeque<Effect>;

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
    /// What has come by a link is something that its publisher is to be told of.
    PublisherUntold { key: Key },
    /// Something is to be logged about a peer.
    PeerTrouble { engine: Key, peer: Peer, why: String },
    /// A link is gone whose other end may be of this host.
    Parted { key: Key, peer: LocalPeerId },
    /// A node has something to say of a peer.
    NodeTrouble { node: NodeKey, line: String },
    /// Others are to be told of the nodes of this process, which have changed or have other endpoints.
    NodesChanged,
    /// The participant may have events, since it was worked on.
    ParticipantWorked,
    /// A reader has been made.
    ReaderMade { reader: EntityId },
    /// A service has answered.
    Answered { engine: Key, link: ServiceLinkId, answer: CallAnswer },
}

impl Effect {
    pub(super) fn is_nodes_changed(&self) -> bool {
        matches!(self, Self::NodesChanged)
    }
}

/// The other end of a link.
pub(super) enum Peer {
    Publisher { topic: Arc<TopicInput>, name: String, address: Source },
    Client { service: String, name: String, address: IpAddr },
}

/// Where messages come from.
pub(super) enum Source {
    Address(IpAddr),
    /// Datagrams do not prove where they are from.
    Datagrams,
}
