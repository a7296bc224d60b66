//! Cursor over received bytes.

use super::{Bytes, DecodeError, DecodeErrorKind, Encoding, MAX_EMPTY_ELEMENTS};

/// A cursor over received bytes. Its counts never exceed the remaining bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: Bytes<'a>,
    /// Bytes that were read since where alignment is counted from.
    position: usize,
    encoding: Encoding,
}

/// End of a part that has a length header.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct End {
    /// Remaining bytes at its end; `None` without a length header.
    remaining: Option<usize>,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`, which are in the ROS 1 encoding.
    pub fn new(bytes: impl Into<Bytes<'a>>) -> Self {
        Self::of(Encoding::Ros1, bytes)
    }

    /// A cursor at the start of `bytes`, from which alignment is counted. A header before them, as ROS 2 has it, is read
    /// by [`cdr::reader`](super::cdr::reader).
    pub fn of(encoding: Encoding, bytes: impl Into<Bytes<'a>>) -> Self {
        Self { rest: bytes.into(), position: 0, encoding }
    }

    /// The encoding of the bytes.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The bytes not yet read.
    pub fn rest(&self) -> Bytes<'a> {
        self.rest
    }

    /// Passes over the bytes before a value that is aligned to `to`, a power of two.
    ///
    /// # Errors
    /// If fewer bytes remain.
    #[inline]
    pub fn align(&mut self, to: usize) -> Result<(), DecodeError> {
        match self.encoding.padding(self.position, to) {
            0 => Ok(()),
            padding => self.take(padding).map(drop),
        }
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// If fewer bytes remain.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<Bytes<'a>, DecodeError> {
        let Some((taken, rest)) = self.rest.split_at(count) else {
            return Err(DecodeErrorKind::Truncated { needed: count, remaining: self.rest.len() }.into());
        };
        self.rest = rest;
        self.position = self.position.wrapping_add(count);
        Ok(taken)
    }

    /// Takes the next `N` bytes as an array.
    ///
    /// # Errors
    /// If fewer bytes remain.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some((taken, rest)) = self.rest.split_array::<N>() else {
            return Err(DecodeErrorKind::Truncated { needed: N, remaining: self.rest.len() }.into());
        };
        self.rest = rest;
        self.position = self.position.wrapping_add(N);
        Ok(taken)
    }

    /// Reads a 32-bit count of elements of at least `min_len` bytes each.
    ///
    /// # Errors
    /// If the remaining bytes are too few for this count.
    #[inline]
    pub fn count(&mut self, min_len: usize) -> Result<usize, DecodeError> {
        let (count, remaining) = (self.length()?, self.rest.len());
        let is_beyond = match min_len {
            0 => count > MAX_EMPTY_ELEMENTS,
            _ => count.checked_mul(min_len).is_none_or(|needed| needed > remaining),
        };
        if is_beyond {
            return Err(DecodeErrorKind::CountBeyondMessage { count, remaining }.into());
        }
        Ok(count)
    }

    /// Reads the length prefix of a sequence or array: in [`Encoding::Xcdr2`] the length in bytes, unless it is of `primitives`.
    ///
    /// # Errors
    /// If fewer bytes remain.
    #[inline]
    pub fn enter(&mut self, primitives: bool) -> Result<End, DecodeError> {
        if self.encoding != Encoding::Xcdr2 || primitives {
            return Ok(End { remaining: None });
        }
        let needed = self.length()?;
        let remaining = self.rest.len();
        match remaining.checked_sub(needed) {
            Some(remaining) => Ok(End { remaining: Some(remaining) }),
            None => Err(DecodeErrorKind::Truncated { needed, remaining }.into()),
        }
    }

    /// Leaves a sequence or array that was [entered](Reader::enter).
    ///
    /// # Errors
    /// If its length differs from its prefix.
    #[inline]
    pub fn leave(&self, end: End) -> Result<(), DecodeError> {
        match end.remaining {
            Some(remaining) if remaining != self.rest.len() => Err(DecodeErrorKind::WrongLength.into()),
            _ => Ok(()),
        }
    }

    /// Leaves out the last bytes, but for `len` of those not yet read.
    pub(super) fn shorten(&mut self, len: usize) -> Result<(), DecodeError> {
        let remaining = self.rest.len();
        let truncated = || DecodeErrorKind::Truncated { needed: len, remaining };
        (self.rest, _) = self.rest.split_at(len).ok_or_else(truncated)?;
        Ok(())
    }

    /// Reads a 32-bit number that counts bytes or elements.
    #[inline]
    pub(super) fn length(&mut self) -> Result<usize, DecodeError> {
        self.align(4)?;
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    /// Ends the reading. In ROS 2 bytes may remain: some peers pad the last word, and Fast DDS's serialized messages have the
    /// estimated length, which may be too large.
    ///
    /// # Errors
    /// If bytes remain in ROS 1.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            count if self.encoding.is_ros1() => Err(DecodeErrorKind::TrailingBytes { count }.into()),
            _ => Ok(()),
        }
    }
}
