//! Logger of a node.

use std::fmt;

use crate::abi::{Handle, Severity};
use crate::host;

/// The severity of a line. Numbers are those of `rosgraph_msgs/Log`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// For debugging.
    Debug = 1,
    /// Information for users.
    Info = 2,
    /// Something unexpected; the node continues.
    Warn = 4,
    /// Something failed.
    Error = 8,
    /// The node cannot continue.
    Fatal = 16,
}

/// Logs for a node.
#[derive(Clone, Debug)]
pub struct Logger(Handle);

impl Logger {
    pub(crate) fn new(node: Handle) -> Self {
        Self(node)
    }

    /// The logger itself: the macros accept a logger or a node.
    pub fn logger(&self) -> &Self {
        self
    }

    /// Logs a line. The macros call this.
    pub fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        let severity = match level {
            Level::Debug => Severity::DEBUG,
            Level::Info => Severity::INFO,
            Level::Warn => Severity::WARN,
            Level::Error => Severity::ERROR,
            Level::Fatal => Severity::FATAL,
        };
        host::log(self.0, severity, &text.to_string());
    }
}
