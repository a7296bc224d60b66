//! Rate of a loop.

use std::time::Duration;

use runnel_core::time::{Instant, Time};
use runnel_io::clock;

use crate::context::Context;
use crate::error::Error;

/// Keeps a loop at a constant rate. Peers are served while it sleeps.
pub struct Rate {
    context: Context,
    period: Duration,
    /// Uses the wall clock even if time is simulated.
    wall: bool,
    next: Instant,
    /// In simulated time, while that is in use.
    next_simulated: Option<Time>,
}

impl Rate {
    /// A rate of `hertz` in ROS time, which may be simulated.
    ///
    /// # Errors
    /// [`Error::Rate`] if `hertz` is not a positive number.
    pub fn new(context: &Context, hertz: f64) -> Result<Self, Error> {
        if !(hertz.is_finite() && hertz > 0.0) {
            return Err(Error::Rate { hertz });
        }
        let period = Duration::try_from_secs_f64(1.0 / hertz).unwrap_or(Duration::MAX);
        let next = clock::monotonic() + period;
        Ok(Self { context: context.clone(), period, wall: false, next, next_simulated: None })
    }

    /// A rate of `hertz` by the wall clock, even if time is simulated.
    ///
    /// # Errors
    /// As [`Rate::new`].
    pub fn wall(context: &Context, hertz: f64) -> Result<Self, Error> {
        Ok(Self { wall: true, ..Self::new(context, hertz)? })
    }

    /// Sleeps for the rest of the cycle. A cycle that took longer than the period does not shorten the next ones.
    ///
    /// # Errors
    /// As [`Context::spin`].
    pub fn sleep(&mut self) -> Result<(), Error> {
        if !self.wall && self.context.ros_time_is_active() {
            return self.sleep_simulated();
        }
        self.next_simulated = None;
        let now = clock::monotonic();
        if self.next > now {
            self.context.sleep_wall(self.next.since(now))?;
            self.next += self.period;
        } else {
            self.next = now + self.period;
        }
        Ok(())
    }

    fn sleep_simulated(&mut self) -> Result<(), Error> {
        // No simulated time passes before the first message on `/clock`.
        self.context.pass_simulated_time(|now| now.is_zero())?;
        let (now, period) = (self.context.now(), self.period.into());
        // For the first cycle, and after time has jumped back.
        let next = self.next_simulated.filter(|next| *next <= now + period).unwrap_or(now + period);
        self.next_simulated = Some(if next > now {
            self.context.sleep_until(next)?;
            next + period
        } else {
            now + period
        });
        Ok(())
    }
}
