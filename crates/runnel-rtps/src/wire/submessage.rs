//! Submessages: their header, ids and parser.

use super::{
    AckNack, Cursor, Data, DataFrag, Gap, Heartbeat, HeartbeatFrag, InfoDestination, InfoReply, InfoSource,
    InfoTimestamp, NackFrag, WireError,
};
use alloc::vec::Vec;

/// Flag of a submessage with little-endian numbers.
pub(super) const LITTLE: u8 = 1;

pub(super) mod id {
    pub const PAD: u8 = 0x01;
    pub const ACK_NACK: u8 = 0x06;
    pub const HEARTBEAT: u8 = 0x07;
    pub const GAP: u8 = 0x08;
    pub const INFO_TIMESTAMP: u8 = 0x09;
    pub const INFO_SOURCE: u8 = 0x0c;
    pub const INFO_REPLY_IP4: u8 = 0x0d;
    pub const INFO_DESTINATION: u8 = 0x0e;
    pub const INFO_REPLY: u8 = 0x0f;
    pub const NACK_FRAG: u8 = 0x12;
    pub const HEARTBEAT_FRAG: u8 = 0x13;
    pub const DATA: u8 = 0x15;
    pub const DATA_FRAG: u8 = 0x16;
}

/// A submessage.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |      id       |     flags     |      length of the body       |
/// ```
/// Source: RTPS 2.5, section 9.4.5.1.
#[derive(Clone, Debug)]
pub enum Submessage<'a> {
    /// The samples that a reader has received and misses.
    AckNack(AckNack),
    /// A sample.
    Data(Data<'a>),
    /// Fragments of a sample.
    DataFrag(DataFrag<'a>),
    /// Irrelevant samples.
    Gap(Gap),
    /// The samples that a writer has.
    Heartbeat(Heartbeat),
    /// The fragments of a sample that a writer has.
    HeartbeatFrag(HeartbeatFrag),
    /// Destination of the next submessages.
    InfoDestination(InfoDestination),
    /// Addresses for answers.
    InfoReply(InfoReply<'a>),
    /// Source of the next submessages.
    InfoSource(InfoSource),
    /// Source timestamp of the next samples.
    InfoTimestamp(InfoTimestamp),
    /// The fragments of a sample that a reader misses.
    NackFrag(NackFrag),
    /// Padding, or a submessage of a later protocol or another vendor.
    Unknown {
        /// Its id.
        id: u8,
    },
}

/// The submessages of a message, in order.
#[derive(Clone, Debug)]
pub struct Submessages<'a> {
    rest: &'a [u8],
}

impl<'a> Submessages<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn parse_next(&mut self) -> Result<Submessage<'a>, WireError> {
        let mut header = Cursor::new(self.rest, true);
        let [id, flags] = header.array()?;
        let little = flags & LITTLE != 0;
        let mut header = Cursor::new(header.rest(), little);
        let claimed = usize::from(header.u16()?);
        // A length of 0 means up to the end of the message, except for submessages with an empty body.
        let to_the_end = claimed == 0 && !matches!(id, id::PAD | id::INFO_TIMESTAMP);
        let body = header.take(if to_the_end { header.rest().len() } else { claimed })?;
        self.rest = header.rest();
        Submessage::parse(id, flags, Cursor::new(body, little))
    }
}

impl<'a> Iterator for Submessages<'a> {
    type Item = Result<Submessage<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let parsed = self.parse_next();
        if parsed.is_err() {
            self.rest = &[];
        }
        Some(parsed)
    }
}

impl<'a> Submessage<'a> {
    fn parse(id: u8, flags: u8, mut body: Cursor<'a>) -> Result<Self, WireError> {
        let body = &mut body;
        Ok(match id {
            id::ACK_NACK => Self::AckNack(AckNack::parse(flags, body)?),
            id::DATA => Self::Data(Data::parse(flags, body)?),
            id::DATA_FRAG => Self::DataFrag(DataFrag::parse(flags, body)?),
            id::GAP => Self::Gap(Gap::parse(body)?),
            id::HEARTBEAT => Self::Heartbeat(Heartbeat::parse(flags, body)?),
            id::HEARTBEAT_FRAG => Self::HeartbeatFrag(HeartbeatFrag::parse(body)?),
            id::INFO_DESTINATION => Self::InfoDestination(InfoDestination::parse(body)?),
            id::INFO_REPLY => Self::InfoReply(InfoReply::parse(flags, body)?),
            id::INFO_REPLY_IP4 => Self::InfoReply(InfoReply::parse_ip4(flags, body)?),
            id::INFO_SOURCE => Self::InfoSource(InfoSource::parse(body)?),
            id::INFO_TIMESTAMP => Self::InfoTimestamp(InfoTimestamp::parse(flags, body)?),
            id::NACK_FRAG => Self::NackFrag(NackFrag::parse(body)?),
            id => Self::Unknown { id },
        })
    }
}

