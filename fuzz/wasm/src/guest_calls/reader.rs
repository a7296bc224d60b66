//! Values of parameters, from the bytes of an input.

use std::ops::Range;

use super::functions::Kind;
use super::memory::{INPUT, MESSAGE_PLACES, OUTPUT, PARTS, RECORD_PLACES, TEXT_PLACES};

/// The bytes of an input that are not used yet.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    pub(super) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A small number, or an extreme one.
    pub(super) fn number(&mut self) -> u64 {
        match self.next().unwrap_or_default() {
            byte @ 0..240 => u64::from(byte % 20),
            240 => u64::from(u32::MAX),
            241 => 1 << 31,
            242 => u64::MAX,
            243 => 1 << 63,
            244 => 1_000_000_000,
            _ => (0..8).fold(0, |number, _| number << 8 | u64::from(self.next().unwrap_or_default())),
        }
    }

    /// The value of a parameter, and of the length that follows it.
    pub(super) fn value(&mut self, kind: Kind) -> (u64, u64) {
        if matches!(kind, Kind::Number | Kind::Long | Kind::Length) {
            return (self.number(), 0);
        }
        match (kind, self.next().unwrap_or_default()) {
            (_, 250..) => (self.number(), self.number()),
            (Kind::Text, byte @ 0..200) => self.place(byte, TEXT_PLACES),
            (Kind::Bytes, byte @ 0..200) => self.place(byte, MESSAGE_PLACES),
            (Kind::Record, byte @ 0..200) => self.place(byte, RECORD_PLACES),
            (Kind::Place | Kind::Buffer, byte @ 0..200) => (u64::from(OUTPUT), u64::from(byte) * 64),
            // Bytes of the input.
            (_, byte) => (u64::from(INPUT) + u64::from(byte) % 32 * 128, self.number().wrapping_mul(16)),
        }
    }

    fn place(&self, choice: u8, among: Range<usize>) -> (u64, u64) {
        let (place, length) = PARTS.1[among.start + usize::from(choice) % among.len()];
        (place.into(), length.into())
    }
}
