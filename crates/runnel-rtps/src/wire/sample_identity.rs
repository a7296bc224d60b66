//! Sample identity: names one sample of one writer, as requests and replies of services do in their inline QoS.

use super::{Cursor, Guid, SequenceNumber, WireError};
use alloc::vec::Vec;

/// Identity of a sample.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |                      GUID (16 bytes)                          |
/// |                     number (8 bytes)                          |
/// ```
/// The number is in the byte order of the submessage. Source: DDS-RPC 1.0, section 7.8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleIdentity {
    /// The writer; in services of ROS 2 the client's reader of replies.
    pub guid: Guid,
    /// The sequence number, which is unknown in a request.
    pub number: SequenceNumber,
}

impl SampleIdentity {
    /// Bytes of an identity.
    pub const LEN: usize = 24;

    /// Parses an identity.
    ///
    /// # Errors
    /// The bytes are truncated.
    pub fn parse(from: &mut Cursor<'_>) -> Result<Self, WireError> {
        Ok(Self { guid: Guid::from_bytes(from.array()?), number: SequenceNumber::parse(from)? })
    }

    /// Appends the identity.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.guid.to_bytes());
        self.number.emit(out);
    }
}
