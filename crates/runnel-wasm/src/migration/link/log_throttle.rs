//! A limit on log lines that strangers cause. Time is an argument.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(10);

/// Lines in each window.
const LINES: u32 = 10;

/// Counts log lines.
#[derive(Debug)]
pub struct LogThrottle {
    window: Instant,
    lines: u32,
}

impl LogThrottle {
    pub fn new(now: Instant) -> Self {
        Self { window: now, lines: 0 }
    }

    /// Whether a line may be logged, and how many were not since the last one that was.
    pub fn admit(&mut self, now: Instant) -> Option<u32> {
        let mut suppressed = 0;
        if now >= self.window + WINDOW {
            suppressed = self.lines.saturating_sub(LINES);
            *self = Self::new(now);
        }
        self.lines = self.lines.saturating_add(1);
        (self.lines <= LINES).then_some(suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_window_are_limited_and_the_others_counted() {
        let start = Instant::now();
        let mut throttle = LogThrottle::new(start);
        let admitted = (0..25).filter(|_| throttle.admit(start).is_some()).count();
        assert_eq!(admitted, 10);
        assert_eq!(throttle.admit(start + WINDOW), Some(15));
        assert_eq!(throttle.admit(start + WINDOW), Some(0));
    }
}
