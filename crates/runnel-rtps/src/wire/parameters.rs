//! Parameter lists, the format of announcements and inline QoS.

use super::{Cursor, WireError};
use alloc::vec::Vec;

/// Parameter ids. Source: RTPS 2.5, tables 9.12, 9.14 and 9.15; DDS-XTypes 1.3, table 62.
pub mod pid {
    #![allow(missing_docs)]
    pub const PAD: u16 = 0x0000;
    pub const SENTINEL: u16 = 0x0001;
    pub const PARTICIPANT_LEASE_DURATION: u16 = 0x0002;
    pub const TOPIC_NAME: u16 = 0x0005;
    pub const TYPE_NAME: u16 = 0x0007;
    pub const DOMAIN_ID: u16 = 0x000f;
    pub const PROTOCOL_VERSION: u16 = 0x0015;
    pub const VENDOR_ID: u16 = 0x0016;
    pub const RELIABILITY: u16 = 0x001a;
    pub const LIVELINESS: u16 = 0x001b;
    pub const DURABILITY: u16 = 0x001d;
    pub const OWNERSHIP: u16 = 0x001f;
    pub const PRESENTATION: u16 = 0x0021;
    pub const DEADLINE: u16 = 0x0023;
    pub const DESTINATION_ORDER: u16 = 0x0025;
    pub const LATENCY_BUDGET: u16 = 0x0027;
    pub const PARTITION: u16 = 0x0029;
    pub const LIFESPAN: u16 = 0x002b;
    pub const USER_DATA: u16 = 0x002c;
    pub const UNICAST_LOCATOR: u16 = 0x002f;
    pub const MULTICAST_LOCATOR: u16 = 0x0030;
    pub const DEFAULT_UNICAST_LOCATOR: u16 = 0x0031;
    pub const METATRAFFIC_UNICAST_LOCATOR: u16 = 0x0032;
    pub const METATRAFFIC_MULTICAST_LOCATOR: u16 = 0x0033;
    pub const HISTORY: u16 = 0x0040;
    pub const EXPECTS_INLINE_QOS: u16 = 0x0043;
    pub const DEFAULT_MULTICAST_LOCATOR: u16 = 0x0048;
    pub const PARTICIPANT_GUID: u16 = 0x0050;
    pub const DOMAIN_TAG: u16 = 0x4014;
    pub const BUILTIN_ENDPOINT_SET: u16 = 0x0058;
    pub const ENDPOINT_GUID: u16 = 0x005a;
    pub const ENTITY_NAME: u16 = 0x0062;
    pub const KEY_HASH: u16 = 0x0070;
    pub const STATUS_INFO: u16 = 0x0071;
    pub const DATA_REPRESENTATION: u16 = 0x0073;
    /// Source: DDS-RPC 1.0, section 7.8.2.
    pub const RELATED_SAMPLE_IDENTITY: u16 = 0x0083;
    /// The same parameter as Fast DDS numbered it first.
    pub const FAST_DDS_RELATED_SAMPLE_IDENTITY: u16 = 0x800f;

    /// Flag: a receiver that does not know the parameter must ignore the whole list.
    pub const MUST_UNDERSTAND: u16 = 0x4000;
    /// Flag: the vendor defines the parameter.
    pub const VENDOR_SPECIFIC: u16 = 0x8000;
}

/// Parameter: its id and value.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Id, see [`pid`].
    pub id: u16,
    /// The value, padded to a multiple of four bytes.
    pub value: Cursor<'a>,
}

/// Validated parameter list.
///
/// ```text
/// 0...2...........8...............16..............24..............32
/// |              id               |            length             |
/// |                             value                             |
/// |                              ...                              |
/// |           SENTINEL            |            ignored            |
/// ```
/// Source: RTPS 2.5, section 9.4.2.11.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    rest: Cursor<'a>,
}

impl<'a> Parameters<'a> {
    /// Creates a list without parameters.
    pub fn none() -> Self {
        Self { rest: Cursor::new(&[], true) }
    }

    /// Parses a list including its sentinel.
    ///
    /// # Errors
    /// The bytes end before the sentinel.
    pub fn parse(from: &mut Cursor<'a>) -> Result<Self, WireError> {
        let whole = *from;
        while parse_one(from)?.is_some() {}
        Ok(Self { rest: whole })
    }

