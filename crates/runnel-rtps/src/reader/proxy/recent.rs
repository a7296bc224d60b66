//! Numbers and digests of samples that came last, which tell copies of them from other samples of the same numbers.

use super::arrival::MOST_HELD;
use crate::wire::SequenceNumber;
use alloc::collections::VecDeque;

/// How many samples are remembered.
const MOST: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RecentSamples(VecDeque<(SequenceNumber, u32)>);

impl RecentSamples {
    /// True if a sample of this number came a while ago with this digest.
    pub fn has_copy(&self, number: SequenceNumber, digest: u32) -> bool {
        self.0.contains(&(number, digest))
    }

    /// True if a sample of this number came a while ago with another digest.
    pub fn has_other(&self, number: SequenceNumber, digest: u32) -> bool {
        self.0.iter().any(|(of, other)| *of == number && *other != digest)
    }

    pub fn note(&mut self, number: SequenceNumber, digest: u32) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((number, digest));
    }

    /// The same of a sample of discovery: none is forgotten from `next` on, since it may be held.
    pub fn note_of_discovery(&mut self, number: SequenceNumber, digest: u32, next: SequenceNumber) {
        if self.has_copy(number, digest) {
            return;
        }
        if self.0.len() >= MOST {
            let done = self.0.iter().position(|(number, _)| *number < next);
            let oldest = (self.0.len() >= MOST_HELD).then_some(0);
            done.or(oldest).map(|place| self.0.remove(place));
        }
        self.0.push_back((number, digest));
    }
}
