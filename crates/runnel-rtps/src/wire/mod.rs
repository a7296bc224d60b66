//! RTPS messages: a header and submessages, each in a file of its own.
//!
//! Nothing here panics, whatever the bytes: parsing checks them once, and no accessor of what was parsed fails. No
//! number read from bytes sizes an allocation; what varies in length is borrowed from the datagram. Numbers of a peer
//! may be of either byte order, as each submessage says; ours are little-endian.
//!
//! A message is parsed by [`Message::parse`] and written with [`begin`] and the `emit` of each submessage. Source:
//! RTPS 2.5, sections 8.3 and 9.4.

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
pub use sequence::{FragmentSet, SequenceNumber, SequenceSet};
pub(crate) use submessage::PADDING;
pub use submessage::{Submessage, Submessages};
pub use time::{RtpsDuration, Timestamp};

use alloc::vec::Vec;

/// The protocol that we speak. Peers of another minor version are understood, of another major one not.
pub const VERSION: (u8, u8) = (2, 4);

/// How many bytes the header of a message takes.
pub const HEADER_LEN: usize = 20;

/// How many bytes the header of a submessage takes.
pub const SUBMESSAGE_HEADER_LEN: usize = 4;

/// A message: who sent it, and its submessages.
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
    /// Whose implementation it is.
    pub vendor: VendorId,
    /// The participant that sent it.
    pub prefix: GuidPrefix,
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the header of a datagram.
    ///
    /// # Errors
    /// When it is no RTPS message, or one of a major version that we do not speak.
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

    /// The submessages, in order. The first that makes no sense is the last: what follows it cannot be trusted (RTPS
    /// 2.5, section 8.3.4.1).
    pub fn submessages(&self) -> Submessages<'a> {
        Submessages::new(self.rest)
    }
}

/// Begins a message: its header takes the place of what is in `out`.
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
    fn a_header_is_twenty_bytes() {
        let mut out = vec![9; 5];
        begin(&mut out, VendorId([1, 16]), PREFIX);
        assert_eq!(out, *b"RTPS\x02\x04\x01\x10\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");
        let message = Message::parse(&out).unwrap();
        assert_eq!((message.version, message.vendor, message.prefix), (VERSION, VendorId([1, 16]), PREFIX));
        assert!(message.submessages().next().is_none());
    }

    #[test]
    fn what_is_no_rtps_message_is_refused() {
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
