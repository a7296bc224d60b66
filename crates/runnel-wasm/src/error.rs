//! Errors of guests and their programs.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a program cannot be used, or why a guest has ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum GuestError {
    /// A file cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file or text is not a compiled node that this host can run.
    Program {
        /// The file or program.
        name: String,
        /// Why, and what helps.
        why: String,
    },
    /// A node cannot be checkpointed, or a checkpoint cannot be restored.
    Checkpoint {
        /// The file, or the node.
        name: String,
        /// Why, and what helps.
        why: String,
    },
    /// The node did what ends it: an access outside its memory, endless recursion, or `unreachable`, as after a panic.
    Trap {
        /// What it did.
        what: String,
        /// The functions that were running, the innermost first.
        backtrace: Vec<String>,
    },
    /// The node did not return to its event loop in time.
    Overrun {
        /// The longest allowed time.
        limit: std::time::Duration,
        /// The functions that were running, the innermost first.
        backtrace: Vec<String>,
    },
    /// The program ended with an exit status other than 0.
    Exit(i32),
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Program { name, why } | Self::Checkpoint { name, why } => write!(f, "{name}: {why}"),
            Self::Trap { what, backtrace } => {
                write!(f, "the node ended: {what}")?;
                write_backtrace(f, backtrace)
            }
            Self::Overrun { limit, backtrace } => {
                write!(f, "the node was ended: it ran for more than {limit:?} without waiting for events")?;
                write_backtrace(f, backtrace)
            }
            Self::Exit(status) => write!(f, "the node ended with exit status {status}"),
        }
    }
}

fn write_backtrace(f: &mut fmt::Formatter<'_>, backtrace: &[String]) -> fmt::Result {
    backtrace.iter().try_for_each(|function| write!(f, "\n    in {function}"))
}

impl std::error::Error for GuestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
