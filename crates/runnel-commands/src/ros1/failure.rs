//! How a program of ROS 1 ends early: the text, the stream and the exit code of the original.

use std::fmt;

use super::front::Program;
use super::tell;
use crate::error::CliError;
use crate::output::tell_own;

/// Why a program ends early.
#[derive(Debug)]
pub enum Failure {
    /// It could not be done, or the arguments are wrong: told as the program tells it.
    Cli(CliError),
    /// What the program says on standard error, word for word, and its exit code.
    Said { code: u8, text: String },
    /// What is printed on standard output before the program ends with this code.
    Shown { code: u8, text: String },
}

impl Failure {
    /// Wrong usage. Exit code 2.
    pub fn usage(text: impl fmt::Display) -> Self {
        CliError::Usage(text.to_string()).into()
    }

    /// It could not be done.
    pub fn failed(text: impl fmt::Display) -> Self {
        CliError::failed(text).into()
    }

    /// Words on standard error, and an exit code.
    pub fn said(code: u8, text: impl fmt::Display) -> Self {
        Self::Said { code, text: text.to_string() }
    }

    /// Tells the user; gives the exit code.
    pub fn report(self, program: Program) -> u8 {
        match self {
            Self::Cli(CliError::ClosedPipe) => 0,
            Self::Cli(CliError::Answered) => program.failure_code(),
            Self::Cli(CliError::Failed(text)) => {
                tell(&format!("ERROR: {text}"));
                program.failure_code()
            }
            Self::Cli(error) => {
                tell(&format!("{}: error: {error}", program.name()));
                2
            }
            Self::Said { code, text } => {
                tell(&text);
                code
            }
            Self::Shown { code, text } => {
                tell_own(&text);
                code
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cli(error) => error.fmt(f),
            Self::Said { text, .. } | Self::Shown { text, .. } => f.write_str(text),
        }
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Self::Cli(error)
    }
}

impl From<runnel::Error> for Failure {
    fn from(error: runnel::Error) -> Self {
        CliError::from(error).into()
    }
}
