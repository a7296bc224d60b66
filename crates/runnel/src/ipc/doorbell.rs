//! What wakes the process at the other end of a session.

use std::sync::Arc;

use runnel_io::Bell;
use runnel_io::unix::Packets;

/// The packet that wakes.
pub(crate) const RING: [u8; 1] = [0];

/// See the module's documentation.
pub(crate) enum Doorbell {
    /// The bell that the other process made: nobody reads it, which is the cheapest way. That process could have who rings
    /// it wait, as it could stop it by a signal: it is one of the same user.
    Bell(Bell),
    /// A packet, for a process of another user: sending one never waits.
    Packet(Arc<Packets>),
}

impl Doorbell {
    pub(crate) fn ring(&self) {
        match self {
            Self::Bell(bell) => bell.ring(),
            // When its socket is full, the other process has rings enough to read.
            Self::Packet(packets) => drop(packets.send(&RING, &[])),
        }
    }
}
