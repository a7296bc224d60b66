//! When a bag is full, and when a recording is complete.

use std::time::Duration;

/// Limits of a recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Length of a bag in bytes.
    pub size: Option<u64>,
    /// Time from the first message of a bag to its last.
    pub duration: Option<Duration>,
    /// Whether another bag follows a full one. Otherwise the recording ends.
    pub split: bool,
    /// Messages of each topic.
    pub messages: Option<u64>,
}

impl Limits {
    /// Whether a bag of this length, whose first message came at `start`, is full at `now`. Times are in nanoseconds.
    pub fn is_full(&self, len: u64, start: Option<u64>, now: u64) -> bool {
        let elapsed = start.map_or(0, |start| now.saturating_sub(start));
        let is_long = self.duration.is_some_and(|limit| u128::from(elapsed) >= limit.as_nanos());
        self.size.is_some_and(|limit| len >= limit) || is_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bag_is_full_by_size_or_time() {
        let limits =
            Limits { size: Some(100), duration: Some(Duration::from_nanos(10)), ..Limits::default() };
        assert!(!limits.is_full(99, Some(5), 14));
        assert!(limits.is_full(100, Some(5), 14));
        assert!(limits.is_full(99, Some(5), 15));
        assert!(!limits.is_full(99, None, 1000), "a bag without messages has no time");
        assert!(!Limits::default().is_full(u64::MAX, Some(0), u64::MAX));
    }
}
