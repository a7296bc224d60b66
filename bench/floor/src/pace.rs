//! Deadlines and sizes of messages.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec};

use crate::stamps::now;
use crate::{NUMBER, Trial};

const SECOND: u64 = 1_000_000_000;

/// Deadlines of messages; a late message does not shift the others.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Option<u32>,
    start: Option<u64>,
}

impl Pace {
    /// `rate` messages per second; without a rate, or at rate 0, each is due immediately.
    pub fn new(rate: Option<u32>) -> Self {
        Self { rate: rate.filter(|rate| *rate > 0), start: None }
    }

    /// The deadline of a message, in nanoseconds of `CLOCK_MONOTONIC`. The first call sets the origin: its message is
    /// due now.
    pub fn due(&mut self, number: u64) -> u64 {
        let Some(rate) = self.rate else { return 0 };
        let start = *self.start.get_or_insert_with(now);
        // The product for a day at a million messages a second still fits.
        start.saturating_add(number.saturating_mul(SECOND) / u64::from(rate))
    }

    /// Sleeps until a message is due.
    pub fn wait(&mut self, number: u64) {
        let due = self.due(number);
        let time = Timespec { tv_sec: (due / SECOND) as i64, tv_nsec: (due % SECOND) as i64 };
        // A signal ends it early.
        while now() < due && clock_nanosleep_absolute(ClockId::Monotonic, &time).is_err() {}
    }
}

/// Sizes of messages, in equal shares, one after another.
#[derive(Clone, Debug)]
pub struct Sizes {
    sizes: Vec<usize>,
    /// Messages of one size.
    each: u64,
}

impl Sizes {
    /// The sizes of a trial; without any, all messages have the trial's size.
    pub fn of(trial: Trial, sizes: &[usize]) -> Self {
        let sizes = if sizes.is_empty() { vec![trial.size] } else { sizes.to_vec() };
        let each = (trial.total() / sizes.len() as u64).max(1);
        Self { sizes, each }
    }

    /// Bytes of a message, at least [`NUMBER`].
    pub fn size(&self, number: u64) -> usize {
        let index = usize::try_from(number / self.each).unwrap_or(usize::MAX);
        let size = self.sizes.get(index).or(self.sizes.last());
        size.copied().unwrap_or_default().max(NUMBER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_do_not_drift() {
        let mut pace = Pace::new(Some(3));
        let start = pace.due(0);
        std::thread::yield_now();
        assert_eq!(pace.due(1), start + 333_333_333);
        assert_eq!(pace.due(3), start + SECOND);
        assert_eq!(pace.due(300), start + 100 * SECOND);
    }

    #[test]
    fn wait_lasts_until_deadline() {
        let mut pace = Pace::new(Some(1000));
        pace.wait(0);
        let due = pace.due(3);
        pace.wait(3);
        assert!(now() >= due);
        let before = now();
        Pace::new(None).wait(1_000_000);
        assert!(now() - before < SECOND, "no wait without a rate");
    }

    #[test]
    fn sizes_follow_in_order() {
        let trial = Trial { size: 300, count: 6, warm_up: 0 };
        let sizes = Sizes::of(trial, &[100, 200, 300]);
        let of = |sizes: &Sizes| (0..7).map(|number| sizes.size(number)).collect::<Vec<_>>();
        assert_eq!(of(&sizes), [100, 100, 200, 200, 300, 300, 300]);
        assert_eq!(of(&Sizes::of(trial, &[])), [300; 7]);
        assert_eq!(Sizes::of(trial, &[1]).size(0), NUMBER);
    }
}
