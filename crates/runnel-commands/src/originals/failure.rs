//! How a program in the place of an original fails: text, stream and exit code of the original.

use std::fmt;

use crate::error::CliError;
use crate::output::{print_error, print_own};

/// Why a program ends early.
#[derive(Debug)]
pub enum Failure {
    /// A failure or wrong usage, printed in the program's form.
    Cli(CliError),
    /// Text on standard error, unchanged, and the exit code.
    Error { code: u8, text: String },
    /// Text on standard output, and the exit code.
    Output { code: u8, text: String },
    /// The same, then a hint on standard error, so that scripts that read standard output find only the text.
    OutputWithHint { code: u8, text: String, hint: String },
}

impl Failure {
    /// Wrong usage. Exit code 2.
    pub fn usage(text: impl fmt::Display) -> Self {
        CliError::Usage(text.to_string()).into()
    }

    /// A failure.
    pub fn failed(text: impl fmt::Display) -> Self {
        CliError::failed(text).into()
    }

    /// Text on standard error, and an exit code.
    pub fn error(code: u8, text: impl fmt::Display) -> Self {
        Self::Error { code, text: text.to_string() }
    }

    /// Prints the failure of a program, with `prefix` before the reason. Returns the exit code, which is `code` unless
    /// the failure has its own.
    pub fn report(self, program: &str, prefix: &str, code: u8) -> u8 {
        match self {
            Self::Cli(CliError::ClosedPipe) => 0,
            Self::Cli(CliError::Answered) => code,
            Self::Cli(CliError::Failed(text)) => {
                print_error(&format!("{prefix}{text}"));
                code
            }
            Self::Cli(error) => {
                print_error(&format!("{program}: error: {error}"));
                2
            }
            Self::Error { code, text } => {
                print_error(&text);
                code
            }
            Self::Output { code, text } => {
                print_own(&text);
                code
            }
            Self::OutputWithHint { code, text, hint } => {
                print_own(&text);
                print_error(&format!("{program}: error: {hint}"));
                code
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cli(error) => error.fmt(f),
            Self::Error { text, .. } | Self::Output { text, .. } | Self::OutputWithHint { text, .. } => {
                f.write_str(text)
            }
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