    /// Returns the parameters in order, without padding.
    pub fn iter(&self) -> impl Iterator<Item = Parameter<'a>> + use<'a> {
        let mut rest = self.rest;
        core::iter::from_fn(move || parse_one(&mut rest).ok().flatten())
            .filter(|parameter| parameter.id != pid::PAD)
    }

    /// Returns the value of the first parameter with this id.
    pub fn find(&self, id: u16) -> Option<Cursor<'a>> {
        self.iter().find(|parameter| parameter.id == id).map(|parameter| parameter.value)
    }
}

/// Reads the next parameter; `None` for the sentinel.
fn parse_one<'a>(from: &mut Cursor<'a>) -> Result<Option<Parameter<'a>>, WireError> {
    let (id, len) = (from.u16()?, from.u16()?);
    if id == pid::SENTINEL {
        return Ok(None);
    }
    let value = from.take(usize::from(len))?;
    Ok(Some(Parameter { id, value: Cursor::new(value, from.is_little()) }))
}

/// Writer of a parameter list.
#[derive(Debug)]
pub struct ParametersOut<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> ParametersOut<'a> {
    /// Begins a list after the content of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends a parameter with the value that `write` appends. A value of over 64 KiB is omitted: the length field
    /// cannot hold it.
    pub fn put(&mut self, id: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.out.len();
        self.out.extend_from_slice(&id.to_le_bytes());
        self.out.extend_from_slice(&[0, 0]);
        write(self.out);
        let len = (self.out.len() - begin - 4).next_multiple_of(4);
        match u16::try_from(len) {
            Ok(short) => {
                self.out.resize(begin + 4 + len, 0);
                self.out[begin + 2..begin + 4].copy_from_slice(&short.to_le_bytes());
            }
            Err(_) => self.out.truncate(begin),
        }
    }

    /// Appends a parameter with these bytes.
    pub fn bytes(&mut self, id: u16, value: &[u8]) {
        self.put(id, |out| out.extend_from_slice(value));
    }

    /// Appends a parameter with a count and these bytes.
    pub fn octets(&mut self, id: u16, value: &[u8]) {
        self.put(id, |out| {
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value);
        });
    }

    /// Appends a parameter with a string: its length including the NUL, the string, and the NUL.
    pub fn text(&mut self, id: u16, value: &str) {
        self.put(id, |out| {
            out.extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
            out.extend_from_slice(value.as_bytes());
            out.push(0);
        });
    }

    /// Appends a number.
    pub fn u32(&mut self, id: u16, value: u32) {
        self.bytes(id, &value.to_le_bytes());
    }

    /// Ends the list.
    pub fn end(self) {
        self.out.extend_from_slice(&[pid::SENTINEL as u8, 0, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn parameter_list_bytes_match_specification() {
        let mut out = vec![];
        let mut list = ParametersOut::new(&mut out);
        list.text(pid::TOPIC_NAME, "ab");
        list.u32(pid::DOMAIN_ID, 7);
        list.octets(pid::USER_DATA, b"x");
        list.end();
        assert_eq!(
            out,
            [
                5, 0, 8, 0, 3, 0, 0, 0, b'a', b'b', 0, 0, 15, 0, 4, 0, 7, 0, 0, 0, 0x2c, 0, 8, 0, 1, 0, 0, 0,
                b'x', 0, 0, 0, 1, 0, 0, 0
            ]
        );
        let mut cursor = Cursor::new(&out, true);
        let list = Parameters::parse(&mut cursor).unwrap();
        assert!(cursor.rest().is_empty());
        assert!(list.iter().map(|parameter| parameter.id).eq([
            pid::TOPIC_NAME,
            pid::DOMAIN_ID,
            pid::USER_DATA
        ]));
        assert_eq!(list.find(pid::DOMAIN_ID).unwrap().u32(), Ok(7));
        assert!(list.find(pid::STATUS_INFO).is_none());
    }

    #[test]
    fn list_without_sentinel_is_refused() {
        for bytes in [&[][..], &[5, 0, 4, 0, 1, 2, 3, 4], &[5, 0, 0xff, 0xff, 1, 0, 0, 0], &[1, 0]] {
            assert!(Parameters::parse(&mut Cursor::new(bytes, true)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn overlong_value_is_omitted() {
        let mut out = vec![];
        let mut list = ParametersOut::new(&mut out);
        list.bytes(pid::USER_DATA, &vec![0; 65_533]);
        list.bytes(pid::USER_DATA, &vec![0; 65_532]);
        list.end();
        assert_eq!(out.len(), 4 + 65_532 + 4);
    }
}
