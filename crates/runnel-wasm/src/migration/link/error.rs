//! Errors of links and of the files behind them.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Fingerprint, Peer};

/// A file of this host that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, or the folder.
    pub path: PathBuf,
    /// The line with the fault, from 1.
    pub line: Option<usize>,
    /// Why, and what helps.
    pub why: String,
}

impl FileError {
    pub(super) fn new(path: &Path, why: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), line: None, why: why.to_string() }
    }

    pub(super) fn at_line(path: &Path, line: usize, why: impl fmt::Display) -> Self {
        Self { line: Some(line), ..Self::new(path, why) }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
        write!(f, ": {}", self.why)
    }
}

impl Error for FileError {}

/// Why two hosts have no link, or have lost it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// A file of this host's identity, or the list of trusted hosts, cannot be used.
    File(FileError),
    /// This host cannot listen on the address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// No connection to the address was made.
    Unreachable {
        /// The address, as it was given.
        address: String,
        /// Why.
        why: String,
    },
    /// The peer is a host that this host does not trust.
    UnknownPeer {
        /// The address of the peer.
        address: SocketAddr,
        /// The fingerprint of the peer's certificate.
        fingerprint: Fingerprint,
    },
    /// The peer does not trust this host.
    NotTrusted {
        /// The address of the peer.
        address: SocketAddr,
        /// The fingerprint of this host's certificate.
        own: Fingerprint,
    },
    /// The peer did not complete the handshake.
    Handshake {
        /// The address of the peer.
        address: SocketAddr,
        /// What it did.
        why: String,
    },
    /// A frame to send is longer than the limit.
    FrameTooLong {
        /// The peer to which it was to be sent.
        peer: Peer,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The peer did not take enough of the bytes that wait for it. The link goes on.
    Backlog {
        /// The peer.
        peer: Peer,
        /// Bytes that wait.
        queued: usize,
        /// How long the link has waited for space.
        after: Duration,
    },
    /// The peer sent what the protocol does not allow.
    PeerMisbehaved {
        /// The peer.
        peer: Peer,
        /// What it did.
        what: String,
    },
    /// The peer has sent nothing, not even keep-alives.
    Silent {
        /// The peer.
        peer: Peer,
        /// For how long.
        after: Duration,
    },
    /// The peer has closed the link. All that it had sent was received.
    Closed {
        /// The peer.
        peer: Peer,
    },
    /// The connection broke.
    Lost {
        /// The peer.
        peer: Peer,
        /// Why.
        why: String,
    },
    /// The listener has ended.
    ListenerEnded {
        /// Its address.
        address: SocketAddr,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Listen { address, why } => write!(f, "{address}: cannot listen there: {why}"),
            Self::Unreachable { address, why } => write!(f, "{address}: no connection: {why}"),
            Self::UnknownPeer { address, fingerprint } => write!(
                f,
                "{address}: this host does not trust that one, whose certificate is {fingerprint}. Compare it with what \
                 runnel wasm certificate prints there. Try: runnel wasm trust {fingerprint}"
            ),
            Self::NotTrusted { address, own } => {
                write!(f, "{address}: that host does not trust this one. Try there: runnel wasm trust {own}")
            }
            Self::Handshake { address, why } => write!(f, "{address}: no link: {why}"),
            Self::FrameTooLong { peer, length, limit } => {
                write!(f, "{peer}: a frame of {length} bytes was not sent: the limit is {limit}")
            }
            Self::Backlog { peer, queued, after } => {
                write!(f, "{peer}: the host does not take what is sent: {queued} bytes wait after {after:?}")
            }
            Self::PeerMisbehaved { peer, what } => write!(f, "{peer}: the link was ended: the host {what}"),
            Self::Silent { peer, after } => {
                write!(f, "{peer}: the link was ended: nothing was received for {after:?}")
            }
            Self::Closed { peer } => write!(f, "{peer}: the host has closed the link"),
            Self::Lost { peer, why } => write!(f, "{peer}: the link broke: {why}"),
            Self::ListenerEnded { address } => write!(f, "{address}: nothing listens there any more"),
        }
    }
}

impl Error for LinkError {}

impl From<FileError> for LinkError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
