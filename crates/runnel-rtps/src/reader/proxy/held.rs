//! Held samples of a writer: those that wait for earlier ones.

use crate::reader::budget::Claim;
use crate::reader::fragments::Complete;
use crate::wire::SequenceNumber;
use alloc::boxed::Box;
use core::ops::Range;
use runnel_core::sorted::SortedMap;

/// Maximum number of samples held before a missing one.
pub(super) const MAX_HELD: usize = 4096;

/// Approximate overhead of a held sample in bytes.
pub(super) const HOLDING: usize = 128;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct HeldSamples {
    /// Boxed, since thousands may be held.
    samples: SortedMap<SequenceNumber, Box<Held>>,
    bytes: usize,
}

/// Sample that waits for earlier ones.
#[derive(Debug)]
struct Held {
    sample: Complete,
    _claim: Claim,
}

impl HeldSamples {
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    pub fn contains(&self, number: SequenceNumber) -> bool {
        self.samples.contains_key(&number)
    }

    pub fn first(&self) -> Option<SequenceNumber> {
        self.samples.first_key_value().map(|(number, _)| *number)
    }

    /// The first number of a range.
    pub fn first_in(&self, range: Range<SequenceNumber>) -> Option<SequenceNumber> {
        self.samples.range(range).next().map(|(number, _)| *number)
    }

    /// The numbers from `start` on, in order.
    pub fn numbers_from(&self, start: SequenceNumber) -> impl Iterator<Item = SequenceNumber> {
        self.samples.range(start..).map(|(number, _)| *number)
    }

    /// Whether a sample of so many bytes is within the limits of one writer.
    pub fn has_capacity(&self, bytes: usize, max_bytes: usize) -> bool {
        self.samples.len() < MAX_HELD && self.bytes + bytes <= max_bytes
    }

    /// The bytes of all, with their overhead.
    pub fn memory(&self) -> usize {
        self.bytes + self.samples.len() * HOLDING
    }

    pub fn insert(&mut self, number: SequenceNumber, sample: Complete, claim: Claim) {
        self.bytes += sample.bytes.len();
        self.samples.insert(number, Box::new(Held { sample, _claim: claim }));
    }

    pub fn remove(&mut self, number: SequenceNumber) -> Option<Complete> {
        let Held { sample, .. } = *self.samples.remove(&number)?;
        self.bytes -= sample.bytes.len();
        Some(sample)
    }

    /// Removes the latest sample. Returns its number and its length.
    pub fn remove_last(&mut self) -> Option<(SequenceNumber, usize)> {
        let (number, held) = self.samples.pop_last()?;
        let len = held.sample.bytes.len();
        self.bytes -= len;
        Some((number, len))
    }

    pub fn remove_before(&mut self, number: SequenceNumber) {
        let removed = self.samples.drain(..number);
        self.bytes -= removed.map(|(_, held)| held.sample.bytes.len()).sum::<usize>();
    }

    pub fn remove_after(&mut self, number: SequenceNumber) {
        let removed = self.samples.drain(number.next()..);
        self.bytes -= removed.map(|(_, held)| held.sample.bytes.len()).sum::<usize>();
    }

    pub fn clear(&mut self) {
        self.samples.clear();
        self.bytes = 0;
    }
}
