//! The monotonic clock of a guest, which stands still between a checkpoint and the restored node.

use std::time::Duration;

use runnel::core::time::Instant;
use runnel_io::clock;

pub struct GuestClock {
    started: Instant,
    /// What it showed when it started.
    before: Duration,
}

impl GuestClock {
    pub fn starting_at(before: Duration) -> Self {
        Self { started: clock::monotonic(), before }
    }

    pub fn now(&self) -> Duration {
        self.before.saturating_add(clock::monotonic().since(self.started))
    }
}
