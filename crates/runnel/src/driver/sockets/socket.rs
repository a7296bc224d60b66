//! The sockets of a driver and what each is for.

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
use crate::data::{ClientLink, LinkInfo, Publication, ServiceCore, TopicInput, Unsent, Way};
use crate::driver::table::Key;
use crate::ipc::{Sender, Unread};
use crate::receive_budget::FrameClaim;

/// One socket in the reactor. What it is for comes first, beside what each message touches.
#[repr(u8)]
pub(in crate::driver) enum Socket {
    /// Accepts connections for an engine.
    Listener { listener: Listener, engine: Key, port: Port },
    /// Carries bytes between an engine and a peer.
    Control(Control),
    /// Carries messages from a publisher.
    Input(Input),
    /// Carries messages to a subscriber; the publication sends on it.
    Output(Output),
    /// A datagram socket that an engine has asked for.
    Opened(Opened),
    /// Carries messages from a publisher as datagrams.
    DatagramInput(DatagramInput),
    /// Carries messages to a subscriber as datagrams; the publication sends on it.
    DatagramOutput(DatagramOutput),
    /// Carries a client's requests; the service answers on it.
    Served(Served),
    /// Carries our requests to a service, and its responses.
    Called(Called),
    /// Where datagrams of the ROS 2 graph come in.
    Rtps(Arc<Datagrams>),
    /// Tells that the interfaces of the host may have changed.
    Interfaces(InterfaceMonitor),
    /// Is about to be another.
    Nothing,
}

impl Socket {
    /// What its engine knows it by.
    pub(in crate::driver) fn conn(&self) -> Option<(Key, ConnId)> {
        Some(match self {
            Self::Control(Control { engine, conn, .. })
            | Self::Input(Input { engine, conn, .. })
            | Self::Output(Output { engine, conn, .. })
            | Self::Opened(Opened { engine, conn, .. })
            | Self::DatagramInput(DatagramInput { engine, conn, .. })
            | Self::DatagramOutput(DatagramOutput { engine, conn, .. })
            | Self::Served(Served { engine, conn, .. })
            | Self::Called(Called { engine, conn, .. }) => (*engine, *conn),
            Self::Listener { .. } | Self::Rtps(_) | Self::Interfaces(_) | Self::Nothing => return None,
        })
    }

    /// The engine that it serves.
    pub(in crate::driver) fn engine(&self) -> Option<Key> {
        match self {
            Self::Listener { engine, .. } => Some(*engine),
            other => other.conn().map(|(engine, _)| engine),
        }
    }

    /// How a link finds its other end on this host.
    pub(in crate::driver) fn meeting(&self) -> Option<LocalPeerId> {
        match self {
            Self::Input(Input { meeting, .. })
            | Self::Output(Output { meeting, .. })
            | Self::Served(Served { meeting, .. })
            | Self::Called(Called { meeting, .. }) => *meeting,
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
    /// To be closed when `unsent` is sent.
    pub(in crate::driver) closing: bool,
    /// The reactor tells when the socket takes more.
    pub(in crate::driver) watched: bool,
    pub(in crate::driver) unsent: Unsent,
}

/// A link to a publisher. What each message touches comes first.
#[repr(C)]
pub(in crate::driver) struct Input {
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
    /// If both ends understand statements.
    pub(super) pair: Option<Box<LinkPair>>,
    pub(in crate::driver) reader: FrameReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    /// Bytes of its stream that came by the connection.
    pub(in crate::driver) received: u64,
    /// The publisher may be of this host.
    pub(in crate::driver) meeting: Option<LocalPeerId>,
}

/// A link to a subscriber.
pub(in crate::driver) struct Output {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) publication: Arc<Publication>,
    /// The subscriber may be of this host.
    pub(in crate::driver) meeting: Option<LocalPeerId>,
    /// What it states, if both ends understand statements, and whose it is.
    pub(in crate::driver) stated: Option<Box<Stated>>,
}

/// What a subscriber states on its connection.
pub(in crate::driver) struct Stated {
    /// A statement of which a part has come.
    pub(in crate::driver) part: Vec<u8>,
    pub(in crate::driver) topic: String,
    pub(in crate::driver) subscriber: String,
}

/// A datagram socket of which no link has been made. The reactor does not know it: what comes waits in the kernel.
pub(in crate::driver) struct Opened {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
}

/// A link to a publisher that sends datagrams.
pub(in crate::driver) struct DatagramInput {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
    pub(in crate::driver) reassembler: Reassembler,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) topic: Arc<TopicInput>,
    pub(in crate::driver) from: Arc<LinkInfo>,
}

/// A link to a subscriber that gets datagrams.
pub(in crate::driver) struct DatagramOutput {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) socket: Arc<Datagrams>,
    pub(in crate::driver) publication: Arc<Publication>,
}

/// A client of a service.
pub(in crate::driver) struct Served {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) reader: FrameReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) service: Arc<ServiceCore>,
    pub(in crate::driver) client: Arc<ClientLink>,
    /// The client's node.
    pub(in crate::driver) name: String,
    /// Bytes of requests that came by the connection.
    pub(in crate::driver) received: u64,
    /// The client may be of this host.
    pub(in crate::driver) meeting: Option<LocalPeerId>,
}

/// A link to a service.
pub(in crate::driver) struct Called {
    pub(in crate::driver) engine: Key,
    pub(in crate::driver) conn: ConnId,
    pub(in crate::driver) stream: Arc<Stream>,
    pub(in crate::driver) link: ServiceLinkId,
    pub(in crate::driver) reader: ResponseReader,
    pub(in crate::driver) claim: FrameClaim,
    pub(in crate::driver) way: Way,
    pub(in crate::driver) unsent: Unsent,
    /// Bytes of responses that came by the connection.
    pub(in crate::driver) received: u64,
    /// The service may be of this host.
    pub(in crate::driver) meeting: Option<LocalPeerId>,
}

impl Called {
    /// The session is over: requests go by the connection again, with what the service has not read. Without memory for that,
    /// the connection ends.
    pub(in crate::driver) fn fall_back(&mut self, sender: &Arc<Sender>, unread: &mut Unread) {
        if let Some(channel) = self.way.channel_of(sender) {
            self.way.fall_back();
            let put = unread.take_stream(channel).and_then(|bytes| self.unsent.push_first(&bytes));
            if put.is_err() {
                let _ = self.stream.shutdown();
            }
        }
    }
}
