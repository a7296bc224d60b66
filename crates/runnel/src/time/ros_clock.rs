//! ROS time: the wall clock, or simulated time from `/clock` while the parameter `/use_sim_time` is true.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use runnel_core::time::Time;
use runnel_io::clock;

/// The ROS 1 parameter that switches to simulated time.
pub(crate) const USE_SIM_TIME: &str = "/use_sim_time";

/// The node parameter that does so in ROS 2.
pub(crate) const USE_SIM_TIME_ROS2: &str = "use_sim_time";

/// The topic with simulated time.
pub(crate) const CLOCK: &str = "/clock";

/// The time of all nodes of a context.
#[derive(Debug, Default)]
pub(crate) struct RosClock {
    simulated: AtomicBool,
    /// The last time from `/clock` in nanoseconds; 0 before.
    last_time: AtomicI64,
    /// Threads that sleep in ROS time.
    sleepers: AtomicUsize,
}

impl RosClock {
    /// The current time. Simulated time is 0 before the first message on `/clock`.
    pub(crate) fn now(&self) -> Time {
        if self.is_simulated() {
            Time::from_nanos(self.last_time.load(Ordering::Acquire))
        } else {
            clock::realtime()
        }
    }

    /// Whether time is simulated.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.load(Ordering::Acquire)
    }

    /// Switches simulated time on, without a time yet, or off. False if nothing changes.
    pub(crate) fn set_simulated(&self, simulated: bool) -> bool {
        let is_new = self.simulated.swap(simulated, Ordering::AcqRel) != simulated;
        if is_new {
            self.last_time.store(0, Ordering::Release);
        }
        is_new
    }

    /// Sets the simulated time. Returns the one before.
    pub(crate) fn set(&self, now: Time) -> Time {
        Time::from_nanos(self.last_time.swap(now.as_nanos(), Ordering::SeqCst))
    }

    /// True if threads sleep in ROS time.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::SeqCst) > 0
    }

    /// Counts the caller as a thread that sleeps in ROS time, until the returned value is dropped.
    pub(crate) fn sleep(&self) -> impl Drop + '_ {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        Sleeper(self)
    }
}

struct Sleeper<'a>(&'a RosClock);

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.0.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}
