//! Periodic checks: messages within their deadline, liveliness within its lease.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel_core::time::Instant;

/// The shortest time between two checks, in nanoseconds. More frequent ones would use up the processor.
const SHORTEST: u64 = 1_000_000;

/// Something that the driver checks periodically.
pub(crate) trait Monitored: Send + Sync {
    /// Checks, and returns when to check again; `None` if never.
    fn check(&self, now: Instant) -> Option<Instant>;
}

/// An event that must occur once per period after its first occurrence. Occurrences are only recorded; missed periods
/// are found by checks.
#[derive(Debug, Default)]
pub(crate) struct DeadlineMonitor {
    /// In nanoseconds; 0 if there is no requirement.
    period: u64,
    /// The last occurrence; 0 if there was none.
    last: AtomicU64,
    /// Until when missed periods have been counted.
    missed: AtomicU64,
}

impl DeadlineMonitor {
    pub(crate) fn new(period: Option<Duration>) -> Self {
        let nanos = |period: Duration| u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Self { period: period.map_or(0, nanos), ..Self::default() }
    }

    /// True if there is a requirement.
    pub(crate) fn is_enabled(&self) -> bool {
        self.period > 0
    }

    /// Records an occurrence.
    pub(crate) fn record(&self, now: Instant) {
        self.last.store(now.0.max(1), Ordering::Relaxed);
    }

    /// The periods missed since the last check, and when to check again.
    pub(crate) fn check(&self, now: Instant) -> Option<(u64, Instant)> {
        if !self.is_enabled() {
            return None;
        }
        let last = self.last.load(Ordering::Relaxed);
        let pause = self.period.max(SHORTEST);
        if last == 0 {
            return Some((0, Instant(now.0.saturating_add(pause))));
        }
        let since = last.max(self.missed.load(Ordering::Relaxed));
        let missed = now.0.saturating_sub(since) / self.period;
        let since = since.saturating_add(missed * self.period);
        if missed > 0 {
            self.missed.store(since, Ordering::Relaxed);
        }
        Some((missed, Instant(since.saturating_add(pause))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant(1) + Duration::from_millis(millis)
    }

    #[test]
    fn missed_period_counts_once_after_first_occurrence() {
        let monitor = DeadlineMonitor::new(Some(Duration::from_millis(100)));
        assert_eq!(monitor.check(at(0)), Some((0, at(100))));
        assert_eq!(monitor.check(at(500)), Some((0, at(600))));
        monitor.record(at(510));
        assert_eq!(monitor.check(at(600)), Some((0, at(610))));
        assert_eq!(monitor.check(at(610)), Some((1, at(710))));
        assert_eq!(monitor.check(at(611)), Some((0, at(710))));
        assert_eq!(monitor.check(at(950)), Some((3, at(1010))));
        monitor.record(at(960));
        assert_eq!(monitor.check(at(1010)), Some((0, at(1060))));
    }

    #[test]
    fn tiny_period_is_checked_once_per_millisecond() {
        let monitor = DeadlineMonitor::new(Some(Duration::from_nanos(1)));
        monitor.record(at(0));
        assert_eq!(monitor.check(at(1)), Some((1_000_000, at(2))));
        assert_eq!(monitor.check(at(2)), Some((1_000_000, at(3))));
    }

    #[test]
    fn monitor_without_period_is_never_checked() {
        assert_eq!(DeadlineMonitor::new(None).check(at(5)), None);
        assert_eq!(DeadlineMonitor::new(Some(Duration::ZERO)).check(at(5)), None);
        assert!(DeadlineMonitor::new(Some(Duration::MAX)).is_enabled());
    }
}
