//! What the records of a session are, and its packets.
//!
//! Samples have numbers, which they bear here as they do on the network: those of the ROS 2 graph by RTPS, those of a link of ROS
//! 1 as both ends count them. What the two ends of such a pair say of the change from one path to the other are the statements of
//! `runnel_delivery`.
//!
//! The link of a service keeps its own stream of bytes when it goes over from its connection to a channel: `Open` says how many
//! bytes of it went over the connection, and what is in the ring follows these. So nothing is lost or comes twice, wherever in
//! it that happens, and nothing when it goes back.

use runnel_delivery::{STATEMENT_BYTES, Statement, StatementError};

use super::ring::Record;

/// Words of a statement.
pub(crate) const STATEMENT_WORDS: usize = STATEMENT_BYTES / 8;

/// Kinds of records. A channel is a number that whoever sends on it has chosen.
pub(crate) mod kind {
    /// Bytes of a stream, or of a sample that has begun.
    pub(crate) const BYTES: u8 = 2;
    /// What the link of this token carries to us may come by this session: words (token low, high).
    pub(crate) const ASK: u8 = 4;
    /// From here on the link of a service comes by this channel: words (token low, high, bytes of the stream that went before).
    pub(crate) const OPEN: u8 = 5;
    /// Nothing more comes by this channel; its number may be used again.
    pub(crate) const CLOSE: u8 = 6;
    /// Nothing more comes by this segment, whose memory is given back: words (its number).
    pub(crate) const FORGET: u8 = 7;
    /// From here on a pair comes by this channel: words (token low, high, number of the first sample that is not known to have
    /// arrived by the network), and a Begin (`runnel_delivery::Statement`).
    pub(crate) const OPEN_SAMPLES: u8 = 8;
    /// A whole sample: a word (its number), and the message.
    pub(crate) const SAMPLE: u8 = 9;
    /// A whole sample in a slot: words (its number, segment and loan, slot and length).
    pub(crate) const SAMPLE_SLOT: u8 = 10;
    /// The first bytes of a sample that goes on in `BYTES`: words (its number, its length), and then these.
    pub(crate) const SAMPLE_BEGIN: u8 = 11;
    /// The samples of the pair of the ROS 2 graph of this token may come by this session: words (token low, high, 1 if the writer is to wait for
    /// the reader's user and else 0).
    pub(crate) const ASK_SAMPLES: u8 = 12;
    /// Of the pair of this token: words (token low, high), and a Reached.
    pub(crate) const REACHED: u8 = 13;
    /// Of the pair of this channel: a Skip.
    pub(crate) const SKIP: u8 = 14;
}

impl Record {
    /// True if it is a whole sample.
    pub(crate) fn is_sample(&self) -> bool {
        self.kind == kind::SAMPLE
    }

    /// True if it continues a stream, or a sample that began in an earlier record.
    pub(crate) fn is_continuation(&self) -> bool {
        self.kind == kind::BYTES
    }
}

/// A slot that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lending {
    /// Which of the segments that the peer was given, counted from 0.
    pub(crate) segment: u32,
    /// By which it is given back.
    pub(crate) loan: u32,
    pub(crate) slot: u32,
    /// Bytes that count.
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

/// A token in words.
pub(crate) fn token_words(token: u128) -> [u64; 2] {
    [token as u64, (token >> 64) as u64]
}

/// The token in words.
pub(crate) fn token([low, high]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// The statement in words.
pub(crate) fn statement(words: [u64; STATEMENT_WORDS]) -> Result<Statement, StatementError> {
    Statement::parse(&bytes(words))
}

/// Words as the bytes of a record.
pub(crate) fn bytes<const N: usize>(words: [u64; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The first packet of either end. With it come the descriptors of the sender's page, its outbox for this session and
/// the end of its doorbell that rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Who says it.
    pub(crate) from: u128,
    /// To whom.
    pub(crate) to: u128,
}

/// What a hello begins with, in all versions of Runnel. Behind it comes the version, and then who says it.
const GREETING: &[u8; 15] = b"runnel session ";

/// Another for another layout of memory or records.
const VERSION: u8 = b'5';

/// What a first packet is that is no hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHello {
    /// The hello of another version of Runnel: that of this process.
    OtherVersion { from: u128 },
    /// Nothing that Runnel sends.
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

    /// What a packet says, or the first bytes of one that is longer.
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

/// A later packet: a segment, whose descriptor comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gift {
    /// Which, counted from 0.
    pub(crate) segment: u64,
    pub(crate) slot_bytes: u64,
    pub(crate) slots: u64,
}

impl Gift {
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
