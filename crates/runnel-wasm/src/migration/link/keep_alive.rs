//! When a link sends keep-alives, and when its peer counts as dead. Time is an argument.

use std::time::{Duration, Instant};

/// The keep-alives of one link.
#[derive(Debug)]
pub struct KeepAlive {
    interval: Duration,
    silence: Duration,
    next_ping: Instant,
    last_received: Instant,
    /// The number of the last keep-alive, and when it was sent, until it returns.
    unanswered: Option<(u64, Instant)>,
    last_number: u64,
}

impl KeepAlive {
    /// The first keep-alive is sent at once.
    pub fn new(interval: Duration, silence: Duration, now: Instant) -> Self {
        Self { interval, silence, next_ping: now, last_received: now, unanswered: None, last_number: 0 }
    }

    /// Bytes were received, or would not have been read.
    pub fn handle_received(&mut self, now: Instant) {
        self.last_received = now;
    }

    /// The answer to a keep-alive was received. Returns the round-trip time, unless it is not that of the last one.
    pub fn handle_pong(&mut self, number: u64, now: Instant) -> Option<Duration> {
        let (_, sent) = self.unanswered.take_if(|(last, _)| *last == number)?;
        Some(now.saturating_duration_since(sent))
    }

    /// The keep-alive to send now. A link that has other bytes to send needs none.
    pub fn poll_ping(&mut self, is_idle: bool, now: Instant) -> Option<u64> {
        if now < self.next_ping {
            return None;
        }
        self.next_ping = now + self.interval;
        if !is_idle {
            return None;
        }
        self.last_number += 1;
        self.unanswered = Some((self.last_number, now));
        Some(self.last_number)
    }

    /// Whether the peer has been silent for too long.
    pub fn is_silent(&self, now: Instant) -> bool {
        now >= self.last_received + self.silence
    }

    /// When the next of all this is due.
    pub fn poll_timeout(&self) -> Instant {
        self.next_ping.min(self.last_received + self.silence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn idle_link_sends_a_keep_alive_each_interval() {
        let start = Instant::now();
        let mut keep_alive = KeepAlive::new(SECOND, 5 * SECOND, start);
        assert_eq!(keep_alive.poll_ping(true, start), Some(1));
        assert_eq!(keep_alive.poll_ping(true, start), None);
        assert_eq!(keep_alive.poll_timeout(), start + SECOND);
        assert_eq!(keep_alive.poll_ping(false, start + SECOND), None, "other bytes are sent");
        assert_eq!(keep_alive.poll_ping(true, start + 2 * SECOND), Some(2));
    }

    #[test]
    fn round_trip_is_that_of_the_last_keep_alive() {
        let start = Instant::now();
        let mut keep_alive = KeepAlive::new(SECOND, 5 * SECOND, start);
        keep_alive.poll_ping(true, start);
        keep_alive.poll_ping(true, start + SECOND);
        assert_eq!(keep_alive.handle_pong(1, start + SECOND), None);
        assert_eq!(keep_alive.handle_pong(2, start + SECOND + SECOND / 4), Some(SECOND / 4));
        assert_eq!(keep_alive.handle_pong(2, start + 2 * SECOND), None, "it returned before");
    }

    #[test]
    fn peer_that_sends_nothing_is_silent() {
        let start = Instant::now();
        let mut keep_alive = KeepAlive::new(10 * SECOND, 5 * SECOND, start);
        keep_alive.poll_ping(true, start);
        assert_eq!(keep_alive.poll_timeout(), start + 5 * SECOND);
        assert!(!keep_alive.is_silent(start + 4 * SECOND));
        keep_alive.handle_received(start + 4 * SECOND);
        assert!(!keep_alive.is_silent(start + 8 * SECOND));
        assert!(keep_alive.is_silent(start + 9 * SECOND));
    }
}
