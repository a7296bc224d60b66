//! Logging of a node: to the console, a file, and `/rosout`.
//!
//! ```no_run
//! # let context = runnel::Context::new()?;
//! let node = context.create_node("camera")?;
//! runnel::log_info!(node, "{} frames a second", 30);
//! runnel::log_warn!(node.logger().child("driver"), "a frame was lost");
//! # Ok::<(), runnel::Error>(())
//! ```
//!
//! In ROS 1 `ROSCONSOLE_FORMAT` sets the format of lines as in roscpp (`[${severity}] [${time}] [${node}]: ${message}`),
//! and with `ROS_LOG_DIR` or `__log:=FILE` they are also written to a file. In ROS 2 `RCUTILS_CONSOLE_OUTPUT_FORMAT` sets
//! it as in rcl (`[{severity}] [{time}] [{name}]: {message}`), and lines are also written to a file in `~/.ros/log`. On a
//! terminal they have colours unless `NO_COLOR` is set.
//!
//! On `/rosout` a line is a `rosgraph_msgs/Log` in ROS 1 and a `rcl_interfaces/msg/Log` in ROS 2, where loggers are
//! named after their node (`robot.camera.driver`). The ROS 2 publisher has the QoS [`crate::QoS::rosout`].
//!
//! There is no logging thread, and a slow console never blocks the program: lines that it does not accept are dropped
//! and counted ([`dropped_lines`]). Lines that a node's file does not accept, for example on a full disk, are counted
//! too ([`unwritten_lines`]), and the first one is reported on the console and on `/rosout`.

mod forward;
mod ros2_levels;
mod services;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel_io::clock;

pub use crate::log_output::console::dropped_lines;
pub use crate::log_output::file::{LogFile, unwritten_lines};
pub use crate::log_output::{Level, Place, UnknownLevel};
pub use crate::node_log::Logger;

/// Limits the rate of a line. The macros make one for each place.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Throttled(AtomicU64);

impl Throttled {
    /// Before the first line.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// True at first, and then once per `period`.
    pub fn passes(&self, period: Duration) -> bool {
        // 0 stands for no line yet.
        let now = clock::monotonic().0.max(1);
        let last = self.0.load(Ordering::Relaxed);
        let is_due = last == 0 || u128::from(now - last.min(now)) >= period.as_nanos();
        is_due && self.0.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// Logs at a level: `log_at!(node, Level::Warn, "{} left", count)`.
#[macro_export]
macro_rules! log_at {
    ($node:expr, $level:expr, $($text:tt)+) => {
        match ($node.logger(), $level) {
            (logger, level) => {
                if logger.is_enabled(level) {
                    let place =
                        $crate::logging::Place { file: file!(), line: line!(), function: module_path!() };
                    logger.log(level, place, format_args!($($text)+));
                }
            }
        }
    };
}

/// Like [`log_at!`], at most once per period: `log_throttle!(node, Level::Warn, Duration::from_secs(1), "late")`.
#[macro_export]
macro_rules! log_throttle {
    ($node:expr, $level:expr, $period:expr, $($text:tt)+) => {{
        static PASSED: $crate::logging::Throttled = $crate::logging::Throttled::new();
        match ($node.logger(), $level) {
            (logger, level) => {
                if logger.is_enabled(level) && PASSED.passes($period) {
                    $crate::log_at!(logger, level, $($text)+);
                }
            }
        }
    }};
}

/// Like [`log_at!`], the first time only.
#[macro_export]
macro_rules! log_once {
    ($node:expr, $level:expr, $($text:tt)+) => {
        $crate::log_throttle!($node, $level, ::std::time::Duration::MAX, $($text)+)
    };
}

/// Logs for debugging: `log_debug!(node, "at {place}")`. The node may be a [`Logger`] as well.
#[macro_export]
macro_rules! log_debug {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Debug, $($text)+) };
}

/// Logs information for users, like [`log_debug!`].
#[macro_export]
macro_rules! log_info {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Info, $($text)+) };
}

/// Logs that something is unexpected, like [`log_debug!`].
#[macro_export]
macro_rules! log_warn {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Warn, $($text)+) };
}

/// Logs that something failed, like [`log_debug!`].
#[macro_export]
macro_rules! log_error {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Error, $($text)+) };
}

/// Logs that the node cannot continue, like [`log_debug!`].
#[macro_export]
macro_rules! log_fatal {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Fatal, $($text)+) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_line_passes_once_per_period() {
        let often = Throttled::new();
        assert!(often.passes(Duration::ZERO) && often.passes(Duration::ZERO));
        let once = Throttled::new();
        assert!(once.passes(Duration::MAX) && !once.passes(Duration::MAX));
    }
}
