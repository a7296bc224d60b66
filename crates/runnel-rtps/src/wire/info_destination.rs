//! INFO_DST: destination of the next submessages.

use super::submessage::{emit, id};
use super::{Cursor, GuidPrefix, WireError};
use alloc::vec::Vec;

/// The next submessages are for this participant, or for all receivers if it is unknown.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |   INFO_DST    |. . . . . . . E|            length             |
/// |                      prefix (12 bytes)                        |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.8 and 9.4.5.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoDestination {
    /// The participant.
    pub prefix: GuidPrefix,
}

impl InfoDestination {
    /// Bytes of the submessage.
    pub const LEN: usize = 16;

    pub(super) fn parse(body: &mut Cursor<'_>) -> Result<Self, WireError> {
        Ok(Self { prefix: GuidPrefix(body.array()?) })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::INFO_DESTINATION, 0, |out| out.extend_from_slice(&self.prefix.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    #[test]
    fn emitted_bytes_match_specification() {
        let info = InfoDestination { prefix: GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) };
        let bytes = [0x0e, 1, 12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        assert_eq!(emitted(|out| info.emit(out)), bytes);
        assert!(matches!(parse(&bytes), Ok(Submessage::InfoDestination(parsed)) if parsed == info));
        every_cut_is_survived(&bytes);
    }
}
