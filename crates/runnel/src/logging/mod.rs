//! What a node has to say: on the console, in a file, and on `/rosout` for whoever listens anywhere.
//!
//! ```no_run
//! # let context = runnel::Context::new()?;
//! let node = context.create_node("camera")?;
//! runnel::log_info!(node, "{} frames a second", 30);
//! runnel::log_warn!(node.logger().child("driver"), "a frame was lost");
//! # Ok::<(), runnel::Error>(())
//! ```
//!
//! Lines look as `ROSCONSOLE_FORMAT` says, with the words of roscpp's (`[${severity}] [${time}] [${node}]: ${message}`), and
//! have colours on a terminal unless `NO_COLOR` is set. Where `ROS_LOG_DIR` is set, or `__log:=FILE` given, they are kept
//! in a file as well.
//!
//! On `/rosout` a line is a `rosgraph_msgs/Log` in ROS 1 and a `rcl_interfaces/msg/Log` in ROS 2, where loggers are named for
//! their node (`robot.camera.driver`), and offered as [`crate::QoS::rosout`] says.
//!
//! There is no logging thread, and a console that takes no more never holds the program up: such lines are dropped and
//! counted ([`dropped_lines`]). Lines that a node's file does not take, as on a full disk, are counted too
//! ([`unwritten_lines`]), and the first is reported on the console and on `/rosout`.

pub(crate) mod console;
mod file;
mod format;
mod forward;
mod loggers;
mod node_log;
mod rosout;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use runnel_io::clock;

pub use console::dropped_lines;
pub use file::{LogFile, unwritten_lines};
pub(crate) use node_log::{NodeLog, ROSOUT};

/// How grave a line is. Numbers are those of `rosgraph_msgs/Log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// For whoever looks for a fault.
    Debug = 1,
    /// What a user may want to know.
    Info = 2,
    /// Something is odd, and work goes on.
    Warn = 4,
    /// Something failed.
    Error = 8,
    /// The node cannot go on.
    Fatal = 16,
}

impl Level {
    /// All, from the least grave.
    pub const ALL: [Self; 5] = [Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// The level with this number; what lies between two counts as the graver.
    pub fn from_number(number: u8) -> Self {
        Self::ALL.into_iter().find(|level| *level as u8 >= number).unwrap_or(Self::Fatal)
    }

    /// As it is shown: `WARN`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    /// A line for a terminal, in the colour that roscpp gives to lines of this level.
    pub fn painted(self, line: String) -> String {
        let colour = match self {
            Self::Debug => 32,
            Self::Info => return line,
            Self::Warn => 33,
            Self::Error | Self::Fatal => 31,
        };
        format!("\x1b[{colour}m{line}\x1b[0m")
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<log::Level> for Level {
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Error => Self::Error,
            log::Level::Warn => Self::Warn,
            log::Level::Info => Self::Info,
            log::Level::Debug | log::Level::Trace => Self::Debug,
        }
    }
}

/// A text that names no level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLevel(String);

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no level: debug, info, warn, error or fatal is", self.0)
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    /// In whichever case; `warning` as well.
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let same = |level: &Self| text.eq_ignore_ascii_case(level.name());
        let level = Self::ALL.into_iter().find(same);
        level
            .or_else(|| text.eq_ignore_ascii_case("warning").then_some(Self::Warn))
            .ok_or_else(|| UnknownLevel(text.chars().take(40).collect()))
    }
}

/// Where in a program a line is logged. The macros fill it in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// Source file.
    pub file: &'a str,
    /// Line in it, from 1.
    pub line: u32,
    /// Module or function.
    pub function: &'a str,
}

/// Logs for a node, or for a part of it whose level can be set on its own. Cloning gives another handle.
#[derive(Clone)]
pub struct Logger {
    log: Arc<NodeLog>,
    name: Arc<str>,
    /// The least level that is logged.
    level: Arc<AtomicU8>,
}

impl Logger {
    /// The logger itself: the macros take a logger or a node.
    pub fn logger(&self) -> &Self {
        self
    }

