//! Kinds of sockets of the driver, and the state of each.

use std::net::SocketAddr;
use std::sync::Arc;

use runnel_core::local_peer::LocalPeerId;
use runnel_io::interfaces::InterfaceMonitor;
use runnel_io::{Datagrams, Listener, Stream};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, ServiceLinkId};
use runnel_ros1::tcpros::{FrameReader, ResponseReader};
use runnel_ros1::udpros::Reassembler;

use super::link_delivery::LinkPair;
use crate::data::{ClientLink, LinkInfo, Publication, ServiceCore, StreamPath, TopicInput, Unsent};
use crate::driver::table::Key;
use crate::ipc::Sender;
use crate::settings::receive_budget::FrameClaim;

/// A descriptor in the reactor. The discriminant comes first, next to the fields that each message uses.
#[repr(u8)]
pub(in crate::driver) enum Socket {
    /// Accepts connections for an engine.
    Listener { listener: Listener, engine: Key, port: Port },
    /// Connection between an engine and a peer.
    Control(Control),
    /// Connection from a publisher.
    Input(Input),
    /// Connection to a subscriber. The publication sends on it.
    Output(Output),
    /// Datagram socket that an engine requested.
    Opened(Opened),
    /// Datagrams from a publisher.
    DatagramInput(DatagramInput),
    /// Datagrams to a subscriber. The publication sends on it.
    DatagramOutput(DatagramOutput),
    /// Connection from a client. The service responds on it.
    ServedClient(ServedClient),
    /// Connection to a service.
    CalledService(CalledService),
    /// Receives datagrams of the ROS 2 participant.
    Rtps(Arc<Datagrams>),
    /// Reports changes of the host's network interfaces.
    Interfaces(InterfaceMonitor),
    /// Placeholder while a socket is being made.
    Nothing,
}

impl Socket {
    /// The engine and its id of the connection.
    pub(in crate::driver) fn conn(&self) -> Option<(Key, ConnId)> {
        Some(match self {
            Self::Control(Control { engine, conn, .. })
            | Self::Input(Input { engine, conn, .. })
            | Self::Output(Output { engine, conn, .. })
            | Self::Opened(Opened { engine, conn, .. })
            | Self::DatagramInput(DatagramInput { engine, conn, .. })
            | Self::DatagramOutput(DatagramOutput { engine, conn, .. })
            | Self::ServedClient(ServedClient { engine, conn, .. })
            | Self::CalledService(CalledService { engine, conn, .. }) => (*engine, *conn),
            Self::Listener { .. } | Self::Rtps(_) | Self::Interfaces(_) | Self::Nothing => return None,
        })
    }

    /// The socket's engine.
    pub(in crate::driver) fn engine(&self) -> Option<Key> {
        match self {
            Self::Listener { engine, .. } => Some(*engine),
            other => other.conn().map(|(engine, _)| engine),
        }
    }

    /// The peer of a link, if it may be on this host.
    pub(in crate::driver) fn local_peer(&self) -> Option<LocalPeerId> {
        match self {
            Self::Input(Input { local_peer, .. })
            | Self::Output(Output { local_peer, .. })
            | Self::ServedClient(ServedClient { local_peer, .. })
            | Self::CalledService(CalledService { local_peer, .. }) => *local_peer,
            _ => None,
        }
    }
}

/// A connection of an engine.
pub(in crate::driver) struct Control {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) peer: SocketAddr,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) connecting: bool,
    /// It is closed once `unsent` is empty.
    pub(in crate::driver) closing: bool,
    /// The reactor watches for writability.
    pub(in crate::driver) watched: bool,
    pub(in crate::driver) unsent: Unsent,
}

/// A link from a publisher. The fields that each message uses come first.
#[repr(C)]
pub(in crate::driver) struct Input {
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
    /// Set if both ends understand statements.
    pub(super) pair: Option<Box<LinkPair>>,
    pub(in crate::driver) reader: FrameReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    /// Bytes received by the connection.
    pub(in crate::driver) received: u64,
    /// Set if the publisher may be on this host.
    pub(in crate::driver) local_peer: Option<LocalPeerId>,
}

/// A link to a subscriber.
pub(in crate::driver) struct Output {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) publication: Arc<Publication>,
    /// Set if the subscriber may be on this host.
    pub(in crate::driver) local_peer: Option<LocalPeerId>,
    /// Statements of the subscriber, if both ends understand them.
    pub(in crate::driver) stated: Option<Box<Stated>>,
}

/// State of a subscriber's statements.
pub(in crate::driver) struct Stated {
    /// The first bytes of an incomplete statement.
    pub(in crate::driver) part: Vec<u8>,
    pub(in crate::driver) topic: String,
    pub(in crate::driver) subscriber: String,
}

/// A datagram socket without a link. It is not in the reactor: datagrams wait in the kernel.
pub(in crate::driver) struct Opened {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
}

/// A link from a publisher that sends datagrams.
pub(in crate::driver) struct DatagramInput {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
    pub(in crate::driver) reassembler: Reassembler,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
}

/// A link to a subscriber that receives datagrams.
pub(in crate::driver) struct DatagramOutput {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
    pub(in crate::driver) publication: Arc<Publication>,
}

/// A link from a client of a service.
pub(in crate::driver) struct ServedClient {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) reader: FrameReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) service: Arc<ServiceCore>,
    pub(in crate::driver) client: Arc<ClientLink>,
    /// The client's node.
    pub(in crate::driver) name: String,
    /// Bytes of requests received by the connection.
    pub(in crate::driver) received: u64,
    /// Set if the client may be on this host.
    pub(in crate::driver) local_peer: Option<LocalPeerId>,
}

/// A link to a service.
pub(in crate::driver) struct CalledService {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) link: ServiceLinkId,
    pub(in crate::driver) reader: ResponseReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) path: StreamPath,
    pub(in crate::driver) unsent: Unsent,
    /// Bytes of responses received by the connection.
    pub(in crate::driver) received: u64,
    /// Set if the service may be on this host.
    pub(in crate::driver) local_peer: Option<LocalPeerId>,
}

impl CalledService {
    /// Moves requests back to the connection after the IPC connection closed, with what the service has not read.
    /// Without memory for that, the connection ends.
    pub(in crate::driver) fn fall_back(&mut self, sender: &Arc<Sender>) {
        if let Some(channel) = self.path.channel_of(sender) {
            self.path.fall_back();
            let unread = sender.take_unread_stream(channel);
            let put = unread.and_then(|bytes| self.unsent.push_first(&bytes));
            if put.is_err() {
                let _ = self.stream.shutdown();
            }
        }
    }
}
