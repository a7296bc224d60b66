//! Fallible allocation of memory whose size a message decides.

use super::{DecodeErrorKind, Sink};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The allocator refuses memory for a message or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// Bytes of the message or part.
    pub bytes: usize,
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory for {} bytes", self.bytes)
    }
}

impl core::error::Error for NoMemory {}

impl From<NoMemory> for DecodeErrorKind {
    fn from(NoMemory { bytes }: NoMemory) -> Self {
        Self::NoMemory { bytes }
    }
}

impl From<NoMemory> for super::DecodeError {
    fn from(refused: NoMemory) -> Self {
        DecodeErrorKind::from(refused).into()
    }
}

/// Sink of a growing buffer. When the allocator fails, it drops its bytes and only counts, so that the error states the
/// required memory.
///
/// Created by [`try_write`].
#[derive(Debug)]
pub struct GrowingSink {
    /// Without capacity once memory was refused, so that only [`Self::put_growing`] need look.
    bytes: Vec<u8>,
    /// Total number of written bytes, once the allocator has failed.
    refused: Option<usize>,
}

impl GrowingSink {
    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        if bytes.len() <= self.bytes.capacity() - self.bytes.len() {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.put_growing(bytes);
        }
    }

    /// Number of written bytes, including the vector's previous content.
    pub fn len(&self) -> usize {
        self.refused.unwrap_or(self.bytes.len())
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cold]
    fn put_growing(&mut self, bytes: &[u8]) {
        if let Some(count) = &mut self.refused {
            *count = count.saturating_add(bytes.len());
        } else if try_append(&mut self.bytes, bytes).is_err() {
            self.refused = Some(self.bytes.len().saturating_add(bytes.len()));
            // The code that handles the error may need the memory.
            self.bytes = Vec::new();
        }
    }
}

impl Sink for GrowingSink {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Appends the bytes that `write` writes to `out`.
///
/// # Errors
/// If memory is exhausted. `out` is then empty and its memory freed. The error includes the previous bytes of `out`.
pub fn try_write(out: &mut Vec<u8>, write: impl FnOnce(&mut GrowingSink)) -> Result<(), NoMemory> {
    let mut sink = GrowingSink { bytes: core::mem::take(out), refused: None };
    write(&mut sink);
    *out = sink.bytes;
    sink.refused.map_or(Ok(()), |bytes| Err(NoMemory { bytes }))
}

/// Appends bytes to `out`.
///
/// # Errors
/// If memory is exhausted. `out` is then unchanged.
pub fn try_append(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), NoMemory> {
    try_reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// Reserves capacity for `more` elements.
///
/// # Errors
/// If memory is exhausted. The vector is then unchanged.
pub fn try_reserve<T>(vector: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    // Doubling the capacity may fail where the exact capacity is available.
    let reserved = vector.try_reserve(more).or_else(|_| vector.try_reserve_exact(more));
    reserved.map_err(|_| NoMemory { bytes: vector.len().saturating_add(more).saturating_mul(size_of::<T>()) })
}

/// A copy of a text.
pub(crate) fn try_clone_text(text: &str) -> Result<String, NoMemory> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| NoMemory { bytes: text.len() })?;
    copy.push_str(text);
    Ok(copy)
}

/// A bytewise copy of values.
#[doc(hidden)]
pub fn try_copy_all<T: Copy>(values: &[T]) -> Result<Vec<T>, NoMemory> {
    let mut copies = with_exact_capacity(values.len())?;
    copies.extend_from_slice(values);
    Ok(copies)
}

/// A copy of values, each by `clone`.
pub(crate) fn try_clone_each<T>(
    values: &[T],
    clone: impl Fn(&T) -> Result<T, NoMemory>,
) -> Result<Vec<T>, NoMemory> {
    let mut copies = with_exact_capacity(values.len())?;
    for value in values {
        copies.push(clone(value)?);
    }
    Ok(copies)
}

/// A vector with exactly this capacity.
///
/// # Errors
/// If memory is exhausted.
pub(crate) fn with_exact_capacity<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| NoMemory { bytes: count.saturating_mul(size_of::<T>()) })?;
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn sink_collects_what_is_put() {
        let mut out = vec![1];
        try_write(&mut out, |sink| {
            [&[2u8, 3][..], &[], &[4; 100]].iter().for_each(|part| sink.put(part));
            assert_eq!((sink.len(), sink.is_empty()), (103, false));
        })
        .unwrap();
        assert_eq!((out.len(), &out[..5]), (103, &[1, 2, 3, 4, 4][..]));
    }

    #[test]
    fn refused_sink_counts_what_would_have_been_needed() {
        let mut out = vec![7; 3];
        let refused = try_write(&mut out, |sink| {
            sink.put(&[1, 2]);
            sink.refused = Some(sink.bytes.len());
            sink.bytes = Vec::new();
            sink.put(&[3; 10]);
            assert_eq!((sink.len(), sink.is_empty()), (15, false));
        });
        assert_eq!((refused, out.capacity()), (Err(NoMemory { bytes: 15 }), 0));
    }

    #[test]
    fn elements_without_memory_are_refused() {
        let mut vector = vec![0u64; 2];
        let bytes = usize::MAX / 8 * 8;
        assert_eq!(try_reserve(&mut vector, usize::MAX / 8 - 2), Err(NoMemory { bytes }));
        assert_eq!(vector, [0; 2]);
    }
}
