//! Outgoing datagrams: taken from a participant and sent after it is unlocked.

use crate::datagram::Datagram;
use crate::event::Transmit;
use crate::lend::Lend;

/// Datagram to send, with its memory: short parts are its own, a long payload belongs to its owner.
///
/// [`Participant::take_transmit`](crate::Participant::take_transmit) swaps its memory with that of the composed
/// datagram, so that no bytes are copied and, in the steady state, no memory is allocated.
#[derive(Debug)]
pub struct Outgoing<P>(pub(crate) Datagram<P>);

impl<P: Lend> Default for Outgoing<P> {
    fn default() -> Self {
        Self(Datagram::new())
    }
}

impl<P: Lend> Outgoing<P> {
    /// Returns the destinations and bytes.
    pub fn transmit(&self) -> Transmit<'_> {
        Transmit { to: &self.0.to, parts: self.0.parts() }
    }

    /// Releases the borrowed payload and excess memory after the datagram was sent.
    pub fn release(&mut self) {
        self.0.release();
    }
}
