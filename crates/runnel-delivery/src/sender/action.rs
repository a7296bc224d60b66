//! Options, states, actions and errors of a sender.

use core::fmt;

use crate::limits::Credit;
use crate::path::PathId;
use crate::send_queue::{Numbered, QueuePolicy};
use crate::statement::{Statement, StreamId};

/// Options of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderOptions {
    /// The stream and the subscription.
    pub id: StreamId,
    /// Number of the first message: the next one, or for a late joiner the oldest kept one that both depths allow.
    pub first: u64,
    /// Policy of the send queue.
    pub policy: QueuePolicy,
    /// Maximum bytes in the send queue.
    pub max_bytes: usize,
    /// Capacity of the receiver during a change of path.
    pub credit: Credit,
}

/// State of a sender: which path carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SenderState {
    /// No path is up. The next one begins at `from`.
    Waiting {
        /// The first message that the subscriber may not have.
        from: u64,
    },
    /// One path carries messages, without limit and without statements.
    Active {
        /// The path.
        path: PathId,
    },
    /// A new path carries messages within the credit, until the subscriber has all before `from`.
    Draining {
        /// The new path.
        path: PathId,
        /// The first message of the new path.
        from: u64,
    },
    /// One of the two paths has no statements, so the old one must be empty before the new one begins. Nothing is sent
    /// until [`Sender::path_empty`](super::Sender::path_empty). The old path may be dead.
    Emptying {
        /// The old path.
        path: PathId,
        /// The new path.
        to: PathId,
    },
}

impl SenderState {
    /// Returns the path that carries messages, or carried the last one.
    pub fn path(self) -> Option<PathId> {
        match self {
            Self::Waiting { .. } => None,
            Self::Active { path } | Self::Draining { path, .. } | Self::Emptying { path, .. } => Some(path),
        }
    }
}

/// Action for the owner of a sender.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SendAction<M> {
    /// Write this Begin to the path, before the messages that follow, even if the path is blocked.
    Begin {
        /// The path.
        path: PathId,
        /// The statement.
        statement: Statement,
    },
    /// State in order on the path that none of `from..to` follows on it: by the statement, or by an RTPS GAP for the
    /// numbers that the writer does not hold for this reader.
    Skip {
        /// The path.
        path: PathId,
        /// The first skipped number.
        from: u64,
        /// The number after the last skipped one.
        to: u64,
        /// The equivalent statement.
        statement: Statement,
    },
    /// Send this message. If the path takes no more after it, call
    /// [`Sender::path_blocked`](super::Sender::path_blocked).
    Send {
        /// The path.
        path: PathId,
        /// The message.
        message: Numbered<M>,
    },
    /// The pair has left this path; the sender has forgotten it.
    Close {
        /// The path.
        path: PathId,
    },
}

/// Reason why a message was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PublishError {
    /// The queue is full and keeps all: the publisher has to wait.
    Full,
    /// The number is not above the last one, or is beyond [`MAX_NUMBER`](crate::MAX_NUMBER).
    NumberOutOfOrder(u64),
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the subscriber's queue is full"),
            Self::NumberOutOfOrder(number) => write!(f, "message number {number} is out of order"),
        }
    }
}

impl core::error::Error for PublishError {}

/// Error of a subscriber's Reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReachedError {
    /// It names an epoch that this sender has not begun.
    UnknownEpoch(u32),
    /// It claims messages that are not yet published.
    NotPublished(u64),
}

impl fmt::Display for ReachedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownEpoch(epoch) => write!(f, "Reached names epoch {epoch}, which has not begun"),
            Self::NotPublished(next) => write!(f, "Reached claims messages before {next}, not all published"),
        }
    }
}

impl core::error::Error for ReachedError {}
