//! Count of participants that found no place, told now and then.

use core::time::Duration;
use runnel_core::time::Instant;

/// How often it is told.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    untold: u64,
    told: Option<Instant>,
}

impl Refusals {
    /// Counts another one. Gives how many there were since that was told before, if it is time to tell.
    pub fn note(&mut self, now: Instant) -> Option<u64> {
        self.untold += 1;
        if self.told.is_some_and(|told| told + TOLD_EVERY > now) {
            return None;
        }
        self.told = Some(now);
        Some(core::mem::take(&mut self.untold))
    }
}
