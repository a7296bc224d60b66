//! UDPROS framing: a message is sent as a series of datagrams, each with this header (little-endian).
//!
//! ```text
//!  0               4       5       6               8
//! +---------------+-------+-------+---------------+-------------
//! | link          | op    | id    | block         | part of the message
//! +---------------+-------+-------+---------------+-------------
//! ```
//! - `link`: the connection id that the publisher gave the link in its answer to `requestTopic`.
//! - `op`: DATA0 (0) for the first datagram of a message, DATAN (1) for the others; other values carry no data.
//! - `id`: of the message. It grows by one with each message and wraps after 255.
//! - `block`: in DATA0 the number of datagrams of the message, in DATAN the index of the datagram, from 1.
//!
//! The parts together are the message as in TCPROS, with its length before it. Nothing is acknowledged or
//! retransmitted. Both ends agree on the longest datagram in `requestTopic`; it includes this header, but not those
//! of UDP and IP.
//!
//! Source: datagrams of roscpp, and the names in its `transport_udp.h`.
//!
//! [`Reassembler::take`] accepts any bytes and never panics. It holds at most one message, and reserves memory only
//! for received bytes.

use std::fmt;

use crate::tcpros::{AcceptedLength, FrameReader, IncompleteFrame, LENGTH, length_prefix};
use runnel_core::bounds::MAX_MESSAGE;

/// Bytes of the header.
pub const HEADER_LEN: usize = 8;

/// Longest datagram that a subscription requests over IPv4, in bytes. With the headers of UDP and IPv4 it fills one
/// Ethernet packet. roscpp's 1500 needs two, and the loss of either loses both.
pub const DATAGRAM_LEN_IPV4: usize = 1472;

/// Longest datagram that a subscription requests over IPv6, whose header is longer.
pub const DATAGRAM_LEN_IPV6: usize = 1452;

/// Shortest datagram limit that a publisher accepts from a subscriber. Every packet costs the publisher a system
/// call, so that a smaller limit would let a subscriber multiply its work.
pub const MIN_DATAGRAM_LEN: usize = 512;

/// Longest datagram that UDP over IPv4 can carry, in bytes.
pub const MAX_DATAGRAM_LEN: usize = 65_507;

/// Ids up to this much older than the newest count as late arrivals of the network. A still older id is more likely
/// that of a new message after many lost ones.
const REORDER_WINDOW: u8 = 4;

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The connection id of the link.
    pub link: u32,
    /// The kind of datagram.
    pub op: Op,
    /// The id of the message.
    pub id: u8,
    /// The number of datagrams, or the index of this one.
    pub block: u16,
}

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// DATA0: the first of a message.
    Data0,
    /// DATAN: a later one.
    DataN,
    /// A kind without data: roscpp defines 2 as a ping and 3 as an error, and sends neither.
    Other(u8),
}

impl DatagramHeader {
    /// Splits a datagram into its header and its part of the message; `None` if it is shorter than a header.
    pub fn parse(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, part) = datagram.split_first_chunk::<HEADER_LEN>()?;
        let [l0, l1, l2, l3, op, id, b0, b1] = *header;
        let op = match op {
            0 => Op::Data0,
            1 => Op::DataN,
            other => Op::Other(other),
        };
        let (link, block) = (u32::from_le_bytes([l0, l1, l2, l3]), u16::from_le_bytes([b0, b1]));
        Some((Self { link, op, id, block }, part))
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let [l0, l1, l2, l3] = self.link.to_le_bytes();
        let [b0, b1] = self.block.to_le_bytes();
        let op = match self.op {
            Op::Data0 => 0,
            Op::DataN => 1,
            Op::Other(other) => other,
        };
        [l0, l1, l2, l3, op, self.id, b0, b1]
    }
}

/// A message needs more datagrams than `block` can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the message, its length included.
    pub bytes: usize,
    /// Bytes that the link can carry in one message.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "message of {} bytes exceeds the {} that UDPROS can carry with this datagram size",
            self.bytes, self.limit
        )
    }
}

impl std::error::Error for TooLong {}

/// Fragments the messages of one link into datagrams.
#[derive(Debug)]
pub struct Fragmenter {
    link: u32,
    /// Bytes of a message in one datagram.
    payload_len: usize,
    id: u8,
}

impl Fragmenter {
    /// A fragmenter for the link with this connection id and datagrams of at most `longest` bytes, clamped to
    /// [`MIN_DATAGRAM_LEN`] and [`MAX_DATAGRAM_LEN`].
    pub fn new(link: u32, longest: usize) -> Self {
        Self { link, payload_len: longest.clamp(MIN_DATAGRAM_LEN, MAX_DATAGRAM_LEN) - HEADER_LEN, id: 0 }
    }

    /// The datagrams of the next message, each a header and a part. The message's length follows the header of the
    /// first.
    ///
    /// # Errors
    /// If the message is too long. It uses up an id all the same, so that the subscriber can count the loss.
    pub fn fragment<'a>(
        &mut self,
        message: &'a [u8],
    ) -> Result<impl Iterator<Item = (DatagramHead, &'a [u8])> + use<'a>, TooLong> {
        self.id = self.id.wrapping_add(1);
        let (link, id) = (self.link, self.id);
        let limit = self.payload_len * usize::from(u16::MAX);
        let bytes = LENGTH + message.len();
        let Ok(blocks) = u16::try_from(bytes.div_ceil(self.payload_len)) else {
            return Err(TooLong { bytes, limit });
        };
        let (first, rest) = message.split_at(message.len().min(self.payload_len - LENGTH));
        let length = length_prefix(message);
        let header = move |(block, part)| {
            let head = match block {
                0 => DatagramHead::first(DatagramHeader { link, op: Op::Data0, id, block: blocks }, length),
                _ => DatagramHead::following(DatagramHeader { link, op: Op::DataN, id, block }),
            };
            (head, part)
        };
        let parts = std::iter::once(first).chain(rest.chunks(self.payload_len));
        Ok((0..=u16::MAX).zip(parts).map(header))
    }
}

