//! Pacing of fragments, so that a receiver's socket buffer does not overflow.

use core::time::Duration;
use runnel_core::time::Instant;

/// Token bucket: sends a burst immediately, and then at a steady rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    rate: Rate,
    /// When the receiver will have read all sent bytes, at that rate.
    free: Instant,
}

/// Rate at which a receiver reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Bytes of a burst.
    pub burst: u64,
}

impl Rate {
    /// Creates a rate with a burst of 20 ms: at least one datagram, and at most the default size of socket buffers.
    pub fn steady(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, burst: (bytes_per_second / 50).clamp(1_444, 64_000) }
    }

    fn time_of(self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Pacer {
    pub fn new(rate: Rate) -> Self {
        Self { rate, free: Instant(0) }
    }

    /// Returns when the next datagram may be sent, if not now.
    pub fn not_before(&self, now: Instant) -> Option<Instant> {
        let slack = self.rate.time_of(self.rate.burst);
        if self.free <= now + slack { None } else { Some(now + self.free.since(now + slack)) }
    }

    /// Records that a datagram was sent.
    pub fn note_sent(&mut self, now: Instant, bytes: usize) {
        self.free = self.free.max(now) + self.rate.time_of(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { bytes_per_second: 1_000_000, burst: 2000 };

    #[test]
    fn burst_is_immediate_and_rest_paced() {
        let mut pacer = Pacer::new(RATE);
        let mut now = Instant(5_000_000);
        let begin = now;
        for _ in 0..100 {
            if let Some(at) = pacer.not_before(now) {
                assert!(at > now);
                now = at;
            }
            pacer.note_sent(now, 1000);
        }
        let elapsed = now.since(begin);
        assert!(elapsed >= Duration::from_millis(97) && elapsed <= Duration::from_millis(99), "{elapsed:?}");
    }

    #[test]
    fn silence_accumulates_at_most_one_burst() {
        let mut pacer = Pacer::new(RATE);
        let now = Instant(3_600_000_000_000);
        for _ in 0..3 {
            assert_eq!(pacer.not_before(now), None);
            pacer.note_sent(now, 1000);
        }
        assert!(pacer.not_before(now).is_some());
    }
}
