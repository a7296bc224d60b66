//! Interface between an engine and the driver that owns its sockets.

use core::fmt;
use core::net::SocketAddr;

/// Id of one connection of an engine. An engine never uses an id twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A host and port to connect to, as a peer wrote them. The host is a name or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// Host name, IPv4 address, or IPv6 address without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A socket operation that an engine requests. `poll_transmit` returns these in the order in which they must be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Open a connection. `handle_connected` follows, or `handle_closed` if it cannot be opened.
    Connect {
        /// Id of the connection.
        conn: ConnId,
        /// The peer.
        to: Endpoint,
    },
    /// Open a datagram socket. `handle_bound` follows, or `handle_closed` if it cannot be opened.
    OpenDatagram {
        /// Id of the socket.
        conn: ConnId,
        /// The only peer that the socket sends to; `None` if it receives from any.
        to: Option<SocketAddr>,
    },
    /// Send these bytes after all earlier ones.
    Send {
        /// The connection.
        conn: ConnId,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Send all queued bytes, then close. The engine has forgotten the connection and expects no reply.
    Close {
        /// The connection.
        conn: ConnId,
    },
}
