//! Lines on standard error. A node that says nothing when nothing arrives is no help, so what the library has to say
//! goes there, too, unless the program has a logger for it.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use log::LevelFilter;
use runnel_core::sanitize;
use runnel_io::output::Output;

use super::Level;
use super::format::{Line, USUAL};
use crate::sync::{Class, Mutex, assert_may_lock, lock};

/// The variable that names the least level of the library's own lines where the program has no logger.
const LIBRARY_LEVEL: &str = "RUNNEL_LOG";

/// The variable that says how lines look.
const FORMAT: &str = "ROSCONSOLE_FORMAT";

/// What the library's own lines have for a target.
pub(crate) const TARGET: &str = "runnel";

/// Standard error, and how many lines it had not taken when that was last said.
struct Console {
    output: Output,
    said: u64,
}

fn console() -> &'static Mutex<Console> {
    static CONSOLE: OnceLock<Mutex<Console>> = OnceLock::new();
    CONSOLE.get_or_init(|| Mutex::new(Class::Console, Console { output: Output::standard_error(), said: 0 }))
}

impl Console {
    fn line(&mut self, line: &str) {
        let dropped = self.output.dropped();
        if !self.output.line(line) || dropped == self.said {
            return;
        }
        let notice =
            format!("[WARN] {} lines before were dropped: the console took no more", dropped - self.said);
        if self.output.line(&notice) {
            self.said = dropped;
        }
    }
}

/// Lines that the console did not take, because whoever reads it is too slow or has stopped.
pub fn dropped_lines() -> u64 {
    lock(console()).output.dropped()
}

/// Writes what is left of a line that the console took in part, as far as it takes that.
pub(crate) fn flush() {
    lock(console()).output.flush();
}

/// Writes a line.
fn write(line: &str) {
    lock(console()).line(line);
}

/// A line of a node.
pub(crate) fn write_line(line: &Line<'_>) {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    let template = TEMPLATE.get_or_init(|| env::var(FORMAT).unwrap_or_else(|_| USUAL.to_owned()));
    let text = line.render(template);
    write(&if colours() { line.level.painted(text) } else { text });
}

fn colours() -> bool {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    *COLOURS.get_or_init(|| env::var_os("NO_COLOR").is_none() && io::stderr().is_terminal())
}

/// Logs a line of the library's own.
pub(crate) fn say(level: log::Level, text: fmt::Arguments<'_>) {
    // A program has a logger from when it sets a level.
    if log::max_level() != LevelFilter::Off {
        // It may publish what it is given.
        assert_may_lock(Class::RosoutTopics, "the program's logger");
        if log::log_enabled!(target: TARGET, level) {
            log::log!(target: TARGET, level, "{}", sanitize::log_text(&text.to_string()));
        }
    } else {
        show(level, text);
    }
}

/// Writes a line of the library's own, if it is one that is shown.
pub(crate) fn show(level: log::Level, text: fmt::Arguments<'_>) {
    if level <= shown() {
        let line = sanitize::log_text(&format!("[{level}] {text}")).into_owned();
        write(&if colours() { Level::from(level).painted(line) } else { line });
    }
}

/// Warnings and errors, unless the environment asks for more or less.
fn shown() -> LevelFilter {
    static SHOWN: OnceLock<LevelFilter> = OnceLock::new();
    *SHOWN.get_or_init(|| {
        let variable = env::var(LIBRARY_LEVEL).ok();
        level(variable.as_deref()).unwrap_or_else(|| {
            let levels = "off, error, warn, info, debug and trace are known";
            write(&format!(
                "[WARN] {LIBRARY_LEVEL}={} names no level: {levels}",
                variable.unwrap_or_default()
            ));
            LevelFilter::Warn
        })
    })
}

/// The level that the variable names; `None` if it names none.
fn level(variable: Option<&str>) -> Option<LevelFilter> {
    variable.map_or(Some(LevelFilter::Warn), |text| text.parse().ok())
}

macro_rules! error {
    ($($text:tt)+) => { $crate::log_output::console::say(log::Level::Error, format_args!($($text)+)) };
}
macro_rules! warning {
    ($($text:tt)+) => { $crate::log_output::console::say(log::Level::Warn, format_args!($($text)+)) };
}
macro_rules! info {
    ($($text:tt)+) => { $crate::log_output::console::say(log::Level::Info, format_args!($($text)+)) };
}
macro_rules! debug {
    ($($text:tt)+) => { $crate::log_output::console::say(log::Level::Debug, format_args!($($text)+)) };
}
pub(crate) use {debug, error, info, warning};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_shown_unless_the_environment_asks_for_something_else() {
        assert_eq!(level(None), Some(LevelFilter::Warn));
        assert_eq!(level(Some("nonsense")), None);
        assert_eq!(level(Some("off")), Some(LevelFilter::Off));
        assert_eq!(level(Some("Info")), Some(LevelFilter::Info));
    }
}