/// Appends a submessage: its header, the body that `write` appends, and padding to a multiple of four bytes, which all
/// but the last submessage of a message need. A body of over 64 KiB must be the last, with the length 0.
pub(super) fn emit(out: &mut Vec<u8>, id: u8, flags: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let padding = emit_before(out, id, flags, 0, write);
    out.extend_from_slice(&PADDING[..padding]);
}

/// Appends a submessage without its last `missing` bytes and the padding after them; returns the length of that
/// padding.
pub(super) fn emit_before(
    out: &mut Vec<u8>,
    id: u8,
    flags: u8,
    missing: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> usize {
    out.extend_from_slice(&[id, flags | LITTLE, 0, 0]);
    let begin = out.len();
    write(out);
    let len = out.len() - begin + missing;
    let padding = len.next_multiple_of(4) - len;
    let length = u16::try_from(len + padding).unwrap_or(0).to_le_bytes();
    out[begin - 2..begin].copy_from_slice(&length);
    padding
}

/// Padding bytes.
pub(crate) const PADDING: [u8; 4] = [0; 4];

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::wire::{GuidPrefix, Message, VendorId, begin};
    use alloc::vec;

    /// Parses one submessage from its header and body.
    pub fn parse(bytes: &[u8]) -> Result<Submessage<'_>, WireError> {
        Submessages::new(bytes).next().unwrap()
    }

    /// Returns the bytes of a submessage, emitted after a message header.
    pub fn emitted(emit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = vec![];
        begin(&mut out, VendorId::RUNNEL, GuidPrefix::UNKNOWN);
        emit(&mut out);
        assert_eq!(Message::parse(&out).unwrap().submessages().count(), 1);
        out.split_off(crate::wire::HEADER_LEN)
    }

    /// Checks that a submessage cut at any length is refused or valid.
    pub fn every_cut_is_survived(bytes: &[u8]) {
        for len in 0..bytes.len() {
            let mut cut = bytes[..len].to_vec();
            if let Some(length) = cut.get_mut(2..4) {
                length.copy_from_slice(&((len - 4) as u16).to_le_bytes());
            }
            let _ = Submessages::new(&cut).map(drop).count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn unknown_submessages_are_skipped() {
        let bytes =
            [0x80, 1, 4, 0, 9, 9, 9, 9, 0x01, 1, 0, 0, 0x0e, 0, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let parsed: Vec<_> = Submessages::new(&bytes).map(Result::unwrap).collect();
        assert!(matches!(
            parsed[..],
            [Submessage::Unknown { id: 0x80 }, Submessage::Unknown { id: 1 }, Submessage::InfoDestination(_)]
        ));
    }

    #[test]
    fn overlong_submessage_ends_message() {
        let bytes = [0x01, 1, 0, 0, 0x06, 1, 200, 0, 1, 2, 3, 4];
        let mut submessages = Submessages::new(&bytes);
        assert!(submessages.next().unwrap().is_ok());
        assert_eq!(
            submessages.next().unwrap().unwrap_err(),
            WireError::Truncated { needed: 200, remaining: 4 }
        );
        assert!(submessages.next().is_none());
    }

    #[test]
    fn body_is_padded_and_long_one_is_last() {
        let mut out = vec![];
        emit(&mut out, 0x15, 4, |out| out.extend_from_slice(&[7; 5]));
        assert_eq!(out, [0x15, 5, 8, 0, 7, 7, 7, 7, 7, 0, 0, 0]);
        out.clear();
        emit(&mut out, 0x15, 4, |out| out.resize(70_004, 1));
        assert_eq!((&out[..4], out.len()), (&[0x15, 5, 0, 0][..], 70_004));
    }

    proptest! {
        #[test]
        fn noise_causes_no_panic(noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let count = Submessages::new(&noise).count();
            prop_assert!(count <= noise.len());
        }

        #[test]
        fn noise_after_valid_header_causes_no_panic(
            id in 0u8..0x20, flags in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..120)
        ) {
            let mut bytes = vec![id, flags];
            let length = noise.len() as u16;
            bytes.extend(if flags & LITTLE != 0 { length.to_le_bytes() } else { length.to_be_bytes() });
            bytes.extend(noise);
            for parsed in Submessages::new(&bytes).flatten() {
                drop(alloc::format!("{parsed:?}"));
            }
        }
    }
}
