//! What users should know goes to the program's logger or, where it has none, to standard error: a node that says
//! nothing when nothing arrives is no help.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;

use log::{Level, LevelFilter};

/// The variable that names the least level to show where the program has no logger.
const VARIABLE: &str = "RUNNEL_LOG";

/// Logs a line.
pub(crate) fn say(level: Level, text: fmt::Arguments<'_>) {
    // A program has a logger from when it sets a level.
    if log::max_level() != LevelFilter::Off {
        log::log!(target: "runnel", level, "{text}");
    } else if level <= shown() {
        // A line that cannot be written is no reason to end.
        let _ = writeln!(io::stderr().lock(), "[{level}] {text}");
    }
}

/// Warnings and errors, unless the environment asks for more or less.
fn shown() -> LevelFilter {
    static SHOWN: OnceLock<LevelFilter> = OnceLock::new();
    *SHOWN.get_or_init(|| level(env::var(VARIABLE).ok().as_deref()))
}

fn level(variable: Option<&str>) -> LevelFilter {
    variable.and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::Warn)
}

macro_rules! error {
    ($($text:tt)+) => { $crate::console::say(log::Level::Error, format_args!($($text)+)) };
}
macro_rules! warning {
    ($($text:tt)+) => { $crate::console::say(log::Level::Warn, format_args!($($text)+)) };
}
macro_rules! info {
    ($($text:tt)+) => { $crate::console::say(log::Level::Info, format_args!($($text)+)) };
}
pub(crate) use {error, info, warning};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_shown_unless_the_environment_asks_for_something_else() {
        assert_eq!(level(None), LevelFilter::Warn);
        assert_eq!(level(Some("nonsense")), LevelFilter::Warn);
        assert_eq!(level(Some("off")), LevelFilter::Off);
        assert_eq!(level(Some("Info")), LevelFilter::Info);
    }
}
