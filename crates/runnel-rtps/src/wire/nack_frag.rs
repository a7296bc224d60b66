//! NACK_FRAG: the fragments of a sample that a reader misses.

use super::submessage::{emit, id};
use super::{Cursor, EntityId, FragmentSet, SequenceNumber, WireError};
use alloc::vec::Vec;

/// Requests missing fragments of a sample.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |   NACK_FRAG   |. . . . . . . E|            length             |
/// |                            reader                             |
/// |                            writer                             |
/// |                      number (8 bytes)                         |
/// |                         missing: base                         |
/// |                    missing: number of bits                    |
/// |                    missing: words                             |
/// |                            count                              |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.12 and 9.4.5.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NackFrag {
    /// The reader.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// Sequence number of the sample.
    pub number: SequenceNumber,
    /// The missing fragments.
    pub missing: FragmentSet,
    /// Count, incremented with each; a lower one was overtaken.
    pub count: u32,
}

impl NackFrag {
    pub(super) fn parse(body: &mut Cursor<'_>) -> Result<Self, WireError> {
        let (reader, writer) = (EntityId(body.array()?), EntityId(body.array()?));
        let number = SequenceNumber::parse_positive(body, "NACK_FRAG")?;
        let missing = FragmentSet::parse(body, "NACK_FRAG")?;
        Ok(Self { reader, writer, number, missing, count: body.u32()? })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::NACK_FRAG, 0, |out| {
            out.extend_from_slice(&self.reader.0);
            out.extend_from_slice(&self.writer.0);
            self.number.emit(out);
            self.missing.emit(out);
            out.extend_from_slice(&self.count.to_le_bytes());
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
        let (reader, writer) = (EntityId::user_reader(2), EntityId::user_writer(1));
        let mut missing = FragmentSet::new(10);
        missing.insert(10);
        let nack = NackFrag { reader, writer, number: SequenceNumber(3), missing, count: 5 };
        let bytes = [
            0x12, 1, 32, 0, 0, 0, 2, 4, 0, 0, 1, 3, 0, 0, 0, 0, 3, 0, 0, 0, 10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
            0x80, 5, 0, 0, 0,
        ];
        assert_eq!(emitted(|out| nack.emit(out)), bytes);
        assert!(matches!(parse(&bytes), Ok(Submessage::NackFrag(parsed)) if parsed == nack));
        every_cut_is_survived(&bytes);
    }
}
