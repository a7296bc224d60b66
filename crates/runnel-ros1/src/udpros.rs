//! UDPROS framing: a message travels as a row of datagrams, each led by this header (little-endian).
//!
//! ```text
//!  0               4       5       6               8
//! +---------------+-------+-------+---------------+-------------
//! | link          | op    | id    | block         | part of the message
//! +---------------+-------+-------+---------------+-------------
//! ```
//! - `link`: the number that the publisher gave the link in its answer to `requestTopic`.
//! - `op`: 0 for the first datagram of a message, 1 for each that follows; others carry no part of a message.
//! - `id`: of the message; counts up by one for each and begins again after 255.
//! - `block`: in the first datagram how many the message has, in the others their index, from 1.
//!
//! The parts put together are the message as in TCPROS, its length before it. Nothing is acknowledged or sent again.
//! A datagram is at most as long as both ends agreed in `requestTopic`: that length holds this header, but not those
//! of UDP and IP.
//!
//! Source: what roscpp sends, and the names in its `transport_udp.h`.
//!
//! Any bytes may be given to [`Reassembler::take`]: it never panics, and holds one message at most, of which it
//! reserves only what has arrived.

use std::fmt;

use crate::tcpros::{AcceptedLength, FrameReader, IncompleteFrame, LENGTH, length_of};
use runnel_core::bounds::MAX_MESSAGE;

/// Bytes of the header.
pub const HEADER: usize = 8;

/// Longest datagram that we ask publishers for over IPv4, in bytes. With the headers of UDP and IPv4 it fills one
/// Ethernet packet; roscpp's 1500 makes two of it, and the loss of either loses both.
pub const DATAGRAM: usize = 1472;

/// The same over IPv6, whose header is longer.
pub const DATAGRAM_IPV6: usize = 1452;

/// Shortest limit of a datagram that we keep to; a subscriber that takes less is refused. Every packet costs the
/// publisher a system call, so that a subscriber could make it work many times as hard as its messages are worth.
pub const SHORTEST: usize = 512;

/// Longest datagram that UDP over IPv4 can carry, in bytes.
pub const LONGEST: usize = 65_507;

/// A message this little older than the last one was overtaken by it on the way; one that is older still has more
/// likely come after so many that were lost.
const OVERTAKEN: u8 = 4;

/// What leads a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The link's number.
    pub link: u32,
    /// What the datagram is.
    pub op: Op,
    /// The message's number.
    pub id: u8,
    /// How many datagrams, or which.
    pub block: u16,
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The first of a message.
    First,
    /// One that follows.
    Following,
    /// Nothing that carries messages: roscpp knows 2 as a ping and 3 as an error, and sends neither.
    Other(u8),
}

impl DatagramHeader {
    /// The header of a datagram and what follows it; `None` if the datagram is shorter than a header.
    pub fn parse(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (header, part) = datagram.split_first_chunk::<HEADER>()?;
        let [l0, l1, l2, l3, op, id, b0, b1] = *header;
        let op = match op {
            0 => Op::First,
            1 => Op::Following,
            other => Op::Other(other),
        };
        let (link, block) = (u32::from_le_bytes([l0, l1, l2, l3]), u16::from_le_bytes([b0, b1]));
        Some((Self { link, op, id, block }, part))
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; HEADER] {
        let [l0, l1, l2, l3] = self.link.to_le_bytes();
        let [b0, b1] = self.block.to_le_bytes();
        let op = match self.op {
            Op::First => 0,
            Op::Following => 1,
            Op::Other(other) => other,
        };
        [l0, l1, l2, l3, op, self.id, b0, b1]
    }
}

/// A message needs more datagrams than can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of the message, its length included.
    pub bytes: usize,
    /// Bytes that the link can carry at once.
    pub limit: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes are more than the {} that datagrams can carry", self.bytes, self.limit)
    }
}

impl std::error::Error for TooLong {}

/// Cuts the messages of one link into datagrams.
#[derive(Debug)]
pub struct Fragmenter {
    link: u32,
    /// Bytes of a message in one datagram.
    room: usize,
    id: u8,
}

impl Fragmenter {
    /// For the link of this number and datagrams of at most `longest` bytes, which counts as no less than [`SHORTEST`]
    /// and no more than [`LONGEST`].
    pub fn new(link: u32, longest: usize) -> Self {
        Self { link, room: longest.clamp(SHORTEST, LONGEST) - HEADER, id: 0 }
    }

    /// The datagrams of the next message: each a header and a part. Behind the header of the first is the message's length.
    ///
    /// # Errors
    /// When it is too long. It takes a number all the same, so that the subscriber can count its loss.
    pub fn cut<'a>(
        &mut self,
        message: &'a [u8],
    ) -> Result<impl Iterator<Item = (DatagramHead, &'a [u8])> + use<'a>, TooLong> {
        self.id = self.id.wrapping_add(1);
        let (link, id) = (self.link, self.id);
        let limit = self.room * usize::from(u16::MAX);
        let bytes = LENGTH + message.len();
        let Ok(blocks) = u16::try_from(bytes.div_ceil(self.room)) else {
            return Err(TooLong { bytes, limit });
        };
        let (first, rest) = message.split_at(message.len().min(self.room - LENGTH));
        let length = length_of(message);
        let header = move |(block, part)| {
            let head = match block {
                0 => DatagramHead::first(DatagramHeader { link, op: Op::First, id, block: blocks }, length),
                _ => DatagramHead::following(DatagramHeader { link, op: Op::Following, id, block }),
            };
            (head, part)
        };
        let parts = std::iter::once(first).chain(rest.chunks(self.room));
        Ok((0..=u16::MAX).zip(parts).map(header))
    }
}

