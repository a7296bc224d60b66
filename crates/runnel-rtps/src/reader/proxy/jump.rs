//! Jump of a reader's position because of a single datagram.

use crate::evidence::QUIET;
use crate::wire::{Gap, SequenceNumber};
use core::ops::Range;
use runnel_core::time::Instant;

/// Number of datagrams that confirm a jump.
const CONFIRMATIONS: u32 = 3;

/// Samples that were skipped because of a single datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub from: SequenceNumber,
    pub at: Instant,
    /// End of the range that a GAP has declared irrelevant, if one has. The writer is asked for the range: it declares
    /// that again, or sends the samples.
    pub gap_end: Option<SequenceNumber>,
    /// The writer was asked for the range, and when it last declared it irrelevant since.
    pub is_asked: bool,
    pub repeated_at: Option<Instant>,
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
        Self {
            from,
            at: now,
            gap_end: None,
            is_asked: false,
            repeated_at: None,
            is_first: false,
            is_doubtful,
            delivered: false,
            lost: 0,
            confirmations: 0,
            latest: now,
        }
    }

    /// Creates the jump to the first number that the writer has announced. It must be acknowledged immediately, as a proof
    /// of our address. Earlier samples may be repairs for another reader: only a run of HEARTBEATs reverts it.
    pub fn of_first_position(now: Instant, from: SequenceNumber) -> Self {
        Self { is_first: true, delivered: true, ..Self::new(now, from, false) }
    }

    /// Returns the jump as another one, for which the writer is not asked: it was unmatched meanwhile.
    pub fn without_gap(self) -> Self {
        Self { gap_end: None, is_asked: false, ..self }
    }

    /// Returns the range that the writer is to be asked for.
    pub fn range_to_ask(&self) -> Option<Range<SequenceNumber>> {
        Some(self.from..self.gap_end.filter(|_| self.is_doubtful)?)
    }

    /// Records a GAP. It counts only if the writer was asked, with the HEARTBEAT after it.
    pub fn note_gap(&mut self, now: Instant, gap: &Gap) {
        let is_in_range = (gap.start..gap.list.base).contains(&self.from);
        if self.is_asked && (is_in_range || gap.list.iter().any(|number| number == self.from)) {
            self.repeated_at = Some(now);
        }
    }

    /// Records a datagram that agrees with the jump. Returns whether enough have.
    pub fn confirm(&mut self, now: Instant) -> bool {
        if now > self.latest {
            (self.confirmations, self.latest) = (self.confirmations + 1, now);
        }
        self.confirmations >= CONFIRMATIONS && self.at + QUIET <= now
    }
}
