//! Rate of a loop.

use std::fmt;
use std::time::Duration;

use runnel_core::time::Instant;

use super::{Context, steady_time};
use crate::error::Error;

/// Keeps a loop at a constant rate.
pub struct Rate {
    context: Context,
    period: Duration,
    next: Instant,
}

impl Rate {
    /// A rate of `hertz`.
    ///
    /// # Errors
    /// [`Error::Rate`] if `hertz` is not a positive number.
    pub fn new(context: &Context, hertz: f64) -> Result<Self, Error> {
        if !(hertz.is_finite() && hertz > 0.0) {
            return Err(Error::Rate { hertz });
        }
        let period = Duration::try_from_secs_f64(1.0 / hertz).unwrap_or(Duration::MAX);
        Ok(Self { context: context.clone(), period, next: steady_time() + period })
    }

    /// Sleeps for the rest of the cycle. A cycle that took longer than the period does not shorten the next ones.
    ///
    /// # Errors
    /// As [`Context::sleep`].
    pub fn sleep(&mut self) -> Result<(), Error> {
        let now = steady_time();
        if self.next > now {
            self.context.sleep(self.next.since(now))?;
            self.next += self.period;
        } else {
            self.next = now + self.period;
        }
        Ok(())
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rate").field("period", &self.period).finish_non_exhaustive()
    }
}