/// What goes before the part of a message in a datagram: the header, and in the first one the message's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    bytes: [u8; HEADER + LENGTH],
    len: usize,
}

impl DatagramHead {
    fn first(header: DatagramHeader, length: [u8; LENGTH]) -> Self {
        let mut head = Self::following(header);
        head.bytes[HEADER..].copy_from_slice(&length);
        head.len += LENGTH;
        head
    }

    fn following(header: DatagramHeader) -> Self {
        let mut bytes = [0; HEADER + LENGTH];
        bytes[..HEADER].copy_from_slice(&header.emit());
        Self { bytes, len: HEADER }
    }
}

impl AsRef<[u8]> for DatagramHead {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// What came of a datagram.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The message that it completed, without its length.
    pub message: Option<Vec<u8>>,
    /// Messages that are known by now not to arrive whole.
    pub lost: u64,
}

/// Puts the messages of one link together from datagrams.
#[derive(Debug)]
pub struct Reassembler {
    link: u32,
    accepted: AcceptedLength,
    /// The number of the last message that began to arrive.
    last: Option<u8>,
    under_way: Option<UnderWay>,
    /// Messages that began to arrive.
    begun: u64,
}

/// A message that has arrived in part.
#[derive(Debug)]
struct UnderWay {
    blocks: u16,
    /// The index of the datagram that comes next.
    next: u16,
    reader: FrameReader,
}

impl Reassembler {
    /// For the link of this number; what has another is passed over.
    pub fn new(link: u32) -> Self {
        Self { link, accepted: AcceptedLength::AtMost(MAX_MESSAGE), last: None, under_way: None, begun: 0 }
    }

    /// The same, which drops messages of other lengths.
    #[must_use]
    pub fn accepting(self, accepted: AcceptedLength) -> Self {
        Self { accepted, ..self }
    }

    /// The message of which some datagrams have not arrived.
    pub fn incomplete(&self) -> Option<IncompleteFrame> {
        self.under_way.as_ref()?.reader.incomplete().map(|frame| IncompleteFrame {
            // The reader is another for each message.
            number: self.begun,
            ..frame
        })
    }

    /// Gives up the message of which some datagrams have not arrived; how many that were.
    pub fn abandon(&mut self) -> u64 {
        u64::from(self.under_way.take().is_some())
    }

    /// Takes one datagram. `spare` is asked for a buffer to use again when a message begins; what it holds does not
    /// matter.
    pub fn take(&mut self, datagram: &[u8], spare: impl FnOnce() -> Vec<u8>) -> Taken {
        match DatagramHeader::parse(datagram) {
            Some((header, part)) if header.link == self.link => match header.op {
                Op::First => self.begin(header, part, spare),
                Op::Following => self.follow(header, part),
                Op::Other(_) => Taken::default(),
            },
            _ => Taken::default(),
        }
    }

    fn begin(&mut self, header: DatagramHeader, part: &[u8], spare: impl FnOnce() -> Vec<u8>) -> Taken {
        let passed = self.last.map_or(1, |last| header.id.wrapping_sub(last));
        // Here already, or counted as lost already.
        if passed == 0 || passed > u8::MAX - OVERTAKEN {
            return Taken::default();
        }
        let lost = u64::from(passed - 1) + self.abandon();
        self.last = Some(header.id);
        if header.block == 0 {
            return Taken { message: None, lost: lost + 1 };
        }
        let reader = FrameReader::accepting(self.accepted);
        self.under_way = Some(UnderWay { blocks: header.block, next: 0, reader });
        self.begun += 1;
        let taken = self.append(part, spare);
        Taken { lost: lost + taken.lost, ..taken }
    }

    fn follow(&mut self, header: DatagramHeader, part: &[u8]) -> Taken {
        let Some(under_way) = &self.under_way else { return Taken::default() };
        if self.last != Some(header.id) {
            // Of one before, or of one whose first datagram is lost: its loss shows when the next begins.
            return Taken::default();
        }
        if header.block == under_way.next {
            return self.append(part, Vec::new);
        }
        // The network may double a datagram.
        let doubled = header.block.checked_add(1) == Some(under_way.next);
        Taken { message: None, lost: if doubled { 0 } else { self.abandon() } }
    }

    /// Adds a part to the message under way, whose length must be that of all its parts together.
    fn append(&mut self, mut part: &[u8], spare: impl FnOnce() -> Vec<u8>) -> Taken {
        let Some(under_way) = &mut self.under_way else { return Taken::default() };
        under_way.next += 1;
        let is_last = under_way.next == under_way.blocks;
        let read = under_way.reader.take(&mut part, spare);
        let whole = matches!(read, Ok(Some(_))) && part.is_empty();
        match read {
            Ok(message @ Some(_)) if is_last && whole => {
                self.under_way = None;
                Taken { message, lost: 0 }
            }
            Ok(None) if !is_last => Taken::default(),
            _ => Taken { message: None, lost: self.abandon() },
        }
    }
}

#[cfg(test)]
mod tests;
