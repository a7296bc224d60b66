//! A loop at a steady rate.

use std::time::Duration;

use runnel_core::time::{Instant, Time};
use runnel_io::clock;

use crate::context::Context;
use crate::error::Error;

/// Paces a loop. Peers are served while it sleeps.
pub struct Rate {
    context: Context,
    period: Duration,
    /// Whatever ROS time does.
    wall: bool,
    next: Instant,
    /// By simulated time, while that counts.
    next_simulated: Option<Time>,
}

impl Rate {
    /// A rate of `hertz` rounds a second of ROS time, which `/clock` may tell; anything but a positive number counts as 1.
    pub fn new(context: &Context, hertz: f64) -> Self {
        let hertz = if hertz.is_finite() && hertz > 0.0 { hertz } else { 1.0 };
        let period = Duration::try_from_secs_f64(1.0 / hertz).unwrap_or(Duration::MAX);
        let next = clock::monotonic() + period;
        Self { context: context.clone(), period, wall: false, next, next_simulated: None }
    }

    /// A rate by the clock on the wall, whatever `/clock` tells.
    pub fn wall(context: &Context, hertz: f64) -> Self {
        Self { wall: true, ..Self::new(context, hertz) }
    }

    /// Sleeps what is left of the round. A round that took longer than the period is not made up for.
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
        // Before the time is known, no time of it can pass.
        self.context.pass_simulated_time(|now| now.is_zero())?;
        let (now, period) = (self.context.now(), self.period.into());
        // At first, and when time has jumped back.
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
