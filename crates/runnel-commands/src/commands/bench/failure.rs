//! Why something has no figures.

use std::fmt;
use std::io;

/// Why a run came to nothing.
#[derive(Debug)]
pub enum Failure {
    /// The user has asked for the end.
    Interrupted,
    /// A program did not do its part in time.
    TooLate {
        /// The program.
        who: String,
        /// What was waited for.
        what: String,
    },
    /// A program ended without doing its part.
    Ended {
        /// The program.
        who: String,
        /// How, with the last that it said.
        how: String,
    },
    /// What the ends tell does not fit together.
    Contradiction(String),
    /// A program or a file could not be had.
    Missing(String),
}

impl Failure {
    /// Adds to an error of the operating system what it was about.
    pub fn missing(what: impl fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Missing(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::TooLate { who, what } => write!(f, "{who}: too late with {what}"),
            Self::Ended { who, how } => write!(f, "{who}: {how}"),
            Self::Contradiction(what) | Self::Missing(what) => f.write_str(what),
        }
    }
}
