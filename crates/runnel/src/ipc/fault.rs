//! Faults of the process at the other end of an IPC connection, which end the connection.

use std::{fmt, io};

use runnel_delivery::{ReachedError, ReceiveError, StatementError};
use runnel_ros1::tcpros::FrameError;

use super::ring::BadRecord;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) enum IpcFault {
    /// Its ring contains what no correct writer writes.
    Record(BadRecord),
    /// It wrote a record of an unknown kind.
    UnknownKind(u8),
    /// It wrote a record whose length does not fit its kind.
    RecordLength {
        kind: u8,
        len: u32,
    },
    /// It wrote a sample that is too short for its number.
    SampleWithoutNumber {
        len: u32,
    },
    /// It wrote a sample before the previous one was complete.
    SampleWithinSample,
    /// It wrote a sample whose number cannot be the next.
    SampleOutOfOrder {
        number: u64,
        next: u64,
    },
    /// The length prefix of a sample is not accepted.
    SampleLength(FrameError),
    /// It wrote more bytes of a sample than its length prefix says.
    SampleTooLong,
    /// It opened a channel whose number exceeds the limit.
    ChannelBeyondLimit(u32),
    /// It opened a sample channel whose number exceeds the limit, or with an impossible first sample number.
    SampleChannel {
        channel: u32,
        first: u64,
    },
    /// It wrote an invalid statement, or one of a kind that does not belong there.
    Statement(StatementError),
    UnexpectedStatement,
    /// Its statements about a pair contradict each other.
    Delivery(ReceiveError),
    /// It reported an impossible reader position.
    Reached(ReachedError),
    /// It lent a slot of a segment that it has not announced.
    UnknownSegment,
    /// It lent a slot that its segment does not have.
    UnknownSlot,
    /// It lent more slots than the limit.
    TooManyLoans,
    /// There is no memory for a copy of a message that it lent.
    NoMemory {
        len: usize,
    },
    /// A packet was too long, or its descriptor was lost.
    PacketTruncated,
    /// It sent a packet of an unknown form.
    UnknownPacket,
    /// The descriptor of a segment is not valid memory.
    SegmentNoMemory,
    /// It announced segments out of order.
    SegmentsOutOfOrder,
    /// It announced more segments than there are numbers.
    TooManySegments,
    /// It announced a segment longer than the address space.
    SegmentTooLong,
    /// Its socket cannot be read.
    Socket(io::Error),
}

impl From<BadRecord> for IpcFault {
    fn from(bad: BadRecord) -> Self {
        Self::Record(bad)
    }
}

impl fmt::Display for IpcFault {
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
            Self::SampleWithinSample => f.write_str("it began a sample before the previous one was complete"),
            Self::SampleOutOfOrder { number, next } => {
                write!(f, "it wrote sample {number} instead of sample {next}")
            }
            Self::SampleLength(error) => error.fmt(f),
            Self::SampleTooLong => f.write_str("it wrote more of a sample than its length prefix says"),
            Self::ChannelBeyondLimit(channel) => write!(f, "it opened channel {channel}, beyond the limit"),
            Self::SampleChannel { channel, first } => {
                write!(f, "it opened channel {channel} with the invalid first sample {first}")
            }
            Self::Statement(error) => error.fmt(f),
            Self::UnexpectedStatement => {
                f.write_str("it wrote a statement of a kind that is not allowed there")
            }
            Self::Delivery(error) => error.fmt(f),
            Self::Reached(error) => error.fmt(f),
            Self::UnknownSegment => f.write_str("it lent a slot of a segment that it has not announced"),
            Self::UnknownSlot => f.write_str("it lent a slot that its segment does not have"),
            Self::TooManyLoans => f.write_str("it lent more slots than the limit"),
            Self::NoMemory { len } => {
                write!(f, "there is no memory for a copy of a message of {len} bytes that it lent")
            }
            Self::PacketTruncated => f.write_str("a packet was too long, or its descriptor did not arrive"),
            Self::UnknownPacket => f.write_str("it sent a packet of an unknown form"),
            Self::SegmentNoMemory => f.write_str("it announced a segment that is not valid memory"),
            Self::SegmentsOutOfOrder => f.write_str("it announced segments out of order"),
            Self::TooManySegments => f.write_str("it announced too many segments"),
            Self::SegmentTooLong => f.write_str("it announced a segment longer than the address space"),
            Self::Socket(error) => error.fmt(f),
        }
    }
}
