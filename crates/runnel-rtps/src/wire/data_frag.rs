//! DATA_FRAG: fragments of a sample.

use super::data::open;
use super::submessage::{PADDING, emit_before, id};
use super::{Cursor, EntityId, Parameters, SequenceNumber, WireError};
use alloc::vec::Vec;
use core::ops::Range;

const INLINE_QOS: u8 = 2;
const KEY: u8 = 4;

/// Consecutive fragments of a sample.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |   DATA_FRAG   |. . . . N K Q E|            length             |
/// |             flags             |     bytes to inline QoS       |
/// |                            reader                             |
/// |                            writer                             |
/// |                      number (8 bytes)                         |
/// |                        first fragment                         |
/// |      number of fragments      |     bytes in a fragment       |
/// |                        sample's bytes                         |
/// |                   inline QoS, if Q: parameters                |
/// |                           fragments                           |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.3 and 9.4.5.5.
#[derive(Clone, Copy, Debug)]
pub struct DataFrag<'a> {
    /// The reader, or unknown for all.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// Sequence number.
    pub number: SequenceNumber,
    /// The first of these fragments; a sample's first is 1.
    pub first_fragment: u32,
    /// Number of these fragments.
    pub fragments: u16,
    /// Fragment size in bytes; the sample's last fragment may be shorter.
    pub fragment_len: u16,
    /// Bytes of the sample, including the encapsulation header.
    pub sample_len: u32,
    /// Inline QoS.
    pub inline_qos: Parameters<'a>,
    /// The sample is the key of a disposed instance.
    pub is_key: bool,
    /// The bytes of the fragments, without padding.
    pub bytes: &'a [u8],
}

impl<'a> DataFrag<'a> {
    /// Bytes of the submessage without fragments and inline QoS.
    pub const OVERHEAD: usize = 36;

    pub(super) fn parse(flags: u8, body: &mut Cursor<'a>) -> Result<Self, WireError> {
        let mut at_qos = open(body)?;
        let mut frag = Self {
            reader: EntityId(body.array()?),
            writer: EntityId(body.array()?),
            number: SequenceNumber::parse_positive(body, "DATA_FRAG")?,
            first_fragment: body.u32()?,
            fragments: body.u16()?,
            fragment_len: body.u16()?,
            sample_len: body.u32()?,
            inline_qos: Parameters::none(),
            is_key: flags & KEY != 0,
            bytes: &[],
        };
        if flags & INLINE_QOS != 0 {
            frag.inline_qos = Parameters::parse(&mut at_qos)?;
        }
        let (begin, end) = frag.place()?;
        frag.bytes = at_qos.take(end - begin)?;
        Ok(frag)
    }

    /// Returns the number of fragments of the whole sample.
    pub fn count(&self) -> u32 {
        self.sample_len.div_ceil(u32::from(self.fragment_len).max(1))
    }

    /// Returns the offset of the bytes in the sample.
    pub fn offset(&self) -> usize {
        (self.first_fragment as usize - 1) * usize::from(self.fragment_len)
    }

    /// Returns the range of the fragments in the sample.
    fn place(&self) -> Result<(usize, usize), WireError> {
        let invalid = |field| Err(WireError::Invalid { what: "DATA_FRAG", field });
        if self.fragment_len == 0 || self.sample_len == 0 {
            return invalid("length");
        }
        if self.first_fragment == 0 || self.fragments == 0 {
            return invalid("fragment number");
        }
        let last = u64::from(self.first_fragment) + u64::from(self.fragments) - 1;
        if last > u64::from(self.count()) {
            return invalid("fragment number");
        }
        let end = (last * u64::from(self.fragment_len)).min(u64::from(self.sample_len));
        Ok((self.offset(), end as usize))
    }

