//! Jumps of ROS time, and the callbacks for them.

use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::{Duration as RosDuration, Time};

use crate::data::{Event, EventLimit, Events};
use crate::ready::Dispatch;
use crate::sync::{Class, Mutex, lock};

/// Limit of jumps that wait for a callback.
const LIMIT: EventLimit = EventLimit { count: 100, bytes: usize::MAX };

/// Whether the source of ROS time has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChange {
    /// Time is simulated, as before.
    RosTimeNoChange,
    /// Time is simulated from now on.
    RosTimeActivated,
    /// The wall clock is the source from now on.
    RosTimeDeactivated,
}

/// A jump of ROS time. The fields are those of rclcpp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeJump {
    /// Whether the source has changed.
    pub clock_change: ClockChange,
    /// The new time minus the one before; negative if time went backward. Zero if the source has changed.
    pub delta: RosDuration,
}

/// Which jumps a callback gets. The default is that of tf2: a change of the source, and any jump backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpThreshold {
    /// Whether the callback gets changes of the source.
    pub on_clock_change: bool,
    /// The shortest jump forward that the callback gets; `None` for no such jump.
    pub min_forward: Option<Duration>,
    /// The shortest jump backward that the callback gets; `None` for no such jump.
    pub min_backward: Option<Duration>,
}

impl Default for JumpThreshold {
    fn default() -> Self {
        Self { on_clock_change: true, min_forward: None, min_backward: Some(Duration::from_nanos(1)) }
    }
}

impl JumpThreshold {
    fn is_exceeded_by(&self, jump: &TimeJump) -> bool {
        if jump.clock_change != ClockChange::RosTimeNoChange {
            return self.on_clock_change;
        }
        let nanos = jump.delta.as_nanos();
        let limit = if nanos < 0 { self.min_backward } else { self.min_forward };
        // A jump of zero is none, also for a limit of zero.
        nanos != 0 && limit.is_some_and(|limit| u128::from(nanos.unsigned_abs()) >= limit.as_nanos())
    }
}

impl Event for TimeJump {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// A callback for jumps, and the jumps that wait for it.
pub(crate) struct JumpCallback {
    threshold: JumpThreshold,
    jumps: Arc<Events<TimeJump>>,
}

impl JumpCallback {
    pub(crate) fn new(
        threshold: JumpThreshold,
        dispatch: Dispatch,
        mut callback: impl FnMut(&TimeJump) + Send + 'static,
    ) -> Arc<Self> {
        let jumps = Events::new(LIMIT, dispatch, move |jump| callback(&jump));
        Arc::new(Self { threshold, jumps })
    }
}

/// The callbacks for jumps of one clock.
pub(crate) struct TimeJumps(Mutex<Vec<Arc<JumpCallback>>>);

impl TimeJumps {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Class::TimeJumps, Vec::new()))
    }

    pub(crate) fn add(&self, callback: &Arc<JumpCallback>) {
        lock(&self.0).push(Arc::clone(callback));
    }

    /// Removes a callback with the jumps that wait for it. The caller drops it, without the driver locked.
    pub(crate) fn remove(&self, callback: &Arc<JumpCallback>) {
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, callback));
        callback.jumps.forget();
    }

    /// Simulated time has been set.
    pub(crate) fn on_time(&self, before: Time, now: Time) {
        self.on_jump(&TimeJump { clock_change: ClockChange::RosTimeNoChange, delta: now - before });
    }

    /// Simulated time has been switched on or off.
    pub(crate) fn on_source_change(&self, simulated: bool) {
        let activated = ClockChange::RosTimeActivated;
        let clock_change = if simulated { activated } else { ClockChange::RosTimeDeactivated };
        self.on_jump(&TimeJump { clock_change, delta: RosDuration::default() });
    }

    fn on_jump(&self, jump: &TimeJump) {
        let callbacks = lock(&self.0);
        let exceeded = callbacks.iter().filter(|callback| callback.threshold.is_exceeded_by(jump));
        exceeded.for_each(|callback| callback.jumps.push(*jump));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forward(nanos: i64) -> TimeJump {
        TimeJump { clock_change: ClockChange::RosTimeNoChange, delta: RosDuration::from_nanos(nanos) }
    }

    #[test]
    fn threshold_limits_reported_jumps() {
        let none = JumpThreshold { on_clock_change: false, min_forward: None, min_backward: None };
        let changed = TimeJump { clock_change: ClockChange::RosTimeDeactivated, ..forward(0) };
        for jump in [forward(1), forward(0), forward(i64::MIN), changed] {
            assert!(!none.is_exceeded_by(&jump), "{jump:?}");
        }
        let some = JumpThreshold { min_forward: Some(Duration::from_nanos(10)), ..JumpThreshold::default() };
        for jump in [forward(10), forward(i64::MAX), forward(-1), changed] {
            assert!(some.is_exceeded_by(&jump), "{jump:?}");
        }
        for jump in [forward(9), forward(0)] {
            assert!(!some.is_exceeded_by(&jump), "{jump:?}");
        }
    }

    #[test]
    fn removed_callback_gets_no_jump() {
        let jumps = TimeJumps::new();
        let callback = JumpCallback::new(JumpThreshold::default(), Dispatch::Taken, |_| {});
        jumps.add(&callback);
        jumps.on_time(Time::from_nanos(5), Time::from_nanos(4));
        assert_eq!(callback.jumps.take(), Some(forward(-1)));
        jumps.on_source_change(true);
        jumps.remove(&callback);
        jumps.on_source_change(false);
        assert_eq!(callback.jumps.take(), None);
    }
}
