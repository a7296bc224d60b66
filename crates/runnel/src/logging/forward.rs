//! Adapter from the `log` crate to a node's log.

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};

use crate::log_output::{Place, console};
use crate::node::Node;
use crate::node_log::Logger;

struct Forward(Logger);

impl Node {
    /// Sends everything that this process logs with the `log` crate to this node's log: console, file and `/rosout`.
    /// Call it once, in a process without another logger.
    ///
    /// # Errors
    /// If the process already has a logger.
    pub fn install_logger(&self) -> Result<(), SetLoggerError> {
        log::set_boxed_logger(Box::new(Forward(self.logger().clone())))?;
        // The level is that of the node's logger, which other programs can set.
        log::set_max_level(LevelFilter::Trace);
        Ok(())
    }
}

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata.target()) || self.0.is_enabled(metadata.level().into())
    }

    fn log(&self, record: &Record<'_>) {
        // The library's lines about a node are already published on /rosout.
        if is_ours(record.target()) {
            return console::write_own_line(record.level(), *record.args());
        }
        let place = Place {
            file: record.file().unwrap_or_default(),
            line: record.line().unwrap_or_default(),
            function: record.module_path().unwrap_or_default(),
        };
        self.0.log(record.level().into(), place, *record.args());
    }

    fn flush(&self) {}
}

fn is_ours(target: &str) -> bool {
    target == console::TARGET
}
