//! Jump of a reader's position on the word of one datagram.

use crate::evidence::QUIET;
use crate::wire::SequenceNumber;
use runnel_core::time::Instant;

/// How many datagrams confirm a jump.
const CONFIRMATIONS: u32 = 3;

/// Samples that were skipped on the writer's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub from: SequenceNumber,
    pub at: Instant,
    /// It is the first position of all.
    pub is_first: bool,
    /// It is not acknowledged before further datagrams have confirmed it.
    pub is_doubtful: bool,
    /// Samples behind it have gone to the user: what it skipped would come late.
    pub delivered: bool,
    /// How many samples are lost if it is confirmed.
    pub lost: u64,
    confirmations: u32,
    latest: Instant,
}

impl Jump {
    pub fn new(now: Instant, from: SequenceNumber, is_doubtful: bool) -> Self {
        let (is_first, delivered) = (false, false);
        Self { from, at: now, is_first, is_doubtful, delivered, lost: 0, confirmations: 0, latest: now }
    }

    /// From before the first number that the writer has named. That must be acknowledged at once, as a proof of our address, and
    /// what comes from before it may be a repair for another reader: only a run of HEARTBEATs takes it back.
    pub fn of_first_position(now: Instant, from: SequenceNumber) -> Self {
        Self { is_first: true, delivered: true, ..Self::new(now, from, false) }
    }

    /// A datagram agrees with it. True once enough have.
    pub fn confirm(&mut self, now: Instant) -> bool {
        if now > self.latest {
            (self.confirmations, self.latest) = (self.confirmations + 1, now);
        }
        self.confirmations >= CONFIRMATIONS && self.at + QUIET <= now
    }
}
