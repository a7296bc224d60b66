//! Bitmap of sets of numbers.

use super::{Cursor, WireError};
use alloc::vec::Vec;

/// Maximum number of bits.
pub const BITS: u32 = 256;

/// Up to [`BITS`] bits; the first one is the highest of the first word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: [u32; 8],
    len: u32,
}

impl Bits {
    /// Creates `len` clear bits, at most [`BITS`].
    pub fn new(len: u32) -> Self {
        Self { words: [0; 8], len: len.min(BITS) }
    }

    /// Returns the number of bits, set or clear.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether no bit is set.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Sets a bit, and extends the bitmap to hold it. Returns false, without effect, if it is beyond [`BITS`].
    pub fn set(&mut self, bit: u32) -> bool {
        let Some(word) = self.words.get_mut((bit / 32) as usize) else { return false };
        *word |= 1 << (31 - bit % 32);
        self.len = self.len.max(bit + 1);
        true
    }

    /// Returns whether a bit exists and is set.
    pub fn get(&self, bit: u32) -> bool {
        let word = self.words.get((bit / 32) as usize).copied().unwrap_or(0);
        bit < self.len && word & (1 << (31 - bit % 32)) != 0
    }

    /// Returns the set bits, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = *self;
        (0..bits.len).filter(move |bit| bits.get(*bit))
    }

    /// Parses a count of bits and the words.
    ///
    /// # Errors
    /// There are more than [`BITS`], or the words are truncated.
    pub fn parse(from: &mut Cursor<'_>, what: &'static str) -> Result<Self, WireError> {
        let len = from.u32()?;
        if len > BITS {
            return Err(WireError::Invalid { what, field: "number of bits" });
        }
        let mut words = [0; 8];
        for word in words.iter_mut().take(len.div_ceil(32) as usize) {
            *word = from.u32()?;
        }
        Ok(Self { words, len })
    }

    /// Appends the count and the words.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.len.to_le_bytes());
        for word in self.words.iter().take(self.len.div_ceil(32) as usize) {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn first_bit_is_highest_of_first_word() {
        let mut bits = Bits::default();
        assert!(bits.set(0) && bits.set(33));
        let mut out = vec![];
        bits.emit(&mut out);
        assert_eq!(out, [34, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x40]);
        assert_eq!(Bits::parse(&mut Cursor::new(&out, true), "set"), Ok(bits));
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 33]);
    }

    #[test]
    fn bits_beyond_length_are_clear() {
        let mut bits = Bits::new(1000);
        assert_eq!(
            (bits.len(), bits.set(256), bits.set(u32::MAX), bits.get(u32::MAX)),
            (256, false, false, false)
        );
        assert!(bits.is_empty() && bits.set(255) && !bits.is_empty());
    }

    #[test]
    fn invalid_bit_counts_are_refused() {
        let mut claim = Cursor::new(&[1, 1, 0, 0], true);
        let invalid = WireError::Invalid { what: "set", field: "number of bits" };
        assert_eq!(Bits::parse(&mut claim, "set"), Err(invalid));
        assert!(Bits::parse(&mut Cursor::new(&[33, 0, 0, 0, 1, 1, 1, 1], true), "set").is_err());
    }

    #[test]
    fn bits_beyond_count_are_ignored() {
        let bits = Bits::parse(&mut Cursor::new(&[1, 0, 0, 0, 255, 255, 255, 255], true), "set").unwrap();
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0]);
        assert!(bits.get(0) && !bits.get(1));
    }
}
