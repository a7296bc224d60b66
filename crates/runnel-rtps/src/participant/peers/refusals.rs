//! Count of refused participants, reported at intervals.

use core::time::Duration;
use runnel_core::time::Instant;

/// Interval of reports.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Count of refused participants.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    untold: u64,
    told: Option<Instant>,
}

impl Refusals {
    /// Counts a refusal. Returns the number since the last report, if the next one is due.
    pub fn note(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| told + TOLD_EVERY > now) {
            return None;
        }
        self.told = Some(now);
        Some(core::mem::take(&mut self.untold))
    }
}
