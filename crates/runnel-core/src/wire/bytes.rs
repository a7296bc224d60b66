//! Bytes of a message, in memory of this process or shared with another.

mod blocks;
mod foreign;
#[cfg(test)]
mod tests;

use super::{LeSliceIter, NoMemory, try_append, try_reserve};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::AtomicUsize;
use foreign::Foreign;

/// Bytes of a message: in memory of this process, or in memory that another process can write at any time.
///
/// Bytes of the second kind are never a slice, since the target of a `&[u8]` must not change. They are read by atomic loads,
/// and each load may return another value: copy them before checking them.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(Place<'a>);

#[derive(Clone, Copy)]
enum Place<'a> {
    Own(&'a [u8]),
    Foreign(Foreign<'a>),
}

impl<'a> Bytes<'a> {
    /// `len` bytes of words that other processes may write, from byte `start` on. `None` if the words are too few.
    pub fn shared(words: &'a [AtomicUsize], start: usize, len: usize) -> Option<Self> {
        Foreign::new(words, start, len).map(|foreign| Self(Place::Foreign(foreign)))
    }

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self.0 {
            Place::Own(bytes) => bytes.len(),
            Place::Foreign(bytes) => bytes.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes as a slice, if they are in memory of this process.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        match self.0 {
            Place::Own(bytes) => Some(bytes),
            Place::Foreign(_) => None,
        }
    }

    /// Pointer to the first byte, for code that may read memory written by other processes.
    pub fn as_ptr(&self) -> *const u8 {
        match self.0 {
            Place::Own(bytes) => bytes.as_ptr(),
            Place::Foreign(bytes) => bytes.as_ptr(),
        }
    }

    /// One byte, or `None` past the end.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u8> {
        match self.0 {
            Place::Own(bytes) => bytes.get(index).copied(),
            Place::Foreign(bytes) => bytes.get(index),
        }
    }

    /// The first `count` bytes and the rest; `None` if there are fewer.
    #[inline]
    pub fn split_at(&self, count: usize) -> Option<(Self, Self)> {
        match self.0 {
            Place::Own(bytes) => {
                let (first, rest) = bytes.split_at_checked(count)?;
                Some((Self(Place::Own(first)), Self(Place::Own(rest))))
            }
            Place::Foreign(bytes) => {
                let (first, rest) = bytes.split_at(count)?;
                Some((Self(Place::Foreign(first)), Self(Place::Foreign(rest))))
            }
        }
    }

    /// The first `N` bytes and the rest; `None` if there are fewer.
    #[inline]
    pub(super) fn split_array<const N: usize>(&self) -> Option<([u8; N], Self)> {
        match self.0 {
            Place::Own(bytes) => {
                let (first, rest) = bytes.split_first_chunk()?;
                Some((*first, Self(Place::Own(rest))))
            }
            Place::Foreign(bytes) => {
                let (first, rest) = bytes.split_array()?;
                Some((first, Self(Place::Foreign(rest))))
            }
        }
    }

    /// All bytes in order.
    pub fn iter(&self) -> LeSliceIter<'a, u8> {
        LeSliceIter::new(*self)
    }

    /// Calls `each` with the bytes in order: with one slice if they are in memory of this process, otherwise with copied parts
    /// of some hundred bytes.
    pub fn for_each_part(&self, mut each: impl FnMut(&[u8])) {
        match self.0 {
            Place::Own(bytes) => each(bytes),
            Place::Foreign(bytes) => bytes.for_each_part(each),
        }
    }

    /// Copies as many bytes as both have; how many that are.
    pub fn copy_to_slice(&self, to: &mut [u8]) -> usize {
        let count = self.len().min(to.len());
        let (Some((bytes, _)), Some((to, _))) = (self.split_at(count), to.split_at_mut_checked(count)) else {
            return 0;
        };
        match bytes.0 {
            Place::Own(bytes) => to.copy_from_slice(bytes),
            Place::Foreign(bytes) => bytes.copy_to(to),
        }
        count
    }

    /// A copy.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut copy = Vec::with_capacity(self.len());
        match self.0 {
            Place::Own(bytes) => copy.extend_from_slice(bytes),
            Place::Foreign(bytes) => bytes.append_to(&mut copy),
        }
        copy
    }

    /// A copy.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn try_to_vec(&self) -> Result<Vec<u8>, NoMemory> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(self.len()).map_err(|_| NoMemory { bytes: self.len() })?;
        self.append_to(&mut copy)?;
        Ok(copy)
    }

    /// Appends a copy to `out`.
    ///
    /// # Errors
    /// If memory is exhausted. `out` is then unchanged.
    pub fn append_to(&self, out: &mut Vec<u8>) -> Result<(), NoMemory> {
        match self.0 {
            Place::Own(bytes) => try_append(out, bytes),
            Place::Foreign(bytes) => {
                try_reserve(out, bytes.len())?;
                bytes.append_to(out);
                Ok(())
            }
        }
    }

    /// The bytes as a slice: borrowed from memory of this process, otherwise copied.
    pub fn to_cow(&self) -> Cow<'a, [u8]> {
        self.as_slice().map_or_else(|| Cow::Owned(self.to_vec()), Cow::Borrowed)
    }
}

impl Default for Bytes<'_> {
    fn default() -> Self {
        Self(Place::Own(&[]))
    }
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self(Place::Own(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Bytes<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self(Place::Own(bytes))
    }
}

impl<'a> From<&'a Vec<u8>> for Bytes<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self(Place::Own(bytes))
    }
}

impl<'a> IntoIterator for Bytes<'a> {
    type Item = u8;
    type IntoIter = LeSliceIter<'a, u8>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq<[u8]> for Bytes<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        let mut rest = other;
        let mut is_same = self.len() == other.len();
        self.for_each_part(|part| match rest.split_at_checked(part.len()) {
            Some((expected, behind)) => {
                is_same = is_same && part == expected;
                rest = behind;
            }
            None => is_same = false,
        });
        is_same
    }
}

impl PartialEq<&[u8]> for Bytes<'_> {
    fn eq(&self, other: &&[u8]) -> bool {
        self == *other
    }
}

impl<const N: usize> PartialEq<[u8; N]> for Bytes<'_> {
    fn eq(&self, other: &[u8; N]) -> bool {
        self == other.as_slice()
    }
}

impl PartialEq<Vec<u8>> for Bytes<'_> {
    fn eq(&self, other: &Vec<u8>) -> bool {
        self == other.as_slice()
    }
}

impl PartialEq for Bytes<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(*other)
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
