//! DATA: a sample.

use super::submessage::{PADDING, emit_before, id};
use super::{Cursor, EntityId, Parameters, SequenceNumber, WireError};
use alloc::vec::Vec;

const INLINE_QOS: u8 = 2;
const DATA: u8 = 4;
const KEY: u8 = 8;

/// Payload of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// The serialized value, encapsulation header first.
    Value(&'a [u8]),
    /// The serialized key of an instance that is disposed of, encapsulation header first.
    Key(&'a [u8]),
    /// No payload; the inline QoS holds all content.
    Nothing,
}

impl<'a> Payload<'a> {
    /// Returns the bytes of the value or key.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Value(bytes) | Self::Key(bytes) => bytes,
            Self::Nothing => &[],
        }
    }
}

/// Sample of a writer.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |     DATA      |. . . N K D Q E|            length             |
/// |             flags             |     bytes to inline QoS       |
/// |                            reader                             |
/// |                            writer                             |
/// |                      number (8 bytes)                         |
/// |                   inline QoS, if Q: parameters                |
/// |                    value, if D; key, if K                     |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.2 and 9.4.5.4.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// The reader, or unknown for all.
    pub reader: EntityId,
    /// The writer.
    pub writer: EntityId,
    /// Sequence number.
    pub number: SequenceNumber,
    /// Inline QoS.
    pub inline_qos: Parameters<'a>,
    /// Payload.
    pub payload: Payload<'a>,
}

impl<'a> Data<'a> {
    /// Bytes of the submessage without payload and inline QoS.
    pub const OVERHEAD: usize = 24;

    pub(super) fn parse(flags: u8, body: &mut Cursor<'a>) -> Result<Self, WireError> {
        let mut at_qos = open(body)?;
        let reader = EntityId(body.array()?);
        let writer = EntityId(body.array()?);
        let number = SequenceNumber::parse_positive(body, "DATA")?;
        let inline_qos =
            if flags & INLINE_QOS != 0 { Parameters::parse(&mut at_qos)? } else { Parameters::none() };
        let payload = match flags & (DATA | KEY) {
            0 => Payload::Nothing,
            DATA => Payload::Value(at_qos.rest()),
            KEY => Payload::Key(at_qos.rest()),
            _ => return Err(WireError::Invalid { what: "DATA", field: "pair of flags: both value and key" }),
        };
        Ok(Self { reader, writer, number, inline_qos, payload })
    }

    /// Appends a submessage. The inline QoS is empty or a complete parameter list.
    pub fn emit(
        out: &mut Vec<u8>,
        ends: (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        payload: Payload<'_>,
    ) {
        let padding = Self::emit_head(out, ends, number, inline_qos, payload);
        out.extend_from_slice(payload.bytes());
        out.extend_from_slice(&PADDING[..padding]);
    }

    /// Appends the submessage without its payload and the padding after it; returns the length of that padding.
    pub fn emit_head(
        out: &mut Vec<u8>,
        (reader, writer): (EntityId, EntityId),
        number: SequenceNumber,
        inline_qos: &[u8],
        payload: Payload<'_>,
    ) -> usize {
        let kind = match payload {
            Payload::Value(_) => DATA,
            Payload::Key(_) => KEY,
            Payload::Nothing => 0,
        };
        let qos = if inline_qos.is_empty() { 0 } else { INLINE_QOS };
        emit_before(out, id::DATA, kind | qos, payload.bytes().len(), |out| {
            out.extend_from_slice(&[0, 0, 16, 0]);
            out.extend_from_slice(&reader.0);
            out.extend_from_slice(&writer.0);
            number.emit(out);
            out.extend_from_slice(inline_qos);
        })
    }
}

/// Reads the flags and the offset at the beginning of DATA and DATA_FRAG; returns a cursor at the inline QoS.
pub(super) fn open<'a>(body: &mut Cursor<'a>) -> Result<Cursor<'a>, WireError> {
    body.u16()?;
    let to_qos = body.u16()?;
    let mut at_qos = *body;
    at_qos.take(usize::from(to_qos))?;
    Ok(at_qos)
}

#[cfg(test)]
mod tests {
    use super::super::Submessage;
    use super::super::parameters::{ParametersOut, pid};
    use super::super::submessage::testing::{emitted, every_cut_is_survived, parse};
    use super::*;
    use alloc::vec;

    const ENDS: (EntityId, EntityId) = (EntityId::UNKNOWN, EntityId::user_writer(1));

    fn parsed(bytes: &[u8]) -> Data<'_> {
        match parse(bytes) {
            Ok(Submessage::Data(data)) => data,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn value_bytes_match_specification() {
        let payload = Payload::Value(&[0, 1, 0, 0, 7]);
        let bytes = [
            0x15, 5, 28, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 7, 0, 0,
            0,
        ];
        assert_eq!(emitted(|out| Data::emit(out, ENDS, SequenceNumber(2), &[], payload)), bytes);
        let data = parsed(&bytes);
        assert_eq!(((data.reader, data.writer), data.number), (ENDS, SequenceNumber(2)));
        assert_eq!(data.payload, Payload::Value(&[0, 1, 0, 0, 7, 0, 0, 0]), "padding is part of it");
        assert_eq!(bytes.len() - 8, Data::OVERHEAD);
        every_cut_is_survived(&bytes);
    }

    #[test]
    fn disposal_has_key_or_empty_payload() {
        let mut qos = vec![];
        let mut list = ParametersOut::new(&mut qos);
        list.bytes(pid::STATUS_INFO, &[0, 0, 0, 1]);
        list.end();
        for payload in [Payload::Key(&[0, 3, 0, 0, 1, 2, 3, 4]), Payload::Nothing] {
            let bytes = emitted(|out| Data::emit(out, ENDS, SequenceNumber(2), &qos, payload));
            let data = parsed(&bytes);
            assert_eq!(data.payload, payload);
            assert_eq!(data.inline_qos.find(pid::STATUS_INFO).unwrap().rest(), [0, 0, 0, 1]);
            every_cut_is_survived(&bytes);
        }
    }

    #[test]
    fn invalid_offset_and_flag_pair_are_refused() {
        let good = emitted(|out| Data::emit(out, ENDS, SequenceNumber(2), &[], Payload::Value(&[1; 4])));
        for (place, value) in [(6, 200), (1, 0x0d), (20, 0)] {
            let mut bytes = good.clone();
            bytes[place] = value;
            assert!(parse(&bytes).is_err(), "byte {place}");
        }
    }

    #[test]
    fn big_endian_and_extra_header_are_accepted() {
        let bytes = [
            0x15, 4, 0, 28, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 2, 9, 9, 9, 9, 1, 2, 3,
            4,
        ];
        let data = parsed(&bytes);
        assert_eq!((data.number, data.payload), (SequenceNumber(2), Payload::Value(&[1, 2, 3, 4])));
    }
}
