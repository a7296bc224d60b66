//! Tests of the rings: in every interleaving, against a model, and with hostile peers.

mod against_model;
mod hostile;
mod interleavings;
mod sleeping;

use std::sync::atomic::AtomicU64;

/// Words of a new ring.
fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

/// A linear congruential generator.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 ^ self.0 >> 29
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.word() >> 33) as usize % bound
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// Splits bytes into random parts, some of them empty.
fn in_parts<'a>(random: &mut Random, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let (part, rest) = bytes.split_at(random.below(bytes.len().min(20) + 1));
        parts.push(part);
        bytes = rest;
    }
    parts
}
