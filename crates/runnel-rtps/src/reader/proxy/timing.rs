//! Estimate of the repair time: one requested sample is tracked at a time.

use crate::wire::SequenceNumber;
use core::time::Duration;
use runnel_core::time::Instant;

/// Assumed repair time: minimum, initial and maximum.
const SHORTEST: Duration = Duration::from_millis(2);
const UNKNOWN: Duration = Duration::from_millis(10);
pub(super) const LONGEST: Duration = Duration::from_millis(500);

/// Estimated repair time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    repair_time: Duration,
    tracked: Option<TrackedRepair>,
}

/// Requested sample.
#[derive(Clone, Copy, Debug)]
struct TrackedRepair {
    number: SequenceNumber,
    requested_at: Instant,
    /// It was requested again, so its arrival may answer the first request or the last.
    again: bool,
    arrived: Option<Instant>,
}

impl Timing {
    pub fn new() -> Self {
        Self { repair_time: UNKNOWN, tracked: None }
    }

    /// Returns the interval until a repair is requested again.
    pub fn pause(&self) -> Duration {
        self.repair_time
    }

    /// Returns the interval for fragments, which may be paced.
    pub fn pause_of_fragments(&self) -> Duration {
        self.repair_time.max(UNKNOWN)
    }

    /// Records a requested sample.
    pub fn note_requested(&mut self, now: Instant, number: SequenceNumber) {
        match &mut self.tracked {
            Some(tracked) if tracked.number == number => tracked.again |= tracked.arrived.is_none(),
            // A second copy of a received one may be in flight.
            Some(TrackedRepair { arrived: Some(arrived), .. }) if *arrived + self.repair_time > now => {}
            Some(TrackedRepair { arrived: None, .. }) => {}
            _ => {
                self.tracked = Some(TrackedRepair { number, requested_at: now, again: false, arrived: None })
            }
        }
    }

    /// Records that samples before this one are no longer missing.
    pub fn note_done(&mut self, next: SequenceNumber) {
        let is_moot = |tracked: &TrackedRepair| tracked.arrived.is_none() && tracked.number < next;
        if self.tracked.as_ref().is_some_and(is_moot) {
            self.tracked = None;
        }
    }

    /// Records the first arrival of a sample. A sample that was requested once shows the repair time.
    pub fn note_arrival(&mut self, now: Instant, number: SequenceNumber) {
        let Some(tracked) = self.tracked.as_mut().filter(|tracked| tracked.number == number) else {
            return;
        };
        if tracked.again {
            tracked.arrived = Some(now);
            return;
        }
        let elapsed = now.since(tracked.requested_at);
        self.repair_time = ((self.repair_time * 3 + elapsed * 3 / 2) / 4).clamp(SHORTEST, LONGEST);
        self.tracked = None;
    }

    /// Records a repeated arrival. If the sample was requested again, that was too early.
    pub fn note_repeated_arrival(&mut self, number: SequenceNumber) {
        if self.tracked.is_some_and(|tracked| tracked.number == number && tracked.arrived.is_some()) {
            self.repair_time = (self.repair_time * 3 / 2).min(LONGEST);
            self.tracked = None;
        }
    }
}
