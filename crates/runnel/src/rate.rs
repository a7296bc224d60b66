//! A loop at a steady rate.

use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;

use crate::context::Context;
use crate::error::Error;

/// Paces a loop. Peers are served while it sleeps.
pub struct Rate {
    context: Context,
    period: Duration,
    next: Instant,
}

impl Rate {
    /// A rate of `hertz` rounds a second; not a positive number counts as one a second.
    pub fn new(context: &Context, hertz: f64) -> Self {
        let hertz = if hertz.is_finite() && hertz > 0.0 { hertz } else { 1.0 };
        let period = Duration::try_from_secs_f64(1.0 / hertz).unwrap_or(Duration::MAX);
        Self { context: context.clone(), period, next: clock::monotonic() + period }
    }

    /// Sleeps what is left of the round. A round that took longer than the period is not made up for.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep(&mut self) -> Result<(), Error> {
        let now = clock::monotonic();
        if self.next > now {
            self.context.sleep(self.next.since(now))?;
            self.next += self.period;
        } else {
            self.next = now + self.period;
        }
        Ok(())
    }
}
