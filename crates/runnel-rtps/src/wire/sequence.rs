//! Sequence numbers, fragment numbers, and sets of them.

use super::{Bits, Cursor, WireError};
use alloc::vec::Vec;
use core::fmt;

/// Sequence number of a sample of a writer: the first is 1. Source: RTPS 2.5, section 9.4.2.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(pub i64);

impl SequenceNumber {
    /// Unknown number, as in an acknowledgement of unnumbered samples.
    pub const UNKNOWN: Self = Self(-1 << 32);
    /// The number before the first.
    pub const ZERO: Self = Self(0);
    /// The first number.
    pub const FIRST: Self = Self(1);

    /// Returns the next number, saturating.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Returns the previous number, saturating.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Returns the number `count` later, saturating.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.saturating_add(count as i64))
    }

    /// Returns the distance from `earlier`, between 0 and [`u32::MAX`].
    pub fn distance_from(self, earlier: Self) -> u32 {
        u32::try_from(self.0.saturating_sub(earlier.0).max(0)).unwrap_or(u32::MAX)
    }

    /// Parses a number, which may be 0 or negative.
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>) -> Result<Self, WireError> {
        let high = from.i32()?;
        let low = from.u32()?;
        Ok(Self(i64::from(high) << 32 | i64::from(low)))
    }

    /// Parses the number of an existing sample.
    ///
    /// # Errors
    /// It is below 1, or the bytes are truncated.
    pub fn parse_positive(from: &mut Cursor<'_>, what: &'static str) -> Result<Self, WireError> {
        match Self::parse(from)? {
            number if number >= Self::FIRST => Ok(number),
            _ => Err(WireError::Invalid { what, field: "sequence number" }),
        }
    }

    /// Appends the number.
    pub fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&((self.0 >> 32) as i32).to_le_bytes());
        out.extend_from_slice(&(self.0 as u32).to_le_bytes());
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Set of sequence numbers within 256 of the base. Source: RTPS 2.5, section 9.4.2.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceSet {
    /// The number of the first bit.
    pub base: SequenceNumber,
    bits: Bits,
}

impl SequenceSet {
    /// Creates an empty set with this base.
    pub fn new(base: SequenceNumber) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// Inserts a number. Returns false, without effect, if it is before the base or 256 or more after it.
    pub fn insert(&mut self, number: SequenceNumber) -> bool {
        number >= self.base && self.bits.set(number.distance_from(self.base))
    }

    /// Returns the numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = SequenceNumber> {
        let base = self.base;
        self.bits.iter().map(move |bit| base.plus(bit))
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Parses a set.
    ///
    /// # Errors
    /// Its base is below 1, it has more than 256 bits, or the bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>, what: &'static str) -> Result<Self, WireError> {
        let base = SequenceNumber::parse_positive(from, what)?;
        Ok(Self { base, bits: Bits::parse(from, what)? })
    }

    /// Appends the set.
    pub fn emit(&self, out: &mut Vec<u8>) {
        self.base.emit(out);
        self.bits.emit(out);
    }
}

/// Set of fragment numbers within 256 of the base; the first fragment is 1. Source: RTPS 2.5, section 9.4.2.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentSet {
    /// The number of the first bit.
    pub base: u32,
    bits: Bits,
}

impl FragmentSet {
    /// Creates an empty set with this base.
    pub fn new(base: u32) -> Self {
        Self { base, bits: Bits::default() }
    }

    /// Inserts a number. Returns false, without effect, if it is before the base or 256 or more after it.
    pub fn insert(&mut self, number: u32) -> bool {
        number.checked_sub(self.base).is_some_and(|bit| self.bits.set(bit))
    }

    /// Returns the numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let base = self.base;
        self.bits.iter().map(move |bit| base.saturating_add(bit))
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Parses a set.
    ///
    /// # Errors
    /// Its base is 0, it has more than 256 bits, or the bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>, what: &'static str) -> Result<Self, WireError> {
        match from.u32()? {
            0 => Err(WireError::Invalid { what, field: "fragment number" }),
            base => Ok(Self { base, bits: Bits::parse(from, what)? }),
        }
    }

    /// Appends the set.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.base.to_le_bytes());
        self.bits.emit(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn sequence_number_is_high_and_low_half() {
        for (number, bytes) in [
            (SequenceNumber(1), [0, 0, 0, 0, 1, 0, 0, 0]),
            (SequenceNumber(0x1_0000_0002), [1, 0, 0, 0, 2, 0, 0, 0]),
            (SequenceNumber::UNKNOWN, [255, 255, 255, 255, 0, 0, 0, 0]),
        ] {
            let mut out = vec![];
            number.emit(&mut out);
            assert_eq!(out, bytes);
            assert_eq!(SequenceNumber::parse(&mut Cursor::new(&bytes, true)), Ok(number));
        }
    }

    #[test]
    fn sequence_numbers_saturate() {
        let last = SequenceNumber(i64::MAX);
        assert_eq!((last.next(), SequenceNumber(i64::MIN).previous()), (last, SequenceNumber(i64::MIN)));
        assert_eq!(last.distance_from(SequenceNumber(i64::MIN)), u32::MAX);
        assert_eq!(SequenceNumber(3).distance_from(SequenceNumber(5)), 0);
    }

    #[test]
    fn set_spans_256_numbers_from_base() {
        let mut set = SequenceSet::new(SequenceNumber(10));
        let held = [9, 10, 265, 266].map(|number| set.insert(SequenceNumber(number)));
        assert_eq!(held, [false, true, true, false]);
        assert!(set.iter().eq([SequenceNumber(10), SequenceNumber(265)]));
        let mut out = vec![];
        set.emit(&mut out);
        assert_eq!(SequenceSet::parse(&mut Cursor::new(&out, true), "set"), Ok(set));
        assert_eq!(out.len(), 8 + 4 + 32);
    }

    #[test]
    fn fragment_beyond_256_is_not_inserted() {
        let mut set = FragmentSet::new(u32::MAX - 1);
        assert_eq!([0, u32::MAX - 1, u32::MAX].map(|number| set.insert(number)), [false, true, true]);
        assert!(set.iter().eq([u32::MAX - 1, u32::MAX]));
        assert!(!FragmentSet::new(1).insert(257));
    }

    #[test]
    fn sets_without_a_base_are_refused() {
        assert!(SequenceSet::parse(&mut Cursor::new(&[0; 12], true), "set").is_err());
        assert!(FragmentSet::parse(&mut Cursor::new(&[0; 8], true), "set").is_err());
    }
}
