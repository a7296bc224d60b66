//! The sockets of a driver and what each is for.

use std::net::SocketAddr;
use std::sync::Arc;

use runnel_io::{Datagrams, Listener, Stream};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::{Port, ServiceLinkId};
use runnel_ros1::tcpros::{FrameReader, ResponseReader};
use runnel_ros1::udpros::Reassembler;

use super::table::Key;
use crate::data::{ClientLink, LinkInfo, Publication, ServiceCore, TopicInput, Unsent};

/// One socket in the reactor.
pub(super) enum Socket {
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
}

/// A connection of an engine.
pub(super) struct Control {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
    pub(super) stream: Arc<Stream>,
    pub(super) connecting: bool,
    /// To be closed when `unsent` is sent.
    pub(super) closing: bool,
    /// The reactor tells when the socket takes more.
    pub(super) watched: bool,
    pub(super) unsent: Unsent,
}

/// A link to a publisher.
pub(super) struct Input {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) reader: FrameReader,
    pub(super) topic: Arc<TopicInput>,
    pub(super) from: Arc<LinkInfo>,
}

/// A link to a subscriber.
pub(super) struct Output {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) publication: Arc<Publication>,
}

/// A datagram socket of which no link has been made. The reactor does not know it: what comes waits in the kernel.
pub(super) struct Opened {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) socket: Arc<Datagrams>,
}

/// A link to a publisher that sends datagrams.
pub(super) struct DatagramInput {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) socket: Arc<Datagrams>,
    pub(super) reassembler: Reassembler,
    pub(super) topic: Arc<TopicInput>,
    pub(super) from: Arc<LinkInfo>,
}

/// A link to a subscriber that gets datagrams.
pub(super) struct DatagramOutput {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) socket: Arc<Datagrams>,
    pub(super) publication: Arc<Publication>,
}

/// A client of a service.
pub(super) struct Served {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) reader: FrameReader,
    pub(super) service: Arc<ServiceCore>,
    pub(super) client: Arc<ClientLink>,
    /// The client's node.
    pub(super) name: String,
}

/// A link to a service.
pub(super) struct Called {
    pub(super) engine: Key,
    pub(super) conn: ConnId,
    pub(super) stream: Arc<Stream>,
    pub(super) link: ServiceLinkId,
    pub(super) reader: ResponseReader,
    pub(super) unsent: Unsent,
    /// The reactor tells when the socket takes more.
    pub(super) watched: bool,
}
