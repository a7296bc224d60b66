//! How an engine speaks of connections to whoever owns the sockets.

use core::fmt;
use core::net::SocketAddr;

/// One connection of an engine. Never used twice within the life of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// A host and port to connect to, as a peer wrote them: the host may be a name or an address.
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

/// What an engine wants done with its sockets, given out by `poll_transmit` in the order it must happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Open a connection; answered by `handle_connected`, or by `handle_closed` when it cannot be opened.
    Connect {
        /// The engine's name for the connection.
        conn: ConnId,
        /// Where to.
        to: Endpoint,
    },
    /// Open a datagram socket; answered by `handle_bound`, or by `handle_closed` when it cannot be opened.
    OpenDatagram {
        /// The engine's name for it.
        conn: ConnId,
        /// The one peer that it sends to; without one it receives from any.
        to: Option<SocketAddr>,
    },
    /// Send these bytes after all that was sent before.
    Send {
        /// Over which connection.
        conn: ConnId,
        /// What to send.
        bytes: Vec<u8>,
    },
    /// Send what is still queued, then close. The engine has forgotten the connection: nothing is answered.
    Close {
        /// Which connection.
        conn: ConnId,
    },
}
