//! Logging of a node: the host writes to the console, the log file and `/rosout`.

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};

pub use crate::logger::{Level, Logger};
use crate::node::Node;

impl Node {
    /// Sends everything that the program logs with the `log` crate to this node's log. Call it once.
    ///
    /// # Errors
    /// If the program already has a logger.
    pub fn install_logger(&self) -> Result<(), SetLoggerError> {
        log::set_boxed_logger(Box::new(Forward(self.logger().clone())))?;
        // The host has the level of the node.
        log::set_max_level(LevelFilter::Debug);
        Ok(())
    }
}

struct Forward(Logger);

impl Log for Forward {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = match record.level() {
            log::Level::Error => Level::Error,
            log::Level::Warn => Level::Warn,
            log::Level::Info => Level::Info,
            log::Level::Debug | log::Level::Trace => Level::Debug,
        };
        self.0.log(level, *record.args());
    }

    fn flush(&self) {}
}

/// Logs at a level: `log_at!(node, Level::Warn, "{} left", count)`.
#[macro_export]
macro_rules! log_at {
    ($node:expr, $level:expr, $($text:tt)+) => {
        $node.logger().log($level, format_args!($($text)+))
    };
}

/// Logs for debugging: `log_debug!(node, "at {place}")`.
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
