//! HEARTBEAT_FRAG: the fragments of a sample that a writer has.

use super::submessage::{emit, id};
use super::{Cursor, EntityId, SequenceNumber, WireError};
use alloc::vec::Vec;

/// Announces that a writer has sent the fragments of a sample up to `last_fragment`.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// | HEARTBEAT_FRAG|. . . . . . . E|            length             |
/// |                            reader                             |
/// |                            writer                             |
/// |                      number (8 bytes)                         |
/// |                         last fragment                         |
/// |                            count                              |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.7 and 9.4.5.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatFrag {
    /// The reader, or unknown for all.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// Sequence number of the sample.
    pub number: SequenceNumber,
    /// The last fragment that can be requested; the first is 1.
    pub last_fragment: u32,
    /// Count, incremented with each; a lower one was overtaken.
    pub count: u32,
}

impl HeartbeatFrag {
    pub(super) fn parse(body: &mut Cursor<'_>) -> Result<Self, WireError> {
        let (reader, writer) = (EntityId(body.array()?), EntityId(body.array()?));
        let number = SequenceNumber::parse_positive(body, "HEARTBEAT_FRAG")?;
        let (last_fragment, count) = (body.u32()?, body.u32()?);
        if last_fragment == 0 {
            return Err(WireError::Invalid { what: "HEARTBEAT_FRAG", field: "fragment number" });
        }
        Ok(Self { reader, writer, number, last_fragment, count })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::HEARTBEAT_FRAG, 0, |out| {
            out.extend_from_slice(&self.reader.0);
            out.extend_from_slice(&self.writer.0);
            self.number.emit(out);
            out.extend_from_slice(&self.last_fragment.to_le_bytes());
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
        let (reader, writer) = (EntityId::UNKNOWN, EntityId::user_writer(1));
        let heartbeat =
            HeartbeatFrag { reader, writer, number: SequenceNumber(3), last_fragment: 4, count: 5 };
        let mut bytes =
            [0x13, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0];
        assert_eq!(emitted(|out| heartbeat.emit(out)), bytes);
        assert!(matches!(parse(&bytes), Ok(Submessage::HeartbeatFrag(parsed)) if parsed == heartbeat));
        every_cut_is_survived(&bytes);
        bytes[20] = 0;
        assert!(parse(&bytes).is_err(), "there is no fragment 0");
    }
}
