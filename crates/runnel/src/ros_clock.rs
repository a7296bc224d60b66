//! ROS time: the wall clock, or a simulated one that `/clock` tells while the parameter `/use_sim_time` is true.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use runnel_core::time::Time;
use runnel_io::clock;

/// The parameter that says whether time is simulated.
pub(crate) const USE_SIM_TIME: &str = "/use_sim_time";

/// The parameter of a node that says so in ROS 2.
pub(crate) const USE_SIM_TIME_ROS2: &str = "use_sim_time";

/// The topic that tells simulated time.
pub(crate) const CLOCK: &str = "/clock";

/// The time of all nodes of a context.
#[derive(Debug, Default)]
pub(crate) struct RosClock {
    simulated: AtomicBool,
    /// What was told last, in nanoseconds; 0 before.
    told: AtomicI64,
    /// Threads that wait for it to go on.
    sleepers: AtomicUsize,
}

impl RosClock {
    /// Now. Simulated time is 0 until somebody tells it.
    pub(crate) fn now(&self) -> Time {
        if self.is_simulated() {
            Time::from_nanos(self.told.load(Ordering::Acquire))
        } else {
            clock::realtime()
        }
    }

    /// Whether time is simulated.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulated.load(Ordering::Acquire)
    }

    /// From now on time is simulated and not told yet, or no longer simulated; false if it was so already.
    pub(crate) fn set_simulated(&self, simulated: bool) -> bool {
        let is_new = self.simulated.swap(simulated, Ordering::AcqRel) != simulated;
        if is_new {
            self.told.store(0, Ordering::Release);
        }
        is_new
    }

    /// Sets the simulated time.
    pub(crate) fn set(&self, now: Time) {
        self.told.store(now.as_nanos(), Ordering::SeqCst);
    }

    /// True if threads wait for the time to go on.
    pub(crate) fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::SeqCst) > 0
    }

    /// The caller waits for the time to go on, until what is given back is dropped.
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
