//! Datagrams that are taken from a participant to be sent later, when it is free for others.

use crate::datagram::Datagram;
use crate::event::Transmit;
use crate::lend::Lend;

/// A datagram to be sent, with the memory that it lies in: short parts are its own, a long payload is its owner's.
///
/// [`Participant::take_transmit`](crate::Participant::take_transmit) exchanges its memory for that of the datagram that it
/// had composed, so that neither bytes are copied nor memory is allocated once all have grown.
#[derive(Debug)]
pub struct Outgoing<P>(pub(crate) Datagram<P>);

impl<P: Lend> Default for Outgoing<P> {
    fn default() -> Self {
        Self(Datagram::new())
    }
}

impl<P: Lend> Outgoing<P> {
    /// Where it goes, and its bytes.
    pub fn transmit(&self) -> Transmit<'_> {
        Transmit { to: &self.0.to, parts: self.0.parts() }
    }

    /// It has been sent: lets go of the payload that it borrowed, and of memory that few datagrams need.
    pub fn release(&mut self) {
        self.0.release();
    }
}
