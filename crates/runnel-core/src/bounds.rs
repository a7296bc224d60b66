//! Limits of message length and of queued bytes, in both generations.

use core::error::Error;
use core::fmt;

/// Longest message that is accepted, in bytes; roscpp's limit as well.
pub const MAX_MESSAGE: usize = 1_000_000_000;

/// A length that was announced is longer than is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthBeyondLimit {
    /// Bytes announced.
    pub claimed: usize,
    /// Bytes accepted.
    pub limit: usize,
}

impl LengthBeyondLimit {
    /// Passes a length that is accepted.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(claimed: usize, limit: usize) -> Result<(), Self> {
        if claimed > limit { Err(Self { claimed, limit }) } else { Ok(()) }
    }
}

impl fmt::Display for LengthBeyondLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a length of {} bytes was announced, at most {} are accepted", self.claimed, self.limit)
    }
}

impl Error for LengthBeyondLimit {}

/// Bounds of a queue for a slow peer or callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Messages.
    pub messages: usize,
    /// Bytes; one message is always held, however long.
    pub bytes: usize,
}

impl QueueBound {
    /// The larger of both bounds.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { messages: self.messages.max(other.messages), bytes: self.bytes.max(other.bytes) }
    }
}
