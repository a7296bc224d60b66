//! Statements: the messages of the delivery protocol about paths and numbers, and their bytes.
//!
//! A statement is 24 bytes, little-endian:
//! ```text
//! 0      1          2              4        8         16        24
//! ┌──────┬──────────┬──────────────┬────────┬─────────┬─────────┐
//! │ kind │ flags    │ subscription │ epoch  │ stream  │ number  │
//! │ u8   │ u8       │ u16          │ u32    │ u64     │ u64     │
//! └──────┴──────────┴──────────────┴────────┴─────────┴─────────┘
//! ```
//! In a TCPROS connection it follows the length `0xFFFFFFFF`, which no message has. In shared memory it is a record of
//! its own, in RTPS the body of a vendor-specific datagram. Parsing never panics, for any bytes.

use core::fmt;

use crate::limits::MAX_NUMBER;

/// Bytes of a statement.
pub const STATEMENT_BYTES: usize = 24;

/// Length that marks a statement in a TCPROS connection.
pub const FRAME_MARK: u32 = u32::MAX;

/// Bytes of a statement with its length in a TCPROS connection.
pub const FRAME_BYTES: usize = 4 + STATEMENT_BYTES;

const BEGIN: u8 = 1;
const SKIP: u8 = 2;
const REACHED: u8 = 3;
const NUMBER: u8 = 4;
const LEAVE: u8 = 5;
const ASK: u8 = 6;
const RETURN: u8 = 7;
const STANDBY: u8 = 8;
const NEEDED: u8 = 9;
const RESENT: u8 = 10;

/// Flag of a Begin. The other flags are 0 and ignored.
const SETTLED: u8 = 1;

/// Subject of a statement: a stream and a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Random number of one writer group of a publication.
    pub stream: u64,
    /// Index of the subscription on a shared link; 0 if the link has one.
    pub subscription: u16,
}

/// Statement of the delivery protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// From the publisher: the path that carries this Begin carries messages from `from` on.
    Begin {
        /// Stream and subscription.
        id: StreamId,
        /// Epoch of the change of path, from 1 ascending.
        epoch: u32,
        /// Number of the first message.
        from: u64,
        /// No path still carries an earlier message: the path before had no numbers.
        is_settled: bool,
    },
    /// From the publisher, in order with the messages of the path: no message below `to` follows on it.
    Skip {
        /// Stream and subscription.
        id: StreamId,
        /// Number of the first message that may still follow.
        to: u64,
    },
    /// From the subscriber, by any path: all messages before `next` are delivered or counted as lost.
    Reached {
        /// Stream and subscription.
        id: StreamId,
        /// The greatest epoch of which a Begin has arrived.
        epoch: u32,
        /// Number of the next message due.
        next: u64,
    },
    /// From the publisher, on a path that counts messages: the next one has this number. It changes no position. On a
    /// link that several subscriptions share, it names the writer of the messages that follow.
    Number {
        /// Stream and subscription.
        id: StreamId,
        /// Number of the next message.
        next: u64,
    },
    /// From the publisher, in order with the messages of a shared link: no later message on the link is for this pair.
    /// Another path carries the messages from `from` on after the subscriber has answered with a Reached of this epoch.
    Leave {
        /// The pair.
        id: StreamId,
        /// Epoch of the change on this link, ascending.
        epoch: u32,
        /// Number of the first message on the other path.
        from: u64,
    },
    /// From the subscriber: the pair is matched here and can leave the shared link.
    Ask {
        /// The pair.
        id: StreamId,
    },
    /// From the subscriber: the pair is no longer matched here and needs the shared link.
    Return {
        /// The pair.
        id: StreamId,
    },
    /// From the subscriber: no subscription needs the messages of this writer on the shared link, as of this epoch.
    Standby {
        /// The writer.
        id: StreamId,
        /// The greatest epoch of which a statement has arrived.
        epoch: u32,
    },
    /// From the subscriber: a subscription needs the messages of this writer on the shared link.
    Needed {
        /// The writer.
        id: StreamId,
    },
    /// From the publisher, in order with the messages of a shared link: RTPS has lost the pair. The messages of the
    /// link from `at` on, up to the next Resent or Begin, are those that RTPS may not have delivered, and only for this
    /// pair.
    Resent {
        /// The pair.
        id: StreamId,
        /// Low 32 bits of the number of the first of them on the link.
        at: u32,
        /// RTPS number of the first of them. The others follow consecutively.
        number: u64,
    },
}

/// Reason why bytes are not a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementError {
    /// The length is not [`STATEMENT_BYTES`], or [`FRAME_BYTES`] in a frame.
    Length(usize),
    /// The frame begins with this length instead of [`FRAME_MARK`].
    NotMarked(u32),
    /// The kind is unknown. A later release may have written it; it can be ignored.
    UnknownKind(u8),
    /// The number is 0 or beyond [`MAX_NUMBER`].
    NumberOutOfRange(u64),
    /// The epoch is 0.
    NoEpoch,
}

