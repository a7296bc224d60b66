//! HEARTBEAT: the samples that a writer has.

use super::submessage::{emit, id};
use super::{Cursor, EntityId, SequenceNumber, WireError};
use alloc::vec::Vec;

const FINAL: u8 = 2;
const LIVELINESS: u8 = 4;

/// Announces that a writer has the samples from `first` to `last`, or none if `last` is the number before `first`.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |   HEARTBEAT   |. . . . . L F E|            length             |
/// |                            reader                             |
/// |                            writer                             |
/// |                       first (8 bytes)                         |
/// |                       last (8 bytes)                          |
/// |                            count                              |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.6 and 9.4.5.7. The group fields that follow with flag G are not read: they serve
/// access in the order of several writers of a publisher (PRESENTATION), which ROS does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The reader, or unknown for all.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// First available sample.
    pub first: SequenceNumber,
    /// Last available sample.
    pub last: SequenceNumber,
    /// Count, incremented with each; a lower one was overtaken.
    pub count: u32,
    /// An answer is needed only from readers that miss samples.
    pub is_final: bool,
    /// The user asserts the writer's liveliness.
    pub liveliness: bool,
}

impl Heartbeat {
    /// Bytes of the submessage.
    pub const LEN: usize = 32;

    pub(super) fn parse(flags: u8, body: &mut Cursor<'_>) -> Result<Self, WireError> {
        let (reader, writer) = (EntityId(body.array()?), EntityId(body.array()?));
        let first = SequenceNumber::parse_positive(body, "HEARTBEAT")?;
        let last = SequenceNumber::parse(body)?;
        if last < first.previous() {
            return Err(WireError::Invalid { what: "HEARTBEAT", field: "last sample before its first" });
        }
        let (is_final, liveliness) = (flags & FINAL != 0, flags & LIVELINESS != 0);
        Ok(Self { reader, writer, first, last, count: body.u32()?, is_final, liveliness })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let flags = if self.is_final { FINAL } else { 0 } | if self.liveliness { LIVELINESS } else { 0 };
        emit(out, id::HEARTBEAT, flags, |out| {
            out.extend_from_slice(&self.reader.0);
            out.extend_from_slice(&self.writer.0);
            self.first.emit(out);
            self.last.emit(out);
            out.extend_from_slice(&self.count.to_le_bytes());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    const BYTES: [u8; Heartbeat::LEN] =
        [0x07, 5, 28, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0];

    #[test]
    fn emitted_bytes_match_specification() {
        let heartbeat = Heartbeat {
            reader: EntityId::UNKNOWN,
            writer: EntityId::user_writer(1),
            first: SequenceNumber(2),
            last: SequenceNumber(1),
            count: 7,
            is_final: false,
            liveliness: true,
        };
        assert_eq!(emitted(|out| heartbeat.emit(out)), BYTES);
        assert!(matches!(parse(&BYTES), Ok(Submessage::Heartbeat(parsed)) if parsed == heartbeat));
        every_cut_is_survived(&BYTES);
    }

    #[test]
    fn invalid_heartbeat_range_is_refused() {
        for (place, value) in [(24, 0), (23, 0x80), (16, 0), (15, 0x80)] {
            let mut bytes = BYTES;
            bytes[place] = value;
            assert!(matches!(parse(&bytes), Err(WireError::Invalid { .. })), "byte {place}");
        }
    }
}
