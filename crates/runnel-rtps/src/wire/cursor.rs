//! Cursor over the bytes of one submessage.

use core::fmt;

/// Cursor over received bytes of either byte order.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    little: bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8], little: bool) -> Self {
        Self { rest: bytes, little }
    }

    /// Returns the unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns whether numbers are little-endian.
    pub fn is_little(&self) -> bool {
        self.little
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// Fewer are left.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(WireError::Truncated { needed: count, remaining: self.rest.len() });
        };
        self.rest = rest;
        Ok(taken)
    }

    /// Takes the next `N` bytes.
    ///
    /// # Errors
    /// Fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(WireError::Truncated { needed: N, remaining: self.rest.len() });
        };
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads an unsigned 16-bit number.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn u16(&mut self) -> Result<u16, WireError> {
        let bytes = self.array()?;
        Ok(if self.little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    /// Reads an unsigned 32-bit number.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn u32(&mut self) -> Result<u32, WireError> {
        let bytes = self.array()?;
        Ok(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// Reads a signed 32-bit number.
    ///
    /// # Errors
    /// Fewer bytes are left.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        Ok(self.u32()?.cast_signed())
    }
}

/// Error in the bytes of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The datagram has no RTPS header.
    NotRtps,
    /// The major version is not supported.
    Version {
        /// Major version; 2 is supported.
        major: u8,
        /// Minor version; any is supported.
        minor: u8,
    },
    /// An element is truncated.
    Truncated {
        /// Required bytes.
        needed: usize,
        /// Available bytes.
        remaining: usize,
    },
    /// A field has an invalid value.
    Invalid {
        /// The submessage or element.
        what: &'static str,
        /// The field.
        field: &'static str,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRtps => f.write_str("not an RTPS message"),
            Self::Version { major, minor } => write!(f, "RTPS version {major}.{minor}, which is not 2.x"),
            Self::Truncated { needed, remaining } => {
                write!(f, "{needed} bytes are needed and {remaining} remain")
            }
            Self::Invalid { what, field } => write!(f, "{what} with an invalid {field}"),
        }
    }
}

impl core::error::Error for WireError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_either_byte_order() {
        let bytes = [1, 2, 3, 4, 5, 6];
        let mut little = Cursor::new(&bytes, true);
        assert_eq!((little.u16(), little.u32()), (Ok(0x0201), Ok(0x0605_0403)));
        let mut big = Cursor::new(&bytes, false);
        assert_eq!((big.u32(), big.u16()), (Ok(0x0102_0304), Ok(0x0506)));
    }

    #[test]
    fn truncated_read_fails_without_advance() {
        let mut cursor = Cursor::new(&[1, 2, 3], true);
        assert_eq!(cursor.u32(), Err(WireError::Truncated { needed: 4, remaining: 3 }));
        assert_eq!(cursor.take(usize::MAX), Err(WireError::Truncated { needed: usize::MAX, remaining: 3 }));
        assert_eq!(cursor.rest(), [1, 2, 3]);
    }
}