/// The bytes before a datagram's part of the message: the header, and in the first one the message's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    bytes: [u8; HEADER_LEN + LENGTH],
    len: usize,
}

impl DatagramHead {
    fn first(header: DatagramHeader, length: [u8; LENGTH]) -> Self {
        let mut head = Self::following(header);
        head.bytes[HEADER_LEN..].copy_from_slice(&length);
        head.len += LENGTH;
        head
    }

    fn following(header: DatagramHeader) -> Self {
        let mut bytes = [0; HEADER_LEN + LENGTH];
        bytes[..HEADER_LEN].copy_from_slice(&header.emit());
        Self { bytes, len: HEADER_LEN }
    }
}

impl AsRef<[u8]> for DatagramHead {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Result of one datagram.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakeResult {
    /// The message that it completed, without its length.
    pub message: Option<Vec<u8>>,
    /// Messages that this datagram shows to be lost.
    pub lost: u64,
}

/// Reassembles the messages of one link from datagrams.
#[derive(Debug)]
pub struct Reassembler {
    link: u32,
    accepted: AcceptedLength,
    /// The id of the newest message.
    last: Option<u8>,
    partial: Option<PartialMessage>,
    /// Messages of which the first datagram arrived.
    started_count: u64,
}

/// A partly received message.
#[derive(Debug)]
struct PartialMessage {
    blocks: u16,
    /// The index of the next datagram.
    next: u16,
    reader: FrameReader,
}

impl Reassembler {
    /// A reassembler for the link with this connection id; datagrams with another are ignored.
    pub fn new(link: u32) -> Self {
        Self {
            link,
            accepted: AcceptedLength::AtMost(MAX_MESSAGE),
            last: None,
            partial: None,
            started_count: 0,
        }
    }

    /// Drops messages of other lengths.
    #[must_use]
    pub fn with_accepted_length(self, accepted: AcceptedLength) -> Self {
        Self { accepted, ..self }
    }

    /// The partly received message.
    pub fn incomplete(&self) -> Option<IncompleteFrame> {
        self.partial.as_ref()?.reader.incomplete().map(|frame| IncompleteFrame {
            // The reader is replaced with each message.
            number: self.started_count,
            ..frame
        })
    }

    /// Drops the partly received message; returns the number of messages dropped, 0 or 1.
    pub fn abandon(&mut self) -> u64 {
        u64::from(self.partial.take().is_some())
    }

    /// Processes one datagram. `spare` supplies a buffer to reuse when a message begins; its content does not matter.
    pub fn take(&mut self, datagram: &[u8], spare: impl FnOnce() -> Vec<u8>) -> TakeResult {
        match DatagramHeader::parse(datagram) {
            Some((header, part)) if header.link == self.link => match header.op {
                Op::Data0 => self.begin_message(header, part, spare),
                Op::DataN => self.continue_message(header, part),
                Op::Other(_) => TakeResult::default(),
            },
            _ => TakeResult::default(),
        }
    }

    fn begin_message(
        &mut self,
        header: DatagramHeader,
        part: &[u8],
        spare: impl FnOnce() -> Vec<u8>,
    ) -> TakeResult {
        let passed = self.last.map_or(1, |last| header.id.wrapping_sub(last));
        // Already received, or already counted as lost.
        if passed == 0 || passed > u8::MAX - REORDER_WINDOW {
            return TakeResult::default();
        }
        let lost = u64::from(passed - 1) + self.abandon();
        self.last = Some(header.id);
        if header.block == 0 {
            return TakeResult { message: None, lost: lost + 1 };
        }
        let reader = FrameReader::with_accepted_length(self.accepted);
        self.partial = Some(PartialMessage { blocks: header.block, next: 0, reader });
        self.started_count += 1;
        let taken = self.append(part, spare);
        TakeResult { lost: lost + taken.lost, ..taken }
    }

    fn continue_message(&mut self, header: DatagramHeader, part: &[u8]) -> TakeResult {
        let Some(partial) = &self.partial else { return TakeResult::default() };
        if self.last != Some(header.id) {
            // It belongs to an older message, or to one whose first datagram was lost: the next message reveals that
            // loss.
            return TakeResult::default();
        }
        if header.block == partial.next {
            return self.append(part, Vec::new);
        }
        // The network may duplicate a datagram.
        let is_duplicate = header.block.checked_add(1) == Some(partial.next);
        TakeResult { message: None, lost: if is_duplicate { 0 } else { self.abandon() } }
    }

    /// Adds a part to the current message. The message's length must equal the sum of its parts.
    fn append(&mut self, mut part: &[u8], spare: impl FnOnce() -> Vec<u8>) -> TakeResult {
        let Some(partial) = &mut self.partial else { return TakeResult::default() };
        partial.next += 1;
        let is_last = partial.next == partial.blocks;
        let read = partial.reader.take(&mut part, spare);
        let whole = matches!(read, Ok(Some(_))) && part.is_empty();
        match read {
            Ok(message @ Some(_)) if is_last && whole => {
                self.partial = None;
                TakeResult { message, lost: 0 }
            }
            Ok(None) if !is_last => TakeResult::default(),
            _ => TakeResult { message: None, lost: self.abandon() },
        }
    }
}

#[cfg(test)]
mod tests;
