//! Sequences borrowed from received bytes or from an owned value.

use super::{Bytes, DecodeError, LeSliceIter, Reader, Wire};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

#[cfg(target_endian = "big")]
compile_error!(
    "Runnel views received arrays in place, which are little-endian: big-endian hosts are not supported"
);

/// Numbers in a message: little-endian, at any alignment.
pub struct LeSlice<'a, T> {
    bytes: Bytes<'a>,
    numbers: PhantomData<T>,
}

/// An element type of [`LeSlice`].
pub trait Number: bytemuck::Pod {}

macro_rules! numbers {
    ($($type:ty),*) => {$(impl Number for $type {})*};
}
numbers!(u8, i16, u16, i32, u32, i64, u64, f32, f64);

impl<'a, T: Number> LeSlice<'a, T> {
    /// The numbers in `bytes`; an incomplete last one is ignored.
    pub fn from_wire(bytes: impl Into<Bytes<'a>>) -> Self {
        Self { bytes: bytes.into(), numbers: PhantomData }
    }

    /// The numbers of a slice.
    pub fn from_numbers(numbers: &'a [T]) -> Self {
        Self::from_wire(bytemuck::cast_slice::<T, u8>(numbers))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all numbers, little-endian.
    pub fn as_bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// The numbers as a slice, if they are in memory of this process and aligned.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        bytemuck::try_cast_slice(self.bytes.as_slice()?).ok()
    }

    /// One number, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<T> {
        let (_, bytes) = self.bytes.split_at(index.checked_mul(size_of::<T>())?)?;
        let mut number = [T::zeroed()];
        (Self::from_wire(bytes).copy_to_slice(&mut number) == 1).then_some(number[0])
    }

    /// All numbers in order.
    pub fn iter(&self) -> LeSliceIter<'a, T> {
        LeSliceIter::new(self.bytes)
    }

    /// Copies as many numbers as both have; how many that are.
    pub fn copy_to_slice(&self, to: &mut [T]) -> usize {
        self.bytes.copy_to_slice(bytemuck::cast_slice_mut(to)) / size_of::<T>()
    }

    /// All numbers in a vector of their own.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().collect()
    }
}

impl<T> Clone for LeSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LeSlice<'_, T> {}

impl<T: Number + fmt::Debug> fmt::Debug for LeSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Number> IntoIterator for LeSlice<'a, T> {
    type Item = T;
    type IntoIter = LeSliceIter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Values that must be read one by one (texts, messages, truth values), borrowed.
pub struct Seq<'a, T> {
    source: Source<'a, T>,
}

enum Source<'a, T> {
    /// `count` values that were read once already, so that reading them again fails only if another process has written
    /// them meanwhile: then the rest is dropped.
    Bytes {
        reader: Reader<'a>,
        count: usize,
    },
    Values(&'a [T]),
}

impl<'a, T: Wire> Seq<'a, T> {
    /// Passes over `count` values, checking each.
    ///
    /// # Errors
    /// As [`Wire::read_view`].
    pub fn read(from: &mut Reader<'a>, count: usize) -> Result<Self, DecodeError> {
        let reader = *from;
        for _ in 0..count {
            T::read_view(from)?;
        }
        Ok(Self { source: Source::Bytes { reader, count } })
    }

    /// The values of a slice.
    pub fn from_values(values: &'a [T]) -> Self {
        Self { source: Source::Values(values) }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self.source {
            Source::Bytes { count, .. } => count,
            Source::Values(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Views of all values in order.
    pub fn iter(&self) -> SeqIter<'a, T> {
        SeqIter {
            source: match self.source {
                Source::Bytes { reader, count } => Cursor::Bytes { reader, remaining: count },
                Source::Values(values) => Cursor::Values(values.iter()),
            },
        }
    }

    /// The view of one value, or `None` past the end. Looks at all before it.
    pub fn get(&self, index: usize) -> Option<T::View<'a>> {
        match self.source {
            Source::Bytes { .. } => self.iter().nth(index),
            Source::Values(values) => values.get(index).map(T::view),
        }
    }
}

impl<T> Clone for Seq<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seq<'_, T> {}

impl<T> Clone for Source<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Source<'_, T> {}

impl<'a, T: Wire> fmt::Debug for Seq<'a, T>
where
    T::View<'a>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Wire> IntoIterator for Seq<'a, T> {
    type Item = T::View<'a>;
    type IntoIter = SeqIter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The views of a [`Seq`] in order.
pub struct SeqIter<'a, T> {
    source: Cursor<'a, T>,
}

enum Cursor<'a, T> {
    Bytes { reader: Reader<'a>, remaining: usize },
    Values(core::slice::Iter<'a, T>),
}

impl<'a, T: Wire> Iterator for SeqIter<'a, T> {
    type Item = T::View<'a>;
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            Cursor::Values(values) => values.next().map(T::view),
            Cursor::Bytes { reader, remaining } => {
                *remaining = remaining.checked_sub(1)?;
                T::read_view(reader).ok()
            }
        }
    }
}
