//! Sinks: destinations of encoded bytes.

use super::Encoding;
use alloc::vec::Vec;

/// Takes the bytes of a wire form, in order.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);

    /// The form in which values are to be written here.
    #[inline]
    fn encoding(&self) -> Encoding {
        Encoding::Ros1
    }

    /// Writes the padding before a value that is aligned to `to`, a power of two.
    #[inline]
    fn align(&mut self, to: usize) {
        let _ = to;
    }

    /// False if bytes are only counted, so that their values do not matter.
    #[inline]
    fn keeps_bytes(&self) -> bool {
        true
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Memory of a fixed size, such as memory that a peer reads in place. It keeps the bytes that fit and counts all bytes, so
/// that the required size is known after one attempt.
#[derive(Debug)]
pub struct SliceSink<'a> {
    /// The free memory; empty once bytes did not fit.
    rest: &'a mut [u8],
    capacity: usize,
    len: usize,
}

impl<'a> SliceSink<'a> {
    /// Writes from the start of `memory`.
    pub fn new(memory: &'a mut [u8]) -> Self {
        Self { capacity: memory.len(), rest: memory, len: 0 }
    }

    /// Number of written bytes, including those that did not fit.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was put.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all bytes fit.
    pub fn fits(&self) -> bool {
        self.len <= self.capacity
    }
}

impl Sink for SliceSink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len());
        let rest = core::mem::take(&mut self.rest);
        if bytes.len() > rest.len() {
            return fill_up(rest, bytes);
        }
        let (place, rest) = rest.split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.rest = rest;
    }
}

/// Keeps the part of `bytes` that fits.
#[cold]
fn fill_up(rest: &mut [u8], bytes: &[u8]) {
    rest.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
}

/// Counts bytes without keeping them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteCount {
    len: usize,
}

impl ByteCount {
    /// Number of written bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was put.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Sink for ByteCount {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len());
    }

    #[inline]
    fn keeps_bytes(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn memory_keeps_what_fits_and_counts_all() {
        for capacity in 0..8 {
            let mut memory = vec![9; capacity];
            let mut sink = SliceSink::new(&mut memory);
            for part in [&[1u8, 2][..], &[], &[3, 4, 5], &[6]] {
                sink.put(part);
            }
            assert_eq!((sink.len(), sink.fits()), (6, capacity >= 6));
            assert_eq!(memory, [1, 2, 3, 4, 5, 6, 9].get(..capacity).unwrap());
        }
    }

    #[test]
    fn bytes_after_overflow_are_dropped() {
        let mut memory = [9; 3];
        let mut sink = SliceSink::new(&mut memory);
        [&[1u8, 2][..], &[3, 4], &[5], &[]].iter().for_each(|part| sink.put(part));
        assert_eq!((sink.len(), sink.fits(), sink.is_empty()), (5, false, false));
        assert_eq!(memory, [1, 2, 3]);
    }

    #[test]
    fn byte_count_sums_all_parts() {
        let mut count = ByteCount::default();
        assert!(count.is_empty());
        [&[1u8, 2][..], &[], &[3]].iter().for_each(|part| count.put(part));
        assert_eq!(count.len(), 3);
    }
}
