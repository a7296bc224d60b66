//! The last messages of publishers that give them to late subscribers.

use super::origin::Publisher;
use crate::bag::last_messages::{LastMessages, Limits};

/// Limits of what is kept.
const LIMITS: Limits = Limits { messages: 4096, bytes: 64 << 20 };

/// The last messages of each such publisher, as a `T`, by the position of the topic.
pub type Latched<T> = LastMessages<(usize, Publisher), T>;

/// Without messages.
pub fn latched<T>() -> Latched<T> {
    LastMessages::new(LIMITS)
}
