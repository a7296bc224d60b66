//! Identity of processes on one host, by which two of them establish an IPC connection. Both engines announce it: ROS 1 in
//! fields of a connection header, ROS 2 in a vendor-specific message between participants.
//!
//! A process is identified by 128 random bits, which it announces only to nodes that it has links with, so that other
//! processes cannot find it. A token is announced on one link only: a process that repeats it on another connection is the
//! other end of that link.

/// A node's announcement of its process.
#[derive(Clone, Debug)]
pub struct LocalIdentity {
    /// The process: random bits.
    pub process: u128,
    /// Secret of the node's tokens: random bits that are never announced, different for each node.
    pub secret: u128,
}

/// A peer that may be on this host: its process, and the link to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalPeerId {
    /// The peer's process.
    pub process: u128,
    /// The token of the link, which only its two ends know.
    pub token: u128,
}
