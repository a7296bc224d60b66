//! INFO_TS: source timestamp of the next samples.

use super::submessage::{emit, id};
use super::{Cursor, Timestamp, WireError};
use alloc::vec::Vec;

const INVALIDATE: u8 = 2;

/// Sets or clears the source timestamp of the next samples.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |    INFO_TS    |. . . . . . I E|            length             |
/// |                            seconds                            |
/// |                            fraction                           |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.11 and 9.4.5.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoTimestamp {
    /// Source timestamp.
    pub timestamp: Option<Timestamp>,
}

impl InfoTimestamp {
    /// Bytes of the submessage with a timestamp.
    pub const LEN: usize = 12;

    pub(super) fn parse(flags: u8, body: &mut Cursor<'_>) -> Result<Self, WireError> {
        if flags & INVALIDATE != 0 {
            return Ok(Self { timestamp: None });
        }
        let timestamp = Timestamp::parse(body)?;
        Ok(Self { timestamp: Some(timestamp).filter(|timestamp| *timestamp != Timestamp::INVALID) })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self.timestamp {
            Some(timestamp) => emit(out, id::INFO_TIMESTAMP, 0, |out| timestamp.emit(out)),
            None => emit(out, id::INFO_TIMESTAMP, INVALIDATE, |_| {}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    #[test]
    fn emitted_bytes_match_specification() {
        let at = InfoTimestamp { timestamp: Some(Timestamp { seconds: 1, fraction: 2 }) };
        let never = InfoTimestamp { timestamp: None };
        for (info, bytes) in [(at, &[9, 1, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0][..]), (never, &[9, 3, 0, 0])] {
            assert_eq!(emitted(|out| info.emit(out)), bytes);
            assert!(matches!(parse(bytes), Ok(Submessage::InfoTimestamp(parsed)) if parsed == info));
            every_cut_is_survived(bytes);
        }
    }
}
