//! The two encodings of node announcements. From Iron on, the GID of an endpoint has 16 bytes. Before, it had 24: the
//! same 16 and eight zeros.
//!
//! A message does not say which encoding it has: it has the one in which it ends exactly. Nodes of Humble stop
//! discovery for good when they read the newer encoding. So each participant gets its own.

use runnel_msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};

/// Length of a GID in bytes, from Iron on and before.
const NEW: usize = 16;
const OLD: usize = 24;

/// Length of the encapsulation header.
const HEAD: usize = 4;

/// Decodes a message in either encoding, and returns the length of its GIDs; `None` if it has neither.
pub(super) fn decode(payload: &[u8]) -> Option<(ParticipantEntitiesInfo, usize)> {
    [NEW, OLD].into_iter().find_map(|width| Some((decode_as(width, payload)?, width)))
}

fn decode_as(width: usize, payload: &[u8]) -> Option<ParticipantEntitiesInfo> {
    let little = match payload.get(..2)? {
        [0, 0] => false,
        [0, 1] => true,
        _ => return None,
    };
    let mut body = Body { bytes: payload.get(HEAD..)?, at: 0, little, width };
    let (gid, count) = (body.gid()?, body.u32()?);
    let nodes = (0..count).map(|_| body.node()).collect::<Option<Vec<_>>>()?;
    // Padding at the end of a submessage is not part of it.
    (body.bytes.len() - body.at < 4).then_some(ParticipantEntitiesInfo { gid, node_entities_info_seq: nodes })
}

/// Reader of a message body.
struct Body<'a> {
    bytes: &'a [u8],
    at: usize,
    little: bool,
    width: usize,
}

impl<'a> Body<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(len)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.at = self.at.next_multiple_of(4);
        let bytes = self.take(4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn text(&mut self) -> Option<String> {
        let len = self.u32()? as usize;
        let bytes = self.take(len)?;
        Some(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned())
    }

    fn gid(&mut self) -> Option<Gid> {
        let data = self.take(self.width)?.first_chunk::<NEW>()?;
        Some(Gid { data: *data })
    }

    fn gids(&mut self) -> Option<Vec<Gid>> {
        let count = self.u32()? as usize;
        // Each takes bytes of the message. So a large count allocates no more than the message's length.
        (0..count).map(|_| self.gid()).collect()
    }

    fn node(&mut self) -> Option<NodeEntitiesInfo> {
        Some(NodeEntitiesInfo {
            node_namespace: self.text()?,
            node_name: self.text()?,
            reader_gid_seq: self.gids()?,
            writer_gid_seq: self.gids()?,
        })
    }
}

/// Appends a message in the encoding from before Iron, with its encapsulation header.
pub(super) fn encode_pre_iron(announcement: &ParticipantEntitiesInfo, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 1, 0, 0]);
    let start = out.len();
    put_gid(&announcement.gid, out);
    put_count(announcement.node_entities_info_seq.len(), start, out);
    for node in &announcement.node_entities_info_seq {
        for text in [&node.node_namespace, &node.node_name] {
            put_count(text.len() + 1, start, out);
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        for gids in [&node.reader_gid_seq, &node.writer_gid_seq] {
            put_count(gids.len(), start, out);
            gids.iter().for_each(|gid| put_gid(gid, out));
        }
    }
}

fn put_gid(gid: &Gid, out: &mut Vec<u8>) {
    out.extend_from_slice(&gid.data);
    out.extend_from_slice(&[0; OLD - NEW]);
}

fn put_count(count: usize, start: usize, out: &mut Vec<u8>) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::wire::{Encoding, cdr};

    fn gid(number: u8) -> Gid {
        Gid { data: [number; 16] }
    }

    fn announcement() -> ParticipantEntitiesInfo {
        let node = |name: &str, readers: &[u8], writers: &[u8]| NodeEntitiesInfo {
            node_namespace: "/".into(),
            node_name: name.into(),
            reader_gid_seq: readers.iter().map(|number| gid(*number)).collect(),
            writer_gid_seq: writers.iter().map(|number| gid(*number)).collect(),
        };
        let nodes = vec![node("talker", &[], &[2, 3]), node("ear", &[4], &[])];
        ParticipantEntitiesInfo { gid: gid(1), node_entities_info_seq: nodes }
    }

    /// CDR of one node `/n` with one writer, by the definition of Humble (`uint8[24] data`).
    fn humble() -> Vec<u8> {
        let mut bytes = vec![0, 1, 0, 0];
        bytes.extend([[7; 16].as_slice(), &[0; 8]].concat());
        bytes.extend([1, 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, b'/', 0, 0, 0]);
        bytes.extend([2, 0, 0, 0, b'n', 0, 0, 0]);
        bytes.extend([0, 0, 0, 0]);
        bytes.extend([1, 0, 0, 0]);
        bytes.extend([[8; 16].as_slice(), &[0; 8]].concat());
        bytes
    }

    #[test]
    fn humble_announcement_round_trips() {
        let (decoded, length) = decode(&humble()).unwrap();
        assert_eq!(length, 24);
        assert_eq!((decoded.gid.data, decoded.node_entities_info_seq.len()), ([7; 16], 1));
        let node = &decoded.node_entities_info_seq[0];
        assert_eq!((node.node_namespace.as_str(), node.node_name.as_str()), ("/", "n"));
        assert!(node.reader_gid_seq.is_empty() && node.writer_gid_seq == [gid(8)]);
        let mut out = vec![];
        encode_pre_iron(&decoded, &mut out);
        assert_eq!(out, humble());
    }

    #[test]
    fn both_encodings_are_distinguished() {
        let empty = ParticipantEntitiesInfo { gid: gid(1), ..Default::default() };
        for announcement in [announcement(), empty] {
            let new = cdr::encode(&announcement, Encoding::Xcdr1).unwrap();
            let mut old = vec![];
            encode_pre_iron(&announcement, &mut old);
            assert!(new.len() < old.len());
            let expected = (Some((announcement.clone(), 16)), Some((announcement, 24)));
            assert_eq!((decode(&new), decode(&old)), expected);
        }
    }

    #[test]
    fn big_endian_announcement_is_decoded() {
        let mut bytes = vec![0, 0, 0, 0];
        bytes.extend([9; 16]);
        bytes.extend([0; 4]);
        assert_eq!(decode(&bytes).unwrap().0.gid, gid(9));
        bytes[0] = 7;
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn message_in_neither_encoding_is_refused() {
        let whole = humble();
        // With 24 to 27 bytes it has the newer encoding and no nodes.
        for len in (0..24).chain(28..whole.len()) {
            assert_eq!(decode(&whole[..len]), None, "{len} bytes");
        }
        assert_eq!(decode(&[whole.as_slice(), &[0; 8]].concat()), None);
        let mut endless = whole;
        endless[28..32].copy_from_slice(&[0xff; 4]);
        assert_eq!(decode(&endless), None);
    }
}
