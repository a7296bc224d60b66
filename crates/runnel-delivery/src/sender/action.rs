//! What a sender is made with, which state it is in, what it asks its owner to do and what it refuses.

use core::fmt;

use crate::limits::Credit;
use crate::path::PathId;
use crate::send_queue::{Numbered, QueuePolicy};
use crate::statement::{Statement, StreamId};

/// What a sender is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SenderOptions {
    /// The stream and the subscription.
    pub id: StreamId,
    /// Number of the first message: the next one, or for a late joiner the oldest kept one that both depths allow.
    pub first: u64,
    /// What happens to messages that wait.
    pub policy: QueuePolicy,
    /// Most bytes that wait.
    pub max_bytes: usize,
    /// What the receiver may have to hold during a change of path.
    pub credit: Credit,
}

/// By which path messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SenderState {
    /// No path is up. The next one begins at `from`.
    Waiting {
        /// The first message that the subscriber may not have.
        from: u64,
    },
    /// Messages go by one path, without limit and without statements.
    Active {
        /// That path.
        path: PathId,
    },
    /// Messages go by a new path within the credit, until the subscriber has all before `from`.
    Draining {
        /// The new path.
        path: PathId,
        /// The first message of the new path.
        from: u64,
    },
    /// One of the two paths carries no statements, so the old one must be empty before the new one begins. Nothing is sent
    /// until [`Sender::path_empty`](super::Sender::path_empty). The old path may be dead.
    Emptying {
        /// The old path.
        path: PathId,
        /// The new path.
        to: PathId,
    },
}

impl SenderState {
    /// The path by which messages go, or went last.
    pub fn path(self) -> Option<PathId> {
        match self {
            Self::Waiting { .. } => None,
            Self::Active { path } | Self::Draining { path, .. } | Self::Emptying { path, .. } => Some(path),
        }
    }
}

/// What the owner of a sender has to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SendAction<M> {
    /// Write this Begin to the path, before the messages that follow; also to one that takes no messages for now.
    Begin {
        /// Where.
        path: PathId,
        /// What.
        statement: Statement,
    },
    /// State in order on the path that none of these is still to come by it: the statement, or RTPS's GAP for those of
    /// `from..to` that the writer does not hold for this reader.
    Skip {
        /// Where.
        path: PathId,
        /// The first number meant.
        from: u64,
        /// The number after the last one meant.
        to: u64,
        /// The same as a statement.
        statement: Statement,
    },
    /// Send this message. A path that takes no more after it calls [`Sender::path_blocked`](super::Sender::path_blocked).
    Send {
        /// Where.
        path: PathId,
        /// The message.
        message: Numbered<M>,
    },
    /// The pair has left this path, which is known here no longer.
    Close {
        /// The path.
        path: PathId,
    },
}

/// Why a message was not published.
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

/// How the subscriber's Reached is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReachedError {
    /// It names an epoch that this sender has not begun.
    UnknownEpoch(u32),
    /// It claims messages that are not published yet.
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
