//! ACKNACK: the samples that a reader has received and misses.

use super::submessage::{emit, id};
use super::{Cursor, EntityId, SequenceSet, WireError};
use alloc::vec::Vec;

const FINAL: u8 = 2;

/// Acknowledges all samples before the set's base, and requests those in the set.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |    ACKNACK    |. . . . . . F E|            length             |
/// |                            reader                             |
/// |                            writer                             |
/// |                    missing: base (8 bytes)                    |
/// |                    missing: number of bits                    |
/// |                    missing: words                             |
/// |                            count                              |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.1 and 9.4.5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckNack {
    /// The reader.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// The missing samples.
    pub missing: SequenceSet,
    /// Count, incremented with each; a lower one was overtaken.
    pub count: u32,
    /// No answer is needed.
    pub is_final: bool,
}

impl AckNack {
    pub(super) fn parse(flags: u8, body: &mut Cursor<'_>) -> Result<Self, WireError> {
        Ok(Self {
            reader: EntityId(body.array()?),
            writer: EntityId(body.array()?),
            missing: parse_missing(body)?,
            count: body.u32()?,
            is_final: flags & FINAL != 0,
        })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::ACK_NACK, if self.is_final { FINAL } else { 0 }, |out| {
            out.extend_from_slice(&self.reader.0);
            out.extend_from_slice(&self.writer.0);
            self.missing.emit(out);
            out.extend_from_slice(&self.count.to_le_bytes());
        });
    }
}

/// Parses the set. Some peers begin with a base of 0, before they know any sample: it means 1.
fn parse_missing(body: &mut Cursor<'_>) -> Result<SequenceSet, WireError> {
    let zero_base = body.rest().starts_with(&[0; 8]);
    if !zero_base {
        return SequenceSet::parse(body, "ACKNACK");
    }
    body.take(8)?;
    super::Bits::parse(body, "ACKNACK")?;
    Ok(SequenceSet::new(super::SequenceNumber::FIRST))
}

#[cfg(test)]
mod tests {
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::super::{SequenceNumber, Submessage};
    use super::*;

    const BYTES: [u8; 32] = [
        0x06, 3, 28, 0, 0, 0, 4, 0xc7, 0, 0, 4, 0xc2, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x40, 9,
        0, 0, 0,
    ];

    #[test]
    fn emitted_bytes_match_specification() {
        let mut missing = SequenceSet::new(SequenceNumber(5));
        missing.insert(SequenceNumber(6));
        let (reader, writer) = (EntityId::SUBSCRIPTIONS_READER, EntityId::SUBSCRIPTIONS_WRITER);
        let ack_nack = AckNack { reader, writer, missing, count: 9, is_final: true };
        assert_eq!(emitted(|out| ack_nack.emit(out)), BYTES);
        assert!(matches!(parse(&BYTES), Ok(Submessage::AckNack(parsed)) if parsed == ack_nack));
        every_cut_is_survived(&BYTES);
    }

    #[test]
    fn base_zero_means_one_and_negative_is_refused() {
        let mut bytes = BYTES;
        bytes[16] = 0;
        let Ok(Submessage::AckNack(parsed)) = parse(&bytes) else { panic!("refused") };
        assert_eq!((parsed.missing.base, parsed.missing.is_empty()), (SequenceNumber(1), true));
        bytes[15] = 0x80;
        assert!(parse(&bytes).is_err());
    }
}
