//! The records that a bag of format 2.0 is made of.
//!
//! ```text
//! +----------------+--------+--------------+------+
//! | length, 4 byte | header | length, 4 b. | data |
//! +----------------+--------+--------------+------+
//!    header: fields, each 4 bytes of length and `name=value`; the field `op` says what the record is
//! ```
//! Numbers are little-endian. A bag is the line [`MAGIC`], a bag header, chunks with an index behind each, and at the end
//! the connections once more and where the chunks are. A bag header without that place belongs to a bag that was not
//! finished; `rosbag reindex` makes one of it. Source: wiki.ros.org/Bags/Format/2.0.

use runnel_core::time::Time;

/// What a bag begins with.
pub(crate) const MAGIC: &[u8] = b"#ROSBAG V2.0\n";

/// Bytes of header and data of the bag header together, so that it can be written again in its place: also by rosbag, which
/// does so when it mends a bag.
const BAG_HEADER: usize = 4096;

/// What a record is.
#[derive(Clone, Copy)]
pub(crate) enum Op {
    Message = 2,
    BagHeader = 3,
    Index = 4,
    Chunk = 5,
    ChunkInfo = 6,
    Connection = 7,
}

/// The fields of a header.
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    /// Of a record of this kind.
    pub(crate) fn of(op: Op) -> Self {
        Self::none().with("op", &[op as u8])
    }

    /// Fields without `op`, as a connection's data has them.
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
    out.extend(number(fields.0.len()));
    out.extend(fields.0);
    out.extend(number(data.len()));
    out.extend(data);
}

/// The bag header: where the connections at the end begin, how many there are, and how many chunks.
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

/// A time as fields carry it.
pub(crate) fn time(time: Time) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&time.sec.to_le_bytes());
    bytes[4..].copy_from_slice(&time.nanosec.to_le_bytes());
    bytes
}

/// A length as records carry it. Whoever writes them makes sure that it is no longer than can be told.
fn number(length: usize) -> [u8; 4] {
    (length as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_as_documented() {
        let mut out = Vec::new();
        put(&mut out, Fields::of(Op::Message).with("conn", &7_u32.to_le_bytes()), b"abc");
        let expected = b"\x15\0\0\0\x04\0\0\0op=\x02\x09\0\0\0conn=\x07\0\0\0\x03\0\0\0abc";
        assert_eq!(out, expected);
    }

    #[test]
    fn every_bag_header_has_the_same_length() {
        assert_eq!(bag_header(0, 0, 0).len(), 8 + BAG_HEADER);
        assert_eq!(bag_header(u64::MAX, u32::MAX, u32::MAX).len(), 8 + BAG_HEADER);
    }
}
