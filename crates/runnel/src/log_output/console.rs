//! Log lines on the console. The library's own lines go to standard error, unless the program has a logger, since a
//! node that receives nothing should say why.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use log::LevelFilter;
use runnel_core::sanitize;
use runnel_io::output::Output;

use super::{held_lines, painted};
use crate::sync::{Class, Mutex, assert_may_lock, assert_not_locked, lock};

/// The variable with the lowest level of the library's own lines, used without a logger of the program.
const LIBRARY_LEVEL: &str = "RUNNEL_LOG";

/// The target of the library's own lines.
pub(crate) const TARGET: &str = "runnel";

/// A stream of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    StandardError,
    StandardOutput,
}

impl Stream {
    const ALL: [Self; 2] = [Self::StandardError, Self::StandardOutput];
}

/// A stream, and the number of dropped lines when it was last reported.
struct Console {
    output: Output<Box<dyn AsFd + Send>>,
    reported: u64,
}

fn console(stream: Stream) -> &'static Mutex<Console> {
    static CONSOLES: [OnceLock<Mutex<Console>>; 2] = [const { OnceLock::new() }; 2];
    CONSOLES[stream as usize].get_or_init(|| {
        let target: Box<dyn AsFd + Send> = match stream {
            Stream::StandardError => Box::new(io::stderr()),
            Stream::StandardOutput => Box::new(io::stdout()),
        };
        Mutex::new(Class::Console, Console { output: Output::to(target), reported: 0 })
    })
}

impl Console {
    fn line(&mut self, line: &str) {
        let dropped = self.output.dropped();
        if !self.output.line(line) || dropped == self.reported {
            return;
        }
        let notice =
            format!("[WARN] {} lines before were dropped: the console took no more", dropped - self.reported);
        if self.output.line(&notice) {
            self.reported = dropped;
        }
    }
}

/// Lines that the console dropped, because its reader is too slow or has stopped.
pub fn dropped_lines() -> u64 {
    Stream::ALL.into_iter().map(|stream| lock(console(stream)).output.dropped()).sum()
}

/// Writes the rest of lines that the console accepted in part.
pub(crate) fn flush() {
    for stream in Stream::ALL {
        lock(console(stream)).output.flush();
    }
}

/// Writes a line to standard error.
fn write(line: &str) {
    write_to(Stream::StandardError, line);
}

/// Writes a line.
pub(crate) fn write_to(stream: Stream, line: &str) {
    lock(console(stream)).line(line);
}

fn colours() -> bool {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    *COLOURS.get_or_init(|| env::var_os("NO_COLOR").is_none() && io::stderr().is_terminal())
}

/// Logs a line of the library: by the program's logger if it has one, else on standard error.
pub(crate) fn log_line(level: log::Level, text: fmt::Arguments<'_>) {
    if !held_lines::keep(level, text) && !forward(level, text) {
        write_own_line(level, text);
    }
}

/// Logs a line of the library by the program's logger. False if the program has none.
pub(crate) fn forward(level: log::Level, text: fmt::Arguments<'_>) -> bool {
    // A program with a logger sets a level.
    if log::max_level() == LevelFilter::Off {
        return false;
    }
    // The logger may publish the line, or use an action server.
    assert_not_locked(Class::GoalTable, "the program's logger");
    assert_may_lock(Class::RosoutTopics, "the program's logger");
    if log::log_enabled!(target: TARGET, level) {
        log::log!(target: TARGET, level, "{}", sanitize::log_text(&text.to_string()));
    }
    true
}

/// Writes a line of the library, if its level is shown.
pub(crate) fn write_own_line(level: log::Level, text: fmt::Arguments<'_>) {
    if level <= shown_level() {
        let line = sanitize::log_text(&format!("[{level}] {text}")).into_owned();
        write(&if colours() { painted(level.into(), line) } else { line });
    }
}

/// Warnings and errors, unless the environment sets another level.
fn shown_level() -> LevelFilter {
    static SHOWN_LEVEL: OnceLock<LevelFilter> = OnceLock::new();
    *SHOWN_LEVEL.get_or_init(|| {
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
    ($($text:tt)+) => { $crate::log_output::console::log_line(log::Level::Error, format_args!($($text)+)) };
}
macro_rules! warning {
    ($($text:tt)+) => { $crate::log_output::console::log_line(log::Level::Warn, format_args!($($text)+)) };
}
macro_rules! info {
    ($($text:tt)+) => { $crate::log_output::console::log_line(log::Level::Info, format_args!($($text)+)) };
}
macro_rules! debug {
    ($($text:tt)+) => { $crate::log_output::console::log_line(log::Level::Debug, format_args!($($text)+)) };
}
pub(crate) use {debug, error, info, warning};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_sets_shown_level() {
        assert_eq!(level(None), Some(LevelFilter::Warn));
        assert_eq!(level(Some("nonsense")), None);
        assert_eq!(level(Some("off")), Some(LevelFilter::Off));
        assert_eq!(level(Some("Info")), Some(LevelFilter::Info));
    }
}
