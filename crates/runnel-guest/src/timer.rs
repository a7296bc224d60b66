//! Timers of a node.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::abi::{Clock, Severity};
use crate::entity::Entity;
use crate::error::Error;
use crate::event_loop;
use crate::host;
use crate::node::Node;

/// What the callback of a timer may return: nothing, or a `Result`, whose error is logged.
pub trait CallbackOutput {
    /// The text of the error, if there is one.
    fn error(self) -> Option<String>;
}

impl CallbackOutput for () {
    fn error(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Display> CallbackOutput for Result<(), E> {
    fn error(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// A callback that runs periodically or once. Dropping it stops the timer. Missed ticks are combined into one call.
#[must_use = "a timer stops when it is dropped: bind it to a name, `let _timer = ...`, not `let _ = ...`"]
pub struct Timer {
    entity: Entity,
    period: Duration,
    is_canceled: Arc<AtomicBool>,
    node: Node,
}

impl Node {
    /// Calls `callback` every `period` of ROS time, which `/clock` may define, while the context spins. A period of zero
    /// becomes 1 ns. An error that the callback returns is logged.
    ///
    /// # Panics
    /// If the manifest of the program allows no more entities.
    pub fn create_timer<O: CallbackOutput>(
        &self,
        period: impl Into<Duration>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(period.into(), Clock::ROS, false, callback)
    }

    /// As [`Node::create_timer`], by a clock that is never simulated.
    ///
    /// # Panics
    /// As [`Node::create_timer`].
    pub fn create_wall_timer<O: CallbackOutput>(
        &self,
        period: impl Into<Duration>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(period.into(), Clock::MONOTONIC, false, callback)
    }

    /// Calls `callback` once, after `delay` of ROS time, and once more after each [`Timer::reset`].
    ///
    /// # Panics
    /// As [`Node::create_timer`].
    pub fn create_oneshot_timer<O: CallbackOutput>(
        &self,
        delay: impl Into<Duration>,
        callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        self.timer(delay.into(), Clock::ROS, true, callback)
    }

    fn timer<O: CallbackOutput>(
        &self,
        period: Duration,
        clock: Clock,
        is_oneshot: bool,
        mut callback: impl FnMut() -> O + Send + 'static,
    ) -> Timer {
        let period = period.max(Duration::from_nanos(1));
        let handle = match host::create_timer(self.handle(), period, clock, is_oneshot) {
            Ok(handle) => handle,
            Err(error) => panic!("a timer cannot be created: {error}"),
        };
        let (node, is_canceled) = (self.handle(), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&is_canceled);
        let callback = move |_: &_, _: &[u8]| {
            ended.fetch_or(is_oneshot, Ordering::Relaxed);
            if let Some(error) = callback().error() {
                host::log(node, Severity::ERROR, &format!("timer: {error}"));
            }
        };
        let entity = Entity::with_callback(handle, Box::new(callback));
        Timer { entity, period, is_canceled, node: self.clone() }
    }
}

impl Timer {
    /// Stops the timer. Its callback does not run until [`Timer::reset`].
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
        event_loop::forget_tick(self.entity.handle());
        self.report(host::cancel_timer(self.entity.handle()));
    }

    /// Starts a new period now, also if the timer was canceled or is a one-shot timer that has ticked.
    pub fn reset(&self) {
        self.is_canceled.store(false, Ordering::Relaxed);
        event_loop::forget_tick(self.entity.handle());
        self.report(host::reset_timer(self.entity.handle()));
    }

    /// Whether the timer is stopped: by [`Timer::cancel`], or because it is a one-shot timer that has ticked.
    pub fn is_canceled(&self) -> bool {
        self.is_canceled.load(Ordering::Relaxed)
    }

    /// The period, or the delay of a one-shot timer.
    pub fn period(&self) -> Duration {
        self.period
    }

    fn report(&self, done: Result<(), Error>) {
        if let Err(error) = done {
            host::log(self.node.handle(), Severity::ERROR, &format!("timer: {error}"));
        }
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("period", &self.period).finish_non_exhaustive()
    }
}
