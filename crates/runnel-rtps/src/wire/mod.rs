//! RTPS messages: a header and submessages, one file for each.
//!
//! No function here panics, for any bytes: parsing checks them once, and no accessor of a parsed value fails. No number
//! read from bytes sizes an allocation; variable-length fields are borrowed from the datagram. Peers may use either
//! byte order, as each submessage states; we send little-endian.
//!
//! [`Message::parse`] parses a message; [`begin`] and the `emit` of each submessage write one. Source: RTPS 2.5,
//! sections 8.3 and 9.4.

mod ack_nack;
mod bits;
mod cursor;
mod data;
mod data_frag;
mod gap;
mod guid;
mod heartbeat;
mod heartbeat_frag;
mod info_destination;
mod info_reply;
mod info_source;
mod info_timestamp;
mod locator;
mod nack_frag;
mod parameters;
mod sample_identity;
mod sequence;
mod submessage;
mod time;

pub use ack_nack::AckNack;
pub use bits::{BITS, Bits};
pub use cursor::{Cursor, WireError};
pub use data::{Data, Payload};
pub use data_frag::DataFrag;
pub use gap::Gap;
pub use guid::{EntityId, EntityKind, Guid, GuidPrefix, VendorId};
pub use heartbeat::Heartbeat;
pub use heartbeat_frag::HeartbeatFrag;
pub use info_destination::InfoDestination;
pub use info_reply::InfoReply;
pub use info_source::InfoSource;
pub use info_timestamp::InfoTimestamp;
pub use locator::{Locator, Locators};
pub use nack_frag::NackFrag;
pub use parameters::{Parameter, Parameters, ParametersOut, pid};
pub use sample_identity::SampleIdentity;
pub use sequence::{FragmentSet, SequenceNumber, SequenceSet};
pub(crate) use submessage::PADDING;
pub use submessage::{Submessage, Submessages};
pub use time::{RtpsDuration, Timestamp};

use alloc::vec::Vec;

/// Protocol version that we announce. Other minor versions are accepted, other major ones are not.
pub const VERSION: (u8, u8) = (2, 4);

/// Bytes of the header of a message.
pub const HEADER_LEN: usize = 20;

/// Bytes of the header of a submessage.
pub const SUBMESSAGE_HEADER_LEN: usize = 4;

/// RTPS message: its header and submessages.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |      'R'      |      'T'      |      'P'      |      'S'      |
/// |     major     |     minor     |            vendor             |
/// |                      prefix (12 bytes)                        |
/// ```
/// Source: RTPS 2.5, section 9.4.4.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The protocol version, major and minor.
    pub version: (u8, u8),
    /// Vendor of the implementation.
    pub vendor: VendorId,
    /// The sending participant.
    pub prefix: GuidPrefix,
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    /// Parses the header of a datagram.
    ///
    /// # Errors
    /// It is no RTPS message, or its major version is not supported.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(datagram, true);
        if cursor.array::<4>()? != *b"RTPS" {
            return Err(WireError::NotRtps);
        }
        let version: [u8; 2] = cursor.array()?;
        let [major, minor] = version;
        if major != VERSION.0 {
            return Err(WireError::Version { major, minor });
        }
        let vendor = VendorId(cursor.array()?);
        let prefix = GuidPrefix(cursor.array()?);
        Ok(Self { version: (major, minor), vendor, prefix, rest: cursor.rest() })
    }

    /// Returns the submessages, in order. An invalid submessage is the last: later bytes cannot be trusted (RTPS 2.5,
    /// section 8.3.4.1).
    pub fn submessages(&self) -> Submessages<'a> {
        Submessages::new(self.rest)
    }
}

/// Begins a message: replaces the content of `out` by its header.
pub fn begin(out: &mut Vec<u8>, vendor: VendorId, prefix: GuidPrefix) {
    out.clear();
    out.extend_from_slice(b"RTPS");
    out.extend_from_slice(&[VERSION.0, VERSION.1]);
    out.extend_from_slice(&vendor.0);
    out.extend_from_slice(&prefix.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const PREFIX: GuidPrefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);

    #[test]
    fn message_header_is_twenty_bytes() {
        let mut out = vec![9; 5];
        begin(&mut out, VendorId([1, 16]), PREFIX);
        assert_eq!(out, *b"RTPS\x02\x04\x01\x10\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");
        let message = Message::parse(&out).unwrap();
        assert_eq!((message.version, message.vendor, message.prefix), (VERSION, VendorId([1, 16]), PREFIX));
        assert!(message.submessages().next().is_none());
    }

    #[test]
    fn non_rtps_datagram_is_refused() {
        let mut out = vec![];
        begin(&mut out, VendorId([1, 16]), PREFIX);
        assert_eq!(Message::parse(&out[..19]).unwrap_err(), WireError::Truncated { needed: 12, left: 11 });
        out[0] = b'X';
        assert_eq!(Message::parse(&out).unwrap_err(), WireError::NotRtps);
        out[0] = b'R';
        out[4] = 3;
        assert_eq!(Message::parse(&out).unwrap_err(), WireError::Version { major: 3, minor: 4 });
    }
}
