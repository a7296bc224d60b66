//! Jump of a reader's position because of a single datagram.

use crate::evidence::QUIET;
use crate::wire::SequenceNumber;
use runnel_core::time::Instant;

/// Number of datagrams that confirm a jump.
const CONFIRMATIONS: u32 = 3;

/// Samples that were skipped because of a single datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub from: SequenceNumber,
    pub at: Instant,
    /// It is the first position.
    pub is_first: bool,
    /// It is not acknowledged before further datagrams confirm it.
    pub is_doubtful: bool,
    /// Later samples have gone to the user: skipped ones would be out of order.
    pub delivered: bool,
    /// Number of samples that are lost if it is confirmed.
    pub lost: u64,
    confirmations: u32,
    latest: Instant,
}

impl Jump {
    pub fn new(now: Instant, from: SequenceNumber, is_doubtful: bool) -> Self {
        let (is_first, delivered) = (false, false);
        Self { from, at: now, is_first, is_doubtful, delivered, lost: 0, confirmations: 0, latest: now }
    }

    /// Creates the jump to the first number that the writer has announced. It must be acknowledged immediately, as a proof
    /// of our address. Earlier samples may be repairs for another reader: only a run of HEARTBEATs reverts it.
    pub fn of_first_position(now: Instant, from: SequenceNumber) -> Self {
        Self { is_first: true, delivered: true, ..Self::new(now, from, false) }
    }

    /// Records a datagram that agrees with the jump. Returns whether enough have.
    pub fn confirm(&mut self, now: Instant) -> bool {
        if now > self.latest {
            (self.confirmations, self.latest) = (self.confirmations + 1, now);
        }
        self.confirmations >= CONFIRMATIONS && self.at + QUIET <= now
    }
}
