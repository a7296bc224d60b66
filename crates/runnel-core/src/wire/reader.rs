//! A cursor over received bytes.

use super::{DecodeError, DecodeErrorKind, MAX_EMPTY_ELEMENTS};

/// A cursor over received bytes. No count it gives exceeds what the bytes can hold.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(DecodeErrorKind::Truncated { needed: count, left: self.rest.len() }.into());
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes as an array.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(DecodeErrorKind::Truncated { needed: N, left: self.rest.len() }.into());
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads a 32-bit count of elements that take at least `min_len` bytes each.
    ///
    /// # Errors
    /// When the bytes left cannot hold so many.
    #[inline]
    pub fn count(&mut self, min_len: usize) -> Result<usize, DecodeError> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        let most = self.rest.len().checked_div(min_len).unwrap_or(MAX_EMPTY_ELEMENTS);
        if count > most {
            return Err(DecodeErrorKind::CountBeyondMessage { count, left: self.rest.len() }.into());
        }
        Ok(count)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// When bytes are left over.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            count => Err(DecodeErrorKind::TrailingBytes { count }.into()),
        }
    }
}
