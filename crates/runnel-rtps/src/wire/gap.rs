//! GAP: samples that are irrelevant to a reader.

use super::submessage::{emit, id};
use super::{Cursor, EntityId, SequenceNumber, SequenceSet, WireError};
use alloc::vec::Vec;

/// Declares irrelevant the samples from `start` to before the list's base, and those in the list.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |      GAP      |. . . . . . . E|            length             |
/// |                            reader                             |
/// |                            writer                             |
/// |                       start (8 bytes)                         |
/// |                     list: base (8 bytes)                      |
/// |                     list: number of bits                      |
/// |                     list: words                               |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.4 and 9.4.5.6. The group fields that follow with flag G are not read: they serve
/// access in the order of several writers of a publisher (PRESENTATION), which ROS does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The reader, or unknown for all.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The first irrelevant sample.
    pub start: SequenceNumber,
    /// End of the range, and further irrelevant samples after it.
    pub list: SequenceSet,
}

impl Gap {
    /// Maximum bytes, with a list of 256.
    pub const MAX_LEN: usize = 64;

    /// Creates a GAP of the samples from `start` to before `end`.
    pub fn range(reader: EntityId, writer: EntityId, start: SequenceNumber, end: SequenceNumber) -> Self {
        Self { reader, writer, start, list: SequenceSet::new(end) }
    }

    pub(super) fn parse(body: &mut Cursor<'_>) -> Result<Self, WireError> {
        let (reader, writer) = (EntityId(body.array()?), EntityId(body.array()?));
        let start = SequenceNumber::parse_positive(body, "GAP")?;
        let list = SequenceSet::parse(body, "GAP")?;
        if list.base < start {
            return Err(WireError::Invalid { what: "GAP", field: "end before its start" });
        }
        Ok(Self { reader, writer, start, list })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::GAP, 0, |out| {
            out.extend_from_slice(&self.reader.0);
            out.extend_from_slice(&self.writer.0);
            self.start.emit(out);
            self.list.emit(out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    #[test]
    fn emitted_bytes_match_specification() {
        let (reader, writer) = (EntityId::UNKNOWN, EntityId::user_writer(1));
        let mut gap = Gap::range(reader, writer, SequenceNumber(2), SequenceNumber(4));
        gap.list.insert(SequenceNumber(5));
        let bytes = [
            0x08, 1, 32, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0,
            0, 0, 0, 0, 0x40,
        ];
        assert_eq!(emitted(|out| gap.emit(out)), bytes);
        assert!(matches!(parse(&bytes), Ok(Submessage::Gap(parsed)) if parsed == gap));
        every_cut_is_survived(&bytes);
    }

    #[test]
    fn gap_ending_before_start_is_refused() {
        let gap = Gap::range(EntityId::UNKNOWN, EntityId::UNKNOWN, SequenceNumber(5), SequenceNumber(4));
        let bytes = emitted_unchecked(|out| gap.emit(out));
        assert!(parse(&bytes).is_err());
    }

    fn emitted_unchecked(emit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        emit(&mut out);
        out
    }
}
