//! What a receiver asks its owner to do, and what it says of messages.

use core::fmt;

use crate::path::PathId;
use crate::statement::Statement;

/// What the owner of a receiver has to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReceiveAction<M> {
    /// Give this message to the subscription.
    Deliver {
        /// Its number, or `None` if it came by a path without numbers.
        number: Option<u64>,
        /// The message.
        message: M,
    },
    /// These messages will not come. What follows is after them.
    Lost {
        /// The number of the first, as far as it is known.
        from: u64,
        /// How many.
        count: u64,
    },
    /// Write this Reached to a path, this one if it still works.
    Reached {
        /// The path with the newest Begin, if it is up.
        path: Option<PathId>,
        /// What.
        statement: Statement,
    },
    /// Read all that has arrived by this path and give it to the receiver, then call [`Receiver::path_drained`](super::Receiver::path_drained). A path that
    /// loses or delays messages is given up to 100 ms before that; one of this host needs no wait.
    DrainPath {
        /// The path.
        path: PathId,
    },
    /// The pair has left this path, which is known here no longer.
    Close {
        /// The path.
        path: PathId,
    },
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accepted {
    /// It is delivered or held. RTPS may acknowledge it.
    Taken,
    /// The subscription has it, or it was counted as lost. RTPS may acknowledge it.
    Duplicate,
    /// It is discarded: it lies beyond the credit, the bytes are used up, or another path is to bring it. RTPS must not
    /// acknowledge it, so that it comes again.
    Discarded,
}

/// How the publisher's end misbehaves. What it sent is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReceiveError {
    /// The path is not known, or is down.
    UnknownPath(PathId),
    /// The epoch is 0 or too far beyond the last one.
    EpochLeap(u32),
    /// The number is 0 or beyond [`MAX_NUMBER`](crate::MAX_NUMBER).
    NumberOutOfRange(u64),
    /// The number is too far beyond what came before.
    NumberLeap(u64),
    /// More changes of path are under way than one pair can have.
    TooManyChanges,
    /// More bytes came during a change of path than the credit allows. The message is discarded.
    CreditExceeded(u64),
    /// A message without number came by a path that has numbers, or the other way round.
    WrongNumbering(PathId),
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPath(path) => write!(f, "path {} is not up", path.0),
            Self::EpochLeap(epoch) => write!(f, "epoch {epoch} is not plausible"),
            Self::NumberOutOfRange(number) => write!(f, "message number {number} is out of range"),
            Self::NumberLeap(number) => write!(f, "message number {number} is not plausible"),
            Self::TooManyChanges => f.write_str("too many changes of path at a time"),
            Self::CreditExceeded(number) => write!(f, "message {number} exceeds the credit"),
            Self::WrongNumbering(path) => write!(f, "path {} is used with and without numbers", path.0),
        }
    }
}

impl core::error::Error for ReceiveError {}
