//! Log lines and their destinations: the console and files.
//!
//! Publication on `/rosout` is built on this: see [`logging`](crate::logging).

pub(crate) mod console;
pub(crate) mod destinations;
pub(crate) mod file;
pub(crate) mod format;
pub(crate) mod held_lines;
pub(crate) mod loggers;
pub(crate) mod rcutils;
pub(crate) mod throttle;

use std::fmt;
use std::str::FromStr;

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

impl Level {
    /// All levels, the least severe first.
    pub const ALL: [Self; 5] = [Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// The level of this number; a number between two levels counts as the more severe one.
    pub fn from_number(number: u8) -> Self {
        Self::ALL.into_iter().find(|level| *level as u8 >= number).unwrap_or(Self::Fatal)
    }

    /// The name in capital letters, such as `WARN`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    /// The number in ROS 2, of `rcl_interfaces/msg/Log`.
    pub fn ros2_number(self) -> u8 {
        match self {
            Self::Debug => 10,
            Self::Info => 20,
            Self::Warn => 30,
            Self::Error => 40,
            Self::Fatal => 50,
        }
    }
}

/// A line for a terminal, in roscpp's colour of the level.
pub fn painted(level: Level, line: String) -> String {
    let colour = match level {
        Level::Debug => 32,
        Level::Info => return line,
        Level::Warn => 33,
        Level::Error | Level::Fatal => 31,
    };
    format!("\x1b[{colour}m{line}\x1b[0m")
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
        write!(f, "{:?} is not a level: use debug, info, warn, error or fatal", self.0)
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    /// Ignores case, and accepts `warning` too.
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        let same = |level: &Self| text.eq_ignore_ascii_case(level.name());
        let level = Self::ALL.into_iter().find(same);
        level
            .or_else(|| text.eq_ignore_ascii_case("warning").then_some(Self::Warn))
            .ok_or_else(|| UnknownLevel(text.chars().take(40).collect()))
    }
}

/// The place in a program where a line is logged. The macros fill it in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The source file.
    pub file: &'a str,
    /// The line in it, from 1.
    pub line: u32,
    /// The module or function.
    pub function: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_match_original_names_and_numbers() {
        for level in Level::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(level));
            assert_eq!(Level::from_number(level as u8), level);
        }
        assert_eq!("Warning".parse(), Ok(Level::Warn));
        assert_eq!(Level::from_number(3), Level::Warn);
        assert_eq!(Level::from_number(200), Level::Fatal);
        assert_eq!(Level::ALL.map(Level::ros2_number), [10, 20, 30, 40, 50]);
        let error = "loud".parse::<Level>().expect_err("no level").to_string();
        assert_eq!(error, "\"loud\" is not a level: use debug, info, warn, error or fatal");
    }
}
