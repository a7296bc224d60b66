//! Rate-limited log of repeated errors.

use std::fmt;
use std::time::Duration;

use runnel::core::time::Instant;

/// Shortest time between two logged errors, and between two attempts at something that may keep failing.
pub(super) const ERROR_PERIOD: Duration = Duration::from_secs(1);

/// Logs at most one error per [`ERROR_PERIOD`], so that a failure at the rate of the messages does not fill the log.
#[derive(Debug, Default)]
pub(super) struct ErrorLog {
    last: Option<Instant>,
}

impl ErrorLog {
    /// Logs an error, unless another one was logged within [`ERROR_PERIOD`].
    pub(super) fn report(&mut self, now: Instant, error: fmt::Arguments<'_>) {
        if self.last.is_none_or(|last| now.since(last) >= ERROR_PERIOD) {
            log::error!("{error}");
            self.last = Some(now);
        }
    }
}
