//! Records of a bag in format 2.0.
//!
//! ```text
//! +----------------+--------+--------------+------+
//! | length, 4 byte | header | length, 4 b. | data |
//! +----------------+--------+--------------+------+
//!    header: fields, each 4 bytes of length and `name=value`; the field `op` is the kind of the record
//! ```
//! Numbers are little-endian. A bag consists of the line [`MAGIC`], a bag header, chunks, each followed by its index,
//! and at the end the connections again and the positions of the chunks. In the header of an unfinished bag the
//! position of the connections is 0; `rosbag reindex` repairs such a bag. Source: wiki.ros.org/Bags/Format/2.0.

use crate::Compression;

/// Compressions that the format has.
pub(crate) const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Bz2, Compression::Lz4];

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// First line of a bag.
pub(crate) const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// Field of an uncompressed chunk's header with the CRC-32 of its data; 0 if it is unknown. It is not part of format 2.0,
/// whose readers skip unknown fields: without it, what a power failure left out of an unfinished bag would be read as
/// zeros.
pub(crate) const CHECKSUM: &str = "runnel_crc32";

/// Bytes of the bag header with its padding, so that it can be overwritten in place. rosbag also overwrites it when
/// it repairs a bag.
const BAG_HEADER: usize = 4096;

/// Kind of a record.
#[derive(Clone, Copy)]
pub(crate) enum Op {
    Message = 2,
    BagHeader = 3,
    Index = 4,
    Chunk = 5,
    ChunkInfo = 6,
    Connection = 7,
    /// Of this library. Format 2.0 does not define it.
    Metadata = 0x80,
}

impl Op {
    /// The kind of this number; `None` for another one.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        const ALL: [Op; 7] =
            [Op::Message, Op::BagHeader, Op::Index, Op::Chunk, Op::ChunkInfo, Op::Connection, Op::Metadata];
        ALL.into_iter().find(|op| *op as u8 == number)
    }
}

/// Fields of a record header to be written.
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    /// The fields of a record of this kind.
    pub(crate) fn of(op: Op) -> Self {
        Self::none().with("op", &[op as u8])
    }

    /// Fields without `op`, as in the data of a connection record.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with(mut self, name: &str, value: &[u8]) -> Self {
        self.0.extend(number(name.len() + 1 + value.len()));
        self.0.extend(name.as_bytes());
        self.0.push(b'=');
        self.0.extend(value);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Appends a record.
pub(crate) fn put(out: &mut Vec<u8>, fields: Fields, data: &[u8]) {
    put_head(out, &fields, data.len());
    out.extend(data);
}

/// Appends what precedes the data of a record, which have `len` bytes.
pub(crate) fn put_head(out: &mut Vec<u8>, fields: &Fields, len: usize) {
    out.extend(number(fields.0.len()));
    out.extend(&fields.0);
    out.extend(number(len));
}

/// The bag header: position of the connections at the end, their number, and the number of chunks.
pub(crate) fn bag_header(index: u64, connections: u32, chunks: u32) -> Vec<u8> {
    let fields = Fields::of(Op::BagHeader)
        .with("index_pos", &index.to_le_bytes())
        .with("conn_count", &connections.to_le_bytes())
        .with("chunk_count", &chunks.to_le_bytes());
    let padding = vec![b' '; BAG_HEADER - fields.0.len()];
    let mut record = Vec::with_capacity(BAG_HEADER + 8);
    put(&mut record, fields, &padding);
    record
}

/// Fields of a record header that was read. Unknown ones are tolerated: programs pad headers with them.
#[derive(Clone, Copy)]
pub(crate) struct ReadFields<'a>(&'a [u8]);

impl<'a> ReadFields<'a> {
    /// The fields in these bytes; `None` if they are malformed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (field, later) = length_prefixed(rest)?;
            field.contains(&b'=').then_some(())?;
            rest = later;
        }
        Some(Self(bytes))
    }

    /// The value of the first field of this name.
    pub(crate) fn value(self, name: &str) -> Option<&'a [u8]> {
        let mut rest = self.0;
        loop {
            let (field, later) = length_prefixed(rest)?;
            if let Some(value) =
                field.strip_prefix(name.as_bytes()).and_then(|value| value.strip_prefix(b"="))
            {
                return Some(value);
            }
            rest = later;
        }
    }

    /// The value of a text field. Bytes that are no UTF-8 are replaced.
    pub(crate) fn text(self, name: &str) -> Option<String> {
        self.value(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    pub(crate) fn u32(self, name: &str) -> Option<u32> {
        self.value(name)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(self, name: &str) -> Option<u64> {
        self.value(name)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// A time in nanoseconds since 1970.
    pub(crate) fn time(self, name: &str) -> Option<u64> {
        let (sec, nanosec) = self.value(name)?.split_first_chunk()?;
        let [sec, nanosec] = [u32::from_le_bytes(*sec), u32::from_le_bytes(nanosec.try_into().ok()?)];
        Some(u64::from(sec) * SECOND + u64::from(nanosec))
    }

    /// Names and values of all fields, as texts. Bytes that are no UTF-8 are replaced.
    pub(crate) fn texts(self) -> impl Iterator<Item = (String, String)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (field, later) = length_prefixed(rest)?;
            rest = later;
            let equals = field.iter().position(|byte| *byte == b'=')?;
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            Some((text(&field[..equals]), text(&field[equals + 1..])))
        })
    }

    /// The number of the record's kind.
    pub(crate) fn op(self) -> Option<u8> {
        match self.value("op")? {
            [op] => Some(*op),
            _ => None,
        }
    }
}

/// A record in memory.
pub(crate) struct Record<'a> {
    pub(crate) fields: ReadFields<'a>,
    pub(crate) data: &'a [u8],
}

impl<'a> Record<'a> {
    /// The record at the start of these bytes and what follows it; `None` if it is malformed or incomplete.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, rest) = length_prefixed(bytes)?;
        let (data, rest) = length_prefixed(rest)?;
        Some((Self { fields: ReadFields::parse(header)?, data }, rest))
    }
}

/// The bytes after their length, and the rest.
pub(super) fn length_prefixed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*len) as usize)
}

/// Latest time that fields can have, in nanoseconds since 1970.
pub(crate) const LATEST: u64 = u32::MAX as u64 * SECOND + SECOND - 1;

/// A time in the format of fields, from nanoseconds since 1970. The caller ensures that it is at most [`LATEST`].
pub(crate) fn time(nanos: u64) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&((nanos / SECOND) as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&((nanos % SECOND) as u32).to_le_bytes());
    bytes
}

/// A length in the format of records. The caller ensures that it fits.
pub(super) fn number(length: usize) -> [u8; 4] {
    (length as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_matches_documented_format() {
        let mut out = Vec::new();
        put(&mut out, Fields::of(Op::Message).with("conn", &7_u32.to_le_bytes()), b"abc");
        let expected = b"\x15\0\0\0\x04\0\0\0op=\x02\x09\0\0\0conn=\x07\0\0\0\x03\0\0\0abc";
        assert_eq!(out, expected);
    }

    #[test]
    fn bag_header_has_fixed_length() {
        assert_eq!(bag_header(0, 0, 0).len(), 8 + BAG_HEADER);
        assert_eq!(bag_header(u64::MAX, u32::MAX, u32::MAX).len(), 8 + BAG_HEADER);
    }
}
