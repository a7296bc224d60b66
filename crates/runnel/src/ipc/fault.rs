//! What the process at the other end of a session does that ends it.

use std::{fmt, io};

use runnel_delivery::{ReachedError, ReceiveError, StatementError};
use runnel_ros1::tcpros::FrameError;

use super::ring::BadRecord;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum SessionFault {
    /// Its ring holds what no writer of ours could have written.
    Record(BadRecord),
    /// It wrote a record of a kind that there is not.
    UnknownKind(u8),
    /// It wrote a record of a length that its kind does not have.
    RecordLength {
        kind: u8,
        len: u32,
    },
    /// It wrote a sample that is too short for its number.
    SampleWithoutNumber {
        len: u32,
    },
    /// It wrote a sample where another is not whole.
    SampleWithinSample,
    /// It wrote a sample whose number cannot be the next.
    SampleOutOfOrder {
        number: u64,
        next: u64,
    },
    /// The length that it wrote before a sample is not accepted.
    SampleLength(FrameError),
    /// It wrote more bytes of a sample than its length says.
    SampleTooLong,
    /// It opened a channel beyond those that there may be.
    ChannelBeyondLimit(u32),
    /// It opened a channel for samples beyond those that there may be, or from a number on that none can have.
    SampleChannel {
        channel: u32,
        first: u64,
    },
    /// It wrote a statement that is none, or of a kind that does not belong there.
    Statement(StatementError),
    UnexpectedStatement,
    /// What it wrote of a pair does not fit together.
    Delivery(ReceiveError),
    /// It told how far a reader is that cannot be there.
    Reached(ReachedError),
    /// It lent a slot of a segment that it has not given.
    UnknownSegment,
    /// It lent a slot that its segment does not have.
    UnknownSlot,
    /// It lent more slots than it may.
    TooManyLoans,
    /// There is no memory for a copy of what it lent.
    NoMemory {
        len: usize,
    },
    /// Its packet was longer than any, or a descriptor was lost.
    PacketTruncated,
    /// Its packet is none of a session's.
    UnknownPacket,
    /// What it gave as a segment is no memory.
    SegmentNoMemory,
    /// It gave segments out of order.
    SegmentsOutOfOrder,
    /// It gave more segments than have a number.
    TooManySegments,
    /// It gave a segment that no memory could hold.
    SegmentTooLong,
    /// Its socket cannot be read.
    Socket(io::Error),
}

impl From<BadRecord> for SessionFault {
    fn from(bad: BadRecord) -> Self {
        Self::Record(bad)
    }
}

impl fmt::Display for SessionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(bad) => write!(f, "it {bad}"),
            Self::UnknownKind(kind) => write!(f, "it wrote a record of kind {kind}"),
            Self::RecordLength { kind, len } => {
                write!(f, "it wrote a record of kind {kind} with {len} bytes")
            }
            Self::SampleWithoutNumber { len } => {
                write!(f, "it wrote a sample of {len} bytes, without a number")
            }
            Self::SampleWithinSample => f.write_str("it put a sample into the middle of another"),
            Self::SampleOutOfOrder { number, next } => {
                write!(f, "it wrote sample {number} where sample {next} was to come")
            }
            Self::SampleLength(error) => error.fmt(f),
            Self::SampleTooLong => f.write_str("it wrote more of a sample than there is"),
            Self::ChannelBeyondLimit(channel) => write!(f, "it opened channel {channel}"),
            Self::SampleChannel { channel, first } => {
                write!(f, "it opened channel {channel} for sample {first}")
            }
            Self::Statement(error) => error.fmt(f),
            Self::UnexpectedStatement => f.write_str("it wrote a statement where another one belongs"),
            Self::Delivery(error) => error.fmt(f),
            Self::Reached(error) => error.fmt(f),
            Self::UnknownSegment => f.write_str("it lent a slot of a segment that it has not given"),
            Self::UnknownSlot => f.write_str("it lent a slot that its segment does not have"),
            Self::TooManyLoans => f.write_str("it lent more slots than it may"),
            Self::NoMemory { len } => {
                write!(f, "there is no memory for a copy of a message of {len} bytes that it lent")
            }
            Self::PacketTruncated => f.write_str("a packet was too long, or its descriptor did not arrive"),
            Self::UnknownPacket => f.write_str("it sent a packet that is none of a session's"),
            Self::SegmentNoMemory => f.write_str("it gave a segment that is no memory"),
            Self::SegmentsOutOfOrder => f.write_str("it gave segments out of order"),
            Self::TooManySegments => f.write_str("it gave too many segments"),
            Self::SegmentTooLong => f.write_str("it gave a segment that no memory could hold"),
            Self::Socket(error) => error.fmt(f),
        }
    }
}