    /// Appends a submessage with one fragment of a sample, if it exists. The inline QoS is empty or a complete
    /// parameter list.
    pub fn emit(
        out: &mut Vec<u8>,
        ends: (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        sample: &[u8],
        fragment: (u32, u16),
    ) {
        let (place, padding) = Self::emit_head(out, ends, number, inline_qos, sample.len(), fragment);
        out.extend_from_slice(&sample[place]);
        out.extend_from_slice(&PADDING[..padding]);
    }

    /// Appends the submessage without the fragment's bytes and the padding after them; returns their range in a sample
    /// of `sample_len` bytes, and the length of the padding.
    pub fn emit_head(
        out: &mut Vec<u8>,
        (reader, writer): (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        sample_len: usize,
        (fragment, fragment_len): (u32, u16),
    ) -> (Range<usize>, usize) {
        let begin = (fragment.saturating_sub(1) as usize).saturating_mul(fragment_len.into()).min(sample_len);
        let end = (begin + usize::from(fragment_len)).min(sample_len);
        let flags = if inline_qos.is_empty() { 0 } else { INLINE_QOS };
        let padding = emit_before(out, id::DATA_FRAG, flags, end - begin, |out| {
            out.extend_from_slice(&[0, 0, 28, 0]);
            out.extend_from_slice(&reader.0);
            out.extend_from_slice(&writer.0);
            number.emit(out);
            out.extend_from_slice(&fragment.to_le_bytes());
            out.extend_from_slice(&1u16.to_le_bytes());
            out.extend_from_slice(&fragment_len.to_le_bytes());
            out.extend_from_slice(&(sample_len as u32).to_le_bytes());
            out.extend_from_slice(inline_qos);
        });
        (begin..end, padding)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;

    const ENDS: (EntityId, EntityId) = (EntityId::UNKNOWN, EntityId::user_writer(1));

    fn second_of_three() -> Vec<u8> {
        emitted(|out| DataFrag::emit(out, ENDS, SequenceNumber(9), &[], &[1, 2, 3, 4, 5, 6, 7], (3, 3)))
    }

    #[test]
    fn emitted_bytes_match_specification() {
        let bytes = second_of_three();
        assert_eq!(
            bytes,
            [
                0x16, 1, 36, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 1,
                0, 3, 0, 7, 0, 0, 0, 7, 0, 0, 0
            ]
        );
        let Ok(Submessage::DataFrag(frag)) = parse(&bytes) else { panic!("refused") };
        assert_eq!((frag.first_fragment, frag.fragments, frag.fragment_len, frag.sample_len), (3, 1, 3, 7));
        assert_eq!((frag.count(), frag.offset(), frag.bytes), (3, 6, &[7][..]));
        assert_eq!(bytes.len() - 4, DataFrag::OVERHEAD);
        every_cut_is_survived(&bytes);
    }

    #[test]
    fn nonexistent_fragments_are_refused() {
        for (place, value) in [(24, 0), (24, 4), (27, 0xff), (28, 0), (28, 2), (30, 0), (32, 0), (32, 6)] {
            let mut bytes = second_of_three();
            bytes[place] = value;
            assert!(parse(&bytes).is_err(), "byte {place}");
        }
        let mut none_at_all = second_of_three();
        (none_at_all[24], none_at_all[28]) = (0, 0);
        assert!(parse(&none_at_all).is_err());
    }

    #[test]
    fn submessage_may_carry_several_fragments() {
        let mut bytes = second_of_three();
        (bytes[24], bytes[28], bytes[32]) = (1, 2, 4);
        bytes[36..].copy_from_slice(&[1, 2, 3, 4]);
        let Ok(Submessage::DataFrag(frag)) = parse(&bytes) else { panic!("refused") };
        assert_eq!((frag.bytes, frag.offset()), (&[1, 2, 3, 4][..], 0));
    }

    #[test]
    fn claimed_four_gigabytes_reserve_nothing() {
        let mut bytes = second_of_three();
        bytes[32..36].copy_from_slice(&[255; 4]);
        bytes[24..28].copy_from_slice(&[0x55, 0x55, 0x55, 0x55]);
        let Ok(Submessage::DataFrag(frag)) = parse(&bytes) else { panic!("refused") };
        assert_eq!((frag.count(), frag.offset(), frag.bytes.len()), (0x5555_5555, 0xffff_fffc, 3));
    }
}
