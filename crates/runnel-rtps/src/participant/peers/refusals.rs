//! Count of refused participants, reported at intervals.

use core::time::Duration;
use runnel_core::time::Instant;

/// Interval of reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Count of refused participants.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    unreported: u64,
    reported_at: Option<Instant>,
}

impl Refusals {
    /// Counts a refusal. Returns the number since the last report, if the next one is due.
    pub fn note(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        if self.reported_at.is_some_and(|reported_at| reported_at + REPORT_INTERVAL > now) {
            return None;
        }
        self.reported_at = Some(now);
        Some(core::mem::take(&mut self.unreported))
    }
}