impl fmt::Display for StatementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => write!(f, "statement has {bytes} bytes"),
            Self::NotMarked(length) => write!(f, "frame of length {length} is no statement"),
            Self::UnknownKind(kind) => write!(f, "statement has unknown kind {kind}"),
            Self::NumberOutOfRange(number) => write!(f, "statement has message number {number}"),
            Self::NoEpoch => write!(f, "statement has epoch 0"),
        }
    }
}

impl core::error::Error for StatementError {}

impl Statement {
    /// Returns the subject of the statement.
    pub fn id(&self) -> StreamId {
        match *self {
            Self::Begin { id, .. }
            | Self::Skip { id, .. }
            | Self::Reached { id, .. }
            | Self::Number { id, .. }
            | Self::Leave { id, .. }
            | Self::Ask { id }
            | Self::Return { id }
            | Self::Standby { id, .. }
            | Self::Needed { id }
            | Self::Resent { id, .. } => id,
        }
    }

    /// Encodes the statement.
    pub fn encode(&self) -> [u8; STATEMENT_BYTES] {
        let (kind, epoch, number) = match *self {
            Self::Begin { epoch, from, .. } => (BEGIN, epoch, from),
            Self::Skip { to, .. } => (SKIP, 0, to),
            Self::Reached { epoch, next, .. } => (REACHED, epoch, next),
            Self::Number { next, .. } => (NUMBER, 0, next),
            Self::Leave { epoch, from, .. } => (LEAVE, epoch, from),
            // No number is 0.
            Self::Ask { .. } => (ASK, 0, 1),
            Self::Return { .. } => (RETURN, 0, 1),
            Self::Standby { epoch, .. } => (STANDBY, epoch, 1),
            Self::Needed { .. } => (NEEDED, 0, 1),
            Self::Resent { at, number, .. } => (RESENT, at, number),
        };
        let StreamId { stream, subscription } = self.id();
        let mut bytes = [0; STATEMENT_BYTES];
        bytes[0] = kind;
        bytes[1] = if matches!(self, Self::Begin { is_settled: true, .. }) { SETTLED } else { 0 };
        bytes[2..4].copy_from_slice(&subscription.to_le_bytes());
        bytes[4..8].copy_from_slice(&epoch.to_le_bytes());
        bytes[8..16].copy_from_slice(&stream.to_le_bytes());
        bytes[16..24].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// Encodes the statement with its length, for a TCPROS connection.
    pub fn encode_frame(&self) -> [u8; FRAME_BYTES] {
        let mut bytes = [0; FRAME_BYTES];
        bytes[..4].copy_from_slice(&FRAME_MARK.to_le_bytes());
        bytes[4..].copy_from_slice(&self.encode());
        bytes
    }

    /// Parses the 24 bytes of a statement.
    ///
    /// # Errors
    /// The bytes are not a statement.
    pub fn parse(bytes: &[u8]) -> Result<Self, StatementError> {
        let bytes: &[u8; STATEMENT_BYTES] =
            bytes.try_into().map_err(|_| StatementError::Length(bytes.len()))?;
        let [kind, flags, s0, s1, e0, e1, e2, e3, rest @ ..] = *bytes;
        let [t0, t1, t2, t3, t4, t5, t6, t7, number @ ..] = rest;
        let stream = u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let id = StreamId { stream, subscription: u16::from_le_bytes([s0, s1]) };
        let epoch = u32::from_le_bytes([e0, e1, e2, e3]);
        let number = u64::from_le_bytes(number);
        let statement = match kind {
            BEGIN => Self::Begin { id, epoch, from: number, is_settled: flags & SETTLED != 0 },
            SKIP => Self::Skip { id, to: number },
            REACHED => Self::Reached { id, epoch, next: number },
            NUMBER => Self::Number { id, next: number },
            LEAVE => Self::Leave { id, epoch, from: number },
            ASK => Self::Ask { id },
            RETURN => Self::Return { id },
            STANDBY => Self::Standby { id, epoch },
            NEEDED => Self::Needed { id },
            RESENT => Self::Resent { id, at: epoch, number },
            _ => return Err(StatementError::UnknownKind(kind)),
        };
        if number == 0 || number > MAX_NUMBER {
            return Err(StatementError::NumberOutOfRange(number));
        }
        if epoch == 0 && matches!(kind, BEGIN | REACHED | LEAVE | STANDBY) {
            return Err(StatementError::NoEpoch);
        }
        Ok(statement)
    }

    /// Parses a frame of a TCPROS connection, including its length.
    ///
    /// # Errors
    /// The bytes are not a statement.
    pub fn parse_frame(bytes: &[u8]) -> Result<Self, StatementError> {
        let (mark, body) = bytes.split_first_chunk::<4>().ok_or(StatementError::Length(bytes.len()))?;
        let mark = u32::from_le_bytes(*mark);
        if mark != FRAME_MARK {
            return Err(StatementError::NotMarked(mark));
        }
        if body.len() != STATEMENT_BYTES {
            return Err(StatementError::Length(bytes.len()));
        }
        Self::parse(body)
    }
}
