//! Recent samples: numbers and digests that distinguish copies from other samples with the same number.

use super::held::MAX_HELD;
use crate::wire::SequenceNumber;
use alloc::collections::VecDeque;

/// Maximum number of remembered samples.
const MAX: usize = 16;

/// Numbers and digests of recent samples.
#[derive(Debug, Default)]
pub(super) struct RecentSamples(VecDeque<(SequenceNumber, u32)>);

impl RecentSamples {
    /// Returns whether a recent sample has this number and digest.
    pub fn has_copy(&self, number: SequenceNumber, digest: u32) -> bool {
        self.0.contains(&(number, digest))
    }

    /// Returns whether a recent sample has this number and another digest.
    pub fn has_other(&self, number: SequenceNumber, digest: u32) -> bool {
        self.0.iter().any(|(of, other)| *of == number && *other != digest)
    }

    pub fn note(&mut self, number: SequenceNumber, digest: u32) {
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        self.0.push_back((number, digest));
    }

    /// Records a discovery sample: those from `next` on are kept, since they may be held.
    pub fn note_of_discovery(&mut self, number: SequenceNumber, digest: u32, next: SequenceNumber) {
        if self.has_copy(number, digest) {
            return;
        }
        if self.0.len() >= MAX {
            let done = self.0.iter().position(|(number, _)| *number < next);
            let oldest = (self.0.len() >= MAX_HELD).then_some(0);
            done.or(oldest).map(|place| self.0.remove(place));
        }
        self.0.push_back((number, digest));
    }
}
