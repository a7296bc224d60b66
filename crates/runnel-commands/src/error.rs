//! Errors of commands, with their exit codes.

use std::fmt;
use std::io;

use runnel::core::names::NameError;

/// Why a command ends early.
#[derive(Debug)]
pub enum CliError {
    /// The command line is invalid. Exit code 2.
    Usage(String),
    /// The command line is invalid, or asks for help, as the parser reports it. Exit code 2, or 0 for help.
    Parser(clap::Error),
    /// The command failed. Exit code 1.
    Failed(String),
    /// The command failed, and its output says why. Exit code 1.
    Answered,
    /// The output is closed, which is no failure.
    ClosedPipe,
}

impl CliError {
    /// A failure with this text.
    pub fn failed(text: impl fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
            Self::Parser(error) => error.fmt(f),
            Self::Answered => f.write_str("see above"),
            Self::ClosedPipe => f.write_str("the output is closed"),
        }
    }
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        Self::Parser(error)
    }
}

impl From<runnel::Error> for CliError {
    fn from(error: runnel::Error) -> Self {
        match error {
            runnel::Error::Name(error) => error.into(),
            runnel::Error::Argument(error) => Self::Usage(error.to_string()),
            error => Self::failed(error),
        }
    }
}

impl From<NameError> for CliError {
    fn from(error: NameError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::failed(error),
        }
    }
}

/// The result of a wait. Ctrl-C ends it like its time-out: the command then sees that its context has ended.
pub fn unless_interrupted(waited: Result<bool, runnel::Error>) -> Result<bool, runnel::Error> {
    match waited {
        Err(runnel::Error::ShuttingDown) => Ok(false),
        waited => waited,
    }
}

/// An error text of the operating system as part of a sentence: without capital letter and number.
pub fn plain(why: &str) -> String {
    let why = why.split(" (os error").next().unwrap_or_default();
    let mut chars = why.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_error_becomes_part_of_a_sentence() {
        assert_eq!(plain("Connection refused (os error 111)"), "connection refused");
        assert_eq!(plain("no such host"), "no such host");
        assert_eq!(plain(""), "");
    }

    #[test]
    fn closed_pipe_is_no_failure() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(matches!(error, CliError::ClosedPipe));
    }
}
