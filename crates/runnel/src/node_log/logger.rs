//! Logger handles for users.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::NodeLog;
use crate::log_output::loggers::ROOT;
use crate::log_output::{Level, Place};

/// Logs for a node, or for a part of it with its own level. Cloning returns another handle.
#[derive(Clone)]
pub struct Logger {
    log: Arc<NodeLog>,
    name: Arc<str>,
    /// The lowest level that is logged.
    level: Arc<AtomicU8>,
}

impl Logger {
    /// The node's root logger.
    pub(crate) fn root(log: &Arc<NodeLog>) -> Self {
        Self::of(log, ROOT)
    }

    fn of(log: &Arc<NodeLog>, name: &str) -> Self {
        Self { log: Arc::clone(log), name: Arc::from(name), level: log.loggers.handle(name) }
    }

    /// The logger itself: the macros accept a logger or a node.
    pub fn logger(&self) -> &Self {
        self
    }

    /// The name with which `rosconsole` and `runnel log` set its level, such as `ros.driver`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The logger of a part, named below this one. It has this one's level until its own is set.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self::of(&self.log, &format!("{}.{name}", self.name))
    }

    /// The lowest level that is logged.
    pub fn level(&self) -> Level {
        Level::from_number(self.level.load(Ordering::Relaxed))
    }

    /// Sets the lowest level that is logged, also for parts without their own level.
    pub fn set_level(&self, level: Level) {
        // Setting the level only fails for a new name beyond the limit.
        let _ = self.log.set_level(&self.name, level);
    }

    /// Whether a line of this level is logged.
    pub fn is_enabled(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    pub(crate) fn log_of_node(&self) -> &Arc<NodeLog> {
        &self.log
    }

    /// Logs a line if its level is enabled. The macros call this.
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
