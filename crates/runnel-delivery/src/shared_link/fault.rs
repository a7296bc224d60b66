//! What a publisher must not do on a shared link.

use core::fmt;

/// Statements that wait to be sent at most: a publisher can provoke answers without end.
pub(super) const MOST_WAITING: usize = 4096;

/// How the publisher violates the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PublisherFault {
    /// The epoch is too far beyond the last one.
    EpochLeap(u32),
    /// It provokes answers that it does not read.
    TooManyAnswers,
    /// It made a statement that only a subscriber makes.
    SubscriberStatement,
}

impl fmt::Display for PublisherFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EpochLeap(epoch) => write!(f, "epoch {epoch} is not plausible"),
            Self::TooManyAnswers => {
                write!(f, "more than {MOST_WAITING} of its statements wait for an answer")
            }
            Self::SubscriberStatement => f.write_str("it made a statement that is a subscriber's to make"),
        }
    }
}

impl core::error::Error for PublisherFault {}
