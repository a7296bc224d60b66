//! Identity of processes on one host, by which two of them find a path that is not the network. Both engines announce it, each
//! in a form of its own: fields of a connection header in ROS 1, a vendor-specific message between participants in ROS 2.
//!
//! A process is 128 random bits that it announces only to nodes it has links with, so that nobody else can find it. A token is
//! announced on one link only: a process that repeats it on another connection is the other end of that link.

/// What a node announces of its own process.
#[derive(Clone, Debug)]
pub struct LocalIdentity {
    /// The process: random bits.
    pub process: u128,
    /// What the node's tokens are made of: random bits that are never announced, different for each node.
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
