//! When the messages of a bag are due: their log times on the clock of this host.
//!
//! Each due time follows from the start of the bag, not from the message before, so that delays do not add up.

use runnel::core::time::Instant;

/// The mapping from log times to this clock.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate: f64,
    /// A log time in nanoseconds, and when it is due.
    origin: (u64, Instant),
    paused_since: Option<Instant>,
}

impl Schedule {
    /// The log time `start` is due at `now`; `rate` seconds of the bag pass in a second.
    pub fn new(start: u64, now: Instant, rate: f64) -> Self {
        Self { rate, origin: (start, now), paused_since: None }
    }

    /// When a log time is due. Meaningless while paused.
    pub fn due(&self, log_time: u64) -> Instant {
        let (start, at) = self.origin;
        let later = log_time.saturating_sub(start) as f64 / self.rate;
        let earlier = start.saturating_sub(log_time) as f64 / self.rate;
        Instant(at.0.saturating_add(later as u64).saturating_sub(earlier as u64))
    }

    /// The log time of the bag at a time; while paused, the one at which it was paused.
    pub fn log_time(&self, now: Instant) -> u64 {
        let (start, at) = self.origin;
        let now = self.paused_since.unwrap_or(now);
        let passed = now.since(at).as_nanos() as f64 * self.rate;
        start.saturating_add(passed as u64)
    }

    /// Seconds of the bag that pass in a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, rate: f64, now: Instant) {
        self.jump(self.log_time(now), now);
        self.rate = rate;
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// Pauses, or goes on.
    pub fn toggle_pause(&mut self, now: Instant) {
        match self.paused_since.take() {
            None => self.paused_since = Some(now),
            Some(since) => self.origin.1 += now.since(since),
        }
    }

    /// Jumps to a log time, which is due now.
    pub fn jump(&mut self, log_time: u64, now: Instant) {
        self.origin = (log_time, now);
        self.paused_since = self.paused_since.map(|_| now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Instant {
        Instant(seconds * SECOND)
    }

    #[test]
    fn rate_stretches_the_times() {
        let schedule = Schedule::new(50 * SECOND, at(7), 2.0);
        assert_eq!(schedule.due(54 * SECOND), at(9));
        assert_eq!(schedule.due(50 * SECOND), at(7));
        assert_eq!(schedule.due(46 * SECOND), at(5), "an earlier message was due before");
        assert_eq!(schedule.log_time(at(9)), 54 * SECOND);
    }

    #[test]
    fn changed_rate_counts_from_now_on() {
        let mut schedule = Schedule::new(0, at(10), 1.0);
        schedule.set_rate(4.0, at(12));
        assert_eq!((schedule.log_time(at(12)), schedule.log_time(at(13))), (2 * SECOND, 6 * SECOND));
        schedule.toggle_pause(at(13));
        schedule.set_rate(1.0, at(20));
        assert_eq!(schedule.log_time(at(30)), 6 * SECOND, "it is paused");
        schedule.toggle_pause(at(30));
        assert_eq!((schedule.rate(), schedule.due(7 * SECOND)), (1.0, at(31)));
    }

    #[test]
    fn pause_delays_what_follows() {
        let mut schedule = Schedule::new(0, at(10), 1.0);
        schedule.toggle_pause(at(12));
        assert!(schedule.is_paused());
        assert_eq!(schedule.log_time(at(15)), 2 * SECOND, "time stands still");
        schedule.toggle_pause(at(15));
        assert_eq!(schedule.due(5 * SECOND), at(18));
        assert_eq!(schedule.log_time(at(18)), 5 * SECOND);
    }

    #[test]
    fn jump_while_paused_stays_paused() {
        let mut schedule = Schedule::new(0, at(10), 1.0);
        schedule.toggle_pause(at(12));
        schedule.jump(9 * SECOND, at(13));
        assert!(schedule.is_paused());
        assert_eq!(schedule.log_time(at(20)), 9 * SECOND);
        schedule.toggle_pause(at(20));
        assert_eq!(schedule.due(10 * SECOND), at(21));
    }
}
