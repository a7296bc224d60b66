//! INFO_SRC: source of the next submessages.

use super::submessage::{emit, id};
use super::{Cursor, GuidPrefix, VendorId, WireError};
use alloc::vec::Vec;

/// The next submessages are from this participant rather than from the sender of the message.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |   INFO_SRC    |. . . . . . . E|            length             |
/// |                            unused                             |
/// |     major     |     minor     |            vendor             |
/// |                      prefix (12 bytes)                        |
/// ```
/// Source: RTPS 2.5, sections 8.3.8.10 and 9.4.5.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoSource {
    /// The protocol version, major and minor.
    pub version: (u8, u8),
    /// Vendor of the implementation.
    pub vendor: VendorId,
    /// The participant.
    pub prefix: GuidPrefix,
}

impl InfoSource {
    pub(super) fn parse(body: &mut Cursor<'_>) -> Result<Self, WireError> {
        body.take(4)?;
        let [major, minor] = body.array()?;
        Ok(Self {
            version: (major, minor),
            vendor: VendorId(body.array()?),
            prefix: GuidPrefix(body.array()?),
        })
    }

    /// Appends the submessage.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(out, id::INFO_SOURCE, 0, |out| {
            out.extend_from_slice(&[0, 0, 0, 0, self.version.0, self.version.1]);
            out.extend_from_slice(&self.vendor.0);
            out.extend_from_slice(&self.prefix.0);
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
        let prefix = GuidPrefix([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let info = InfoSource { version: (2, 3), vendor: VendorId([1, 16]), prefix };
        let bytes = [0x0c, 1, 20, 0, 0, 0, 0, 0, 2, 3, 1, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        assert_eq!(emitted(|out| info.emit(out)), bytes);
        assert!(matches!(parse(&bytes), Ok(Submessage::InfoSource(parsed)) if parsed == info));
        every_cut_is_survived(&bytes);
    }
}
