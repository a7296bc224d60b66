//! Protocol violations of a publisher on a shared link.

use core::fmt;

/// Maximum number of unsent statements: a publisher can provoke answers without end.
pub(super) const MAX_UNSENT: usize = 4096;

/// Protocol violation of a publisher.
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
                write!(f, "it does not read the answers to more than {MAX_UNSENT} statements")
            }
            Self::SubscriberStatement => f.write_str("it sent a statement that only subscribers send"),
        }
    }
}

impl core::error::Error for PublisherFault {}
