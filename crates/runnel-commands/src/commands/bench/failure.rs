//! Why a figure is missing.

use std::fmt;
use std::io;

/// Why a run has no result.
#[derive(Debug)]
pub enum Failure {
    /// The user interrupted.
    Interrupted,
    /// A program did not do its part in time.
    TooLate {
        /// The program.
        program: String,
        /// What the bench waited for.
        what: String,
    },
    /// A program ended without doing its part.
    Ended {
        /// The program.
        program: String,
        /// How it ended, with its last error line.
        how: String,
    },
    /// The reports of both ends contradict each other.
    Contradiction(String),
    /// A program or a file is missing.
    Missing(String),
}

impl Failure {
    /// Adds to an error of the operating system what it is about.
    pub fn missing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Missing(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooLate { program, what } => write!(f, "{program}: too late with {what}"),
            Self::Ended { program, how } => write!(f, "{program}: {how}"),
            Self::Contradiction(what) | Self::Missing(what) => f.write_str(what),
        }
    }
}
