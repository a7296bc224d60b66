//! Records and packets of an IPC connection.
//!
//! Samples have the same numbers as on the network: in ROS 2 those of RTPS, on a ROS 1 link those that both ends
//! count. For a handover, the two ends of a pair exchange the statements of `runnel_delivery`.
//!
//! The link of a service keeps its byte stream when it switches from its TCP connection to a channel. `Open` has the
//! number of bytes sent on the connection, which the bytes in the ring follow. So a handover to the channel or back
//! neither loses nor duplicates bytes, at any place in the stream.

use runnel_delivery::{STATEMENT_BYTES, Statement, StatementError};

use super::ring::Record;

/// Words of a statement.
pub(crate) const STATEMENT_WORDS: usize = STATEMENT_BYTES / 8;

/// Kinds of records. The sender chooses the number of a channel.
pub(crate) mod kind {
    /// Bytes of a stream, or of a sample that has begun.
    pub(crate) const BYTES: u8 = 2;
    /// The peer may send what the link of this token carries on this IPC connection: words (token low, high).
    pub(crate) const ASK: u8 = 4;
    /// The service link of this token uses this channel from here on: words (token low, high, bytes of the stream sent
    /// before).
    pub(crate) const OPEN: u8 = 5;
    /// The channel is closed; its number can be reused.
    pub(crate) const CLOSE: u8 = 6;
    /// The segment has ended, and its memory can be unmapped: words (its number).
    pub(crate) const FORGET: u8 = 7;
    /// The pair of this token uses this channel from here on: words (token low, high, number of the first sample that
    /// is not known to have arrived over the network), and a Begin (`runnel_delivery::Statement`).
    pub(crate) const OPEN_SAMPLES: u8 = 8;
    /// A complete sample: a word (its number), and the message.
    pub(crate) const SAMPLE: u8 = 9;
    /// A complete sample in a slot: words (its number, segment and loan, slot and length).
    pub(crate) const SAMPLE_SLOT: u8 = 10;
    /// The first bytes of a sample that continues in `BYTES`: words (its number, its length), and the bytes.
    pub(crate) const SAMPLE_BEGIN: u8 = 11;
    /// The peer may send the samples of the ROS 2 pair of this token on this IPC connection: words (token low, high, 1
    /// if the writer is to wait for the reader's user and else 0).
    pub(crate) const ASK_SAMPLES: u8 = 12;
    /// For the pair of this token: words (token low, high), and a Reached.
    pub(crate) const REACHED: u8 = 13;
    /// For the pair of this channel: a Skip.
    pub(crate) const SKIP: u8 = 14;
}

impl Record {
    /// True for a complete sample.
    pub(crate) fn is_sample(&self) -> bool {
        self.kind == kind::SAMPLE
    }

    /// True for a record that continues a stream or a sample.
    pub(crate) fn is_continuation(&self) -> bool {
        self.kind == kind::BYTES
    }
}

/// A lent slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lending {
    /// The number of the segment, in order of announcement from 0.
    pub(crate) segment: u32,
    /// Identifies the loan when the slot is released.
    pub(crate) loan: u32,
    pub(crate) slot: u32,
    /// Length of the message in bytes.
    pub(crate) len: u32,
}

impl Lending {
    pub(crate) fn to_words(self) -> [u64; 2] {
        [
            u64::from(self.segment) << 32 | u64::from(self.loan),
            u64::from(self.slot) << 32 | u64::from(self.len),
        ]
    }

    pub(crate) fn from_words([first, second]: [u64; 2]) -> Self {
        let (segment, loan) = ((first >> 32) as u32, first as u32);
        Self { segment, loan, slot: (second >> 32) as u32, len: second as u32 }
    }
}

/// Splits a token into words.
pub(crate) fn token_words(token: u128) -> [u64; 2] {
    [token as u64, (token >> 64) as u64]
}

/// Joins a token from words.
pub(crate) fn token([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Parses a statement from words.
pub(crate) fn statement(words: [u64; STATEMENT_WORDS]) -> Result<Statement, StatementError> {
    Statement::parse(&bytes(words))
}

/// The bytes of words in a record.
pub(crate) fn bytes<const N: usize>(words: [u64; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Handshake: the first packet of either end. Its descriptors are the sender's page, its outbox for this connection,
/// and the ringing end of its doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The sender's process id on this host, as a random number.
    pub(crate) from: u128,
    /// The receiver's.
    pub(crate) to: u128,
}

/// First bytes of a hello in all versions of Runnel. The version and `from` follow.
const GREETING: &[u8; 15] = b"runnel session ";

/// Changes with the layout of memory or records.
const VERSION: u8 = b'5';

/// Why a first packet is not a valid hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHello {
    /// The hello of another version of Runnel, from this process.
    OtherVersion { from: u128 },
    /// Not sent by Runnel.
    Unknown,
}

impl Hello {
    pub(crate) const LEN: usize = 48;

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..15].copy_from_slice(GREETING);
        bytes[15] = VERSION;
        bytes[16..32].copy_from_slice(&self.from.to_le_bytes());
        bytes[32..].copy_from_slice(&self.to.to_le_bytes());
        bytes
    }

    /// Parses a packet, or the first bytes of a longer one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, NoHello> {
        let rest = bytes.strip_prefix(GREETING).ok_or(NoHello::Unknown)?;
        let (version, rest) = rest.split_first().ok_or(NoHello::Unknown)?;
        let (from, to) = rest.split_first_chunk().ok_or(NoHello::Unknown)?;
        let from = u128::from_le_bytes(*from);
        if *version != VERSION {
            return Err(NoHello::OtherVersion { from });
        }
        let to = to.try_into().map_err(|_| NoHello::Unknown)?;
        Ok(Self { from, to: u128::from_le_bytes(to) })
    }
}

/// A later packet: announces a segment, whose descriptor comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentAnnouncement {
    /// Its number, counted from 0.
    pub(crate) segment: u64,
    pub(crate) slot_bytes: u64,
    pub(crate) slots: u64,
}

impl SegmentAnnouncement {
    pub(crate) const LEN: usize = 24;

    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let words = [self.segment, self.slot_bytes, self.slots];
        bytes
            .chunks_exact_mut(8)
            .zip(words)
            .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let [segment, slot_bytes, slots] = words else { return None };
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Some(Self { segment: word(segment), slot_bytes: word(slot_bytes), slots: word(slots) })
    }
}
