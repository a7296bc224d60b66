//! Timers of a node.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::callback_group::CallbackGroup;
use crate::node::Node;
use crate::node::callback_output::{CallbackOutput, ErrorLog};
use crate::node::options::TimerOptions;
use crate::ready::Dispatch;
use crate::time::timers::{Follows, Schedule, TimerEntry};

/// A callback that runs periodically or once, created by [`Node::create_timer`], [`Node::create_wall_timer`] or
/// [`Node::create_oneshot_timer`]. Dropping it stops the timer. Missed ticks are combined into one call.
///
/// A watchdog that stops the robot if no command arrives for half a second:
///
/// ```no_run
/// use std::time::Duration;
/// use runnel::msgs::geometry_msgs::msg::Twist;
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let watchdog = node.create_oneshot_timer(Duration::from_millis(500), || println!("no commands: stop"));
/// let _commands = node.create_subscription("cmd_vel", 1, move |_: &Twist| watchdog.reset())?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a timer stops when it is dropped: bind it to a name, `let _timer = ...`, not `let _ = ...`"]
pub struct Timer {
    node: Node,
    entry: Arc<TimerEntry>,
}

impl Timer {
    /// Stops the timer. Its callback does not run until [`Timer::reset`], not even for a due tick. A callback that
    /// another thread has already started may still run after this returns.
    pub fn cancel(&self) {
        self.entry.cancel();
    }

    /// Starts a new period now, also if the timer was canceled or is a one-shot timer that has ticked.
    pub fn reset(&self) {
        self.reset_after(self.period());
    }

    /// Starts the timer as [`Timer::reset`] does, but it ticks next after `delay`, and then after each period.
    pub fn reset_after(&self, delay: Duration) {
        if self.entry.start(delay) {
            self.node.wake_for_timers();
        }
    }

    /// Whether the timer is stopped: by [`Timer::cancel`], or because it is a one-shot timer that has ticked.
    pub fn is_canceled(&self) -> bool {
        self.entry.is_canceled()
    }

    /// The time until the next tick, by the timer's clock. Zero if a tick is due, `None` if the timer is canceled.
    pub fn time_until_next(&self) -> Option<Duration> {
        self.entry.time_until_next()
    }

    /// The period, or the delay of a one-shot timer.
    pub fn period(&self) -> Duration {
        self.entry.period()
    }

    pub(crate) fn entry(&self) -> &Arc<TimerEntry> {
        &self.entry
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.entry.remove();
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer")
            .field("node", &self.node.full_name())
            .field("period", &self.period())
            .field("is_canceled", &self.is_canceled())
            .finish_non_exhaustive()
    }
}

impl Node {
    /// Calls `callback` every `period` of ROS time, which `/clock` may define, while the context spins. The period may
    /// be given as [`TimerOptions`]. A period of zero becomes 1 ns. An error that the callback returns is logged.
    pub fn create_timer<O: CallbackOutput>(
        &self,
        period: impl Into<TimerOptions>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(period, (Follows::Ros, false), self.inner.executor_dispatch(), self.logging(callback))
    }

    /// Calls `callback` every `period` of the wall clock, also while `/clock` defines ROS time. A period of zero
    /// becomes 1 ns. An error that the callback returns is logged.
    pub fn create_wall_timer<O: CallbackOutput>(
        &self,
        period: impl Into<TimerOptions>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(period, (Follows::Wall, false), self.inner.executor_dispatch(), self.logging(callback))
    }

    /// Calls `callback` once, after `delay` of ROS time, and once more after each [`Timer::reset`]. A delay of
    /// zero becomes 1 ns. An error that the callback returns is logged.
    pub fn create_oneshot_timer<O: CallbackOutput>(
        &self,
        delay: impl Into<TimerOptions>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(delay, (Follows::Ros, true), self.inner.executor_dispatch(), self.logging(callback))
    }

    /// A callback that logs the errors of this one.
    fn logging<O: CallbackOutput>(
        &self,
        mut callback: impl FnMut() -> O + Send + 'static,
    ) -> impl FnMut() + Send + 'static {
        let mut errors = ErrorLog::new(self.logger(), "timer");
        move || errors.note(callback())
    }

    pub(crate) fn timer(
        &self,
        options: impl Into<TimerOptions>,
        (follows, is_oneshot): (Follows, bool),
        dispatch: Dispatch,
        callback: impl FnMut() + Send + 'static,
    ) -> Timer {
        let TimerOptions { of: period, group } = options.into();
        let scheduling = (dispatch, &CallbackGroup::for_entity(group.as_ref()));
        let schedule = Schedule { period, follows, is_oneshot };
        let entry = self.inner.context.shared.timers.add(schedule, scheduling, Box::new(callback));
        self.wake_for_timers();
        Timer { node: self.clone(), entry: Arc::new(entry) }
    }

    /// Wakes waiting threads for an earlier deadline.
    fn wake_for_timers(&self) {
        let shared = &self.inner.context.shared;
        shared.ready.wake_all();
        shared.executors.wake_all();
    }
}
