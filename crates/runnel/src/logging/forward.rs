//! What a program and its libraries log with the `log` crate goes the way of a node's own lines.

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};

use crate::log_output::{Place, console};
use crate::node::Node;
use crate::node_log::Logger;

struct Forward(Logger);

impl Node {
    /// Has everything that this process logs with the `log` crate go the way of this node's own lines: console, file and
    /// `/rosout`. Call it once, in a process that has no other logger.
    ///
    /// # Errors
    /// When the process has a logger already.
    pub fn install_logger(&self) -> Result<(), SetLoggerError> {
        log::set_boxed_logger(Box::new(Forward(self.logger().clone())))?;
        // The node's own level decides, which can be set from elsewhere.
        log::set_max_level(LevelFilter::Trace);
        Ok(())
    }
}

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_ours(metadata.target()) || self.0.is_enabled(metadata.level().into())
    }

    fn log(&self, record: &Record<'_>) {
        // What the library says of a node is on its way to /rosout already.
        if is_ours(record.target()) {
            return console::show(record.level(), *record.args());
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
