//! Actions that a receiver requests from its owner, and its verdicts on messages.

use core::fmt;

use crate::path::PathId;
use crate::statement::Statement;

/// Action for the owner of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReceiveAction<M> {
    /// Pass this message to the subscription.
    Deliver {
        /// Number of the message, or `None` if its path has no numbers.
        number: Option<u64>,
        /// The message.
        message: M,
    },
    /// These messages will not arrive. Messages after them follow.
    Lost {
        /// Number of the first, if it is known.
        from: u64,
        /// Number of lost messages.
        count: u64,
    },
    /// Write this Reached to a path, preferably to this one.
    Reached {
        /// The path with the newest Begin, if it is up.
        path: Option<PathId>,
        /// The statement.
        statement: Statement,
    },
    /// Read all messages that have arrived on this path and pass them to the receiver, then call
    /// [`Receiver::path_drained`](super::Receiver::path_drained). A path that loses or delays messages gets up to 100
    /// ms before that; a path within this host needs no wait.
    DrainPath {
        /// The path.
        path: PathId,
    },
    /// The pair has left this path; the receiver has forgotten it.
    Close {
        /// The path.
        path: PathId,
    },
}

/// Verdict on a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accepted {
    /// The message is delivered or held. RTPS may acknowledge it.
    Taken,
    /// The subscription has the message, or it was counted as lost. RTPS may acknowledge it.
    Duplicate,
    /// The message is discarded: it is beyond the credit in number or bytes, or another path will carry it. RTPS must
    /// not acknowledge it, so that the writer sends it again.
    Discarded,
}

/// Protocol violation of the publisher's end. The statement or message is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReceiveError {
    /// The path is not known, or is down.
    UnknownPath(PathId),
    /// The epoch is 0 or too far beyond the last one.
    EpochLeap(u32),
    /// The number is 0 or beyond [`MAX_NUMBER`](crate::MAX_NUMBER).
    NumberOutOfRange(u64),
    /// The number is too far beyond earlier ones.
    NumberLeap(u64),
    /// More changes of path are pending than one pair can have.
    TooManyChanges,
    /// More bytes arrived during a change of path than the credit allows. The message is discarded.
    CreditExceeded(u64),
    /// A message without a number arrived on a path with numbers, or the reverse.
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
