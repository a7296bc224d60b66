//! The newest messages, in memory: what a snapshot writes.

use std::collections::VecDeque;
use std::time::Duration;

use super::arrival::OwnedContent;
use super::origin::Origin;

/// Bytes that a message takes besides its data, roughly: empty messages are not free.
const OVERHEAD: usize = size_of::<Remembered>();

/// Limits of the messages in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes of all messages.
    pub bytes: usize,
    /// Age of the oldest message.
    pub duration: Option<Duration>,
}

/// A message in memory.
#[derive(Debug)]
pub struct Remembered {
    /// Where it belongs.
    pub origin: Origin,
    /// The message.
    pub content: OwnedContent,
}

/// The messages within the limits, in the order of their arrival.
#[derive(Debug)]
pub struct MemoryRing {
    limits: MemoryLimits,
    messages: VecDeque<Remembered>,
    bytes: usize,
}

impl Remembered {
    fn len(&self) -> usize {
        self.content.len() + OVERHEAD
    }
}

impl MemoryRing {
    /// An empty one.
    pub fn new(limits: MemoryLimits) -> Self {
        Self { limits, messages: VecDeque::new(), bytes: 0 }
    }

    /// Whether a message of this length fits at all.
    pub fn fits(&self, len: usize) -> bool {
        len.saturating_add(OVERHEAD) <= self.limits.bytes
    }

    /// Adds a message.
    pub fn push(&mut self, message: Remembered) {
        self.bytes += message.len();
        self.messages.push_back(message);
    }

    /// Takes the oldest message if it is beyond the limits at `now`, in nanoseconds since 1970.
    pub fn pop_excess(&mut self, now: u64) -> Option<Remembered> {
        let oldest = self.messages.front()?;
        let age = u128::from(now.saturating_sub(oldest.content.view().log_time));
        let is_old = self.limits.duration.is_some_and(|limit| age > limit.as_nanos());
        if !is_old && self.bytes <= self.limits.bytes {
            return None;
        }
        let oldest = self.messages.pop_front()?;
        self.bytes -= oldest.len();
        Some(oldest)
    }

    /// Takes all messages.
    pub fn take(&mut self) -> VecDeque<Remembered> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::record::sink::arrival::Content;

    fn remembered(log_time: u64, data: &[u8]) -> Remembered {
        let content = Content { log_time, publish_time: log_time, sequence: 0, data: data.into() };
        let origin = Origin { topic: 0, channel: 0, latched_by: None };
        Remembered { origin, content: content.to_owned().expect("memory") }
    }

    fn excess(ring: &mut MemoryRing, now: u64) -> Vec<u64> {
        let popped = std::iter::from_fn(|| ring.pop_excess(now));
        popped.map(|message| message.content.view().log_time).collect()
    }

    #[test]
    fn oldest_messages_beyond_the_bytes_are_popped() {
        let mut ring = MemoryRing::new(MemoryLimits { bytes: 3 * (OVERHEAD + 10), duration: None });
        (1..=5).for_each(|time| ring.push(remembered(time, &[0; 10])));
        assert_eq!(excess(&mut ring, 5), [1, 2]);
        assert_eq!(ring.take().len(), 3);
        assert_eq!(ring.bytes, 0);
        assert!(ring.fits(3 * 10 + 2 * OVERHEAD) && !ring.fits(3 * 10 + 2 * OVERHEAD + 1));
    }

    #[test]
    fn messages_that_are_too_old_are_popped() {
        let limits = MemoryLimits { bytes: 1 << 20, duration: Some(Duration::from_nanos(10)) };
        let mut ring = MemoryRing::new(limits);
        (1..=5).for_each(|time| ring.push(remembered(time, b"x")));
        assert_eq!(excess(&mut ring, 12), [1]);
        assert_eq!(excess(&mut ring, 14), [2, 3]);
        assert_eq!(ring.take().len(), 2);
    }
}
