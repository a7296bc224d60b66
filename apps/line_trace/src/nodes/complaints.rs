//! What does not work, told now and then.

use std::fmt;
use std::time::Duration;

use runnel::core::time::Instant;

/// Between two complaints, and between two attempts at what may go on failing.
pub(super) const COMPLAINT: Duration = Duration::from_secs(1);

/// Keeps what fails many times a second from filling the log.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    last: Option<Instant>,
}

impl Complaints {
    /// Logs an error, unless another was a moment ago.
    pub(super) fn tell(&mut self, now: Instant, what: fmt::Arguments<'_>) {
        if self.last.is_none_or(|last| now.since(last) >= COMPLAINT) {
            log::error!("{what}");
            self.last = Some(now);
        }
    }
}