    /// The name by which `rosconsole` and `runnel log` set its level, such as `ros.driver`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The logger of a part: named below this one, and at its level until it is given one of its own.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        self.log.logger(&format!("{}.{name}", self.name))
    }

    /// The least level that is logged.
    pub fn level(&self) -> Level {
        Level::from_number(self.level.load(Ordering::Relaxed))
    }

    /// Sets the least level that is logged, also for parts that have none of their own.
    pub fn set_level(&self, level: Level) {
        // There is no room for one more name only where the name is new.
        let _ = self.log.set_level(&self.name, level);
    }

    /// Whether a line of this level is logged.
    pub fn is_enabled(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    pub(crate) fn log_of_node(&self) -> &Arc<NodeLog> {
        &self.log
    }

    /// Logs a line if its level is one that is logged. The macros call this.
    pub fn log(&self, level: Level, place: Place<'_>, text: fmt::Arguments<'_>) {
        if self.is_enabled(level) {
            self.log.log(level, &self.name, place, &text.to_string());
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger")
            .field("name", &self.name)
            .field("level", &self.level())
            .finish_non_exhaustive()
    }
}

/// Lets a line pass from time to time. The macros make one for each place.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Throttled(AtomicU64);

impl Throttled {
    /// Before the first line.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// True at first, and then once each `period`.
    pub fn passes(&self, period: Duration) -> bool {
        // Nothing passed before 0, so no time is that.
        let now = clock::monotonic().0.max(1);
        let last = self.0.load(Ordering::Relaxed);
        let over = last == 0 || u128::from(now - last.min(now)) >= period.as_nanos();
        over && self.0.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
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

/// As [`log_at!`], at most once in each period: `log_throttle!(node, Level::Warn, Duration::from_secs(1), "late")`.
#[macro_export]
macro_rules! log_throttle {
    ($node:expr, $level:expr, $period:expr, $($text:tt)+) => {{
        static PASSED: $crate::logging::Throttled = $crate::logging::Throttled::new();
        if $node.logger().is_enabled($level) && PASSED.passes($period) {
            $crate::log_at!($node, $level, $($text)+);
        }
    }};
}

/// As [`log_at!`], the first time only.
#[macro_export]
macro_rules! log_once {
    ($node:expr, $level:expr, $($text:tt)+) => {
        $crate::log_throttle!($node, $level, std::time::Duration::MAX, $($text)+)
    };
}

/// Logs for whoever looks for a fault: `log_debug!(node, "at {place}")`. The node may be a [`Logger`] as well.
#[macro_export]
macro_rules! log_debug {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Debug, $($text)+) };
}

/// Logs what a user may want to know, as [`log_debug!`].
#[macro_export]
macro_rules! log_info {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Info, $($text)+) };
}

/// Logs that something is odd, as [`log_debug!`].
#[macro_export]
macro_rules! log_warn {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Warn, $($text)+) };
}

/// Logs that something failed, as [`log_debug!`].
#[macro_export]
macro_rules! log_error {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Error, $($text)+) };
}

/// Logs that the node cannot go on, as [`log_debug!`].
#[macro_export]
macro_rules! log_fatal {
    ($node:expr, $($text:tt)+) => { $crate::log_at!($node, $crate::logging::Level::Fatal, $($text)+) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_written_as_the_originals_do() {
        for level in Level::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(level));
            assert_eq!(Level::from_number(level as u8), level);
        }
        assert_eq!("Warning".parse(), Ok(Level::Warn));
        assert_eq!(Level::from_number(3), Level::Warn);
        assert_eq!(Level::from_number(200), Level::Fatal);
        let error = "loud".parse::<Level>().expect_err("no level").to_string();
        assert_eq!(error, "\"loud\" is no level: debug, info, warn, error or fatal is");
    }

    #[test]
    fn a_throttled_line_passes_at_first_and_again_when_its_time_is_over() {
        let often = Throttled::new();
        assert!(often.passes(Duration::ZERO) && often.passes(Duration::ZERO));
        let once = Throttled::new();
        assert!(once.passes(Duration::MAX) && !once.passes(Duration::MAX));
    }
}
