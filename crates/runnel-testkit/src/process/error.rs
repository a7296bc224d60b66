//! Errors of child processes.

use std::fmt;
use std::io;

use super::LINES_KEPT;

/// An error of a peer, with its name and last output.
pub struct PeerError {
    pub(super) name: String,
    pub(super) kind: PeerErrorKind,
    pub(super) output: String,
}

impl PeerError {
    /// The kind of error.
    pub fn kind(&self) -> &PeerErrorKind {
        &self.kind
    }
}

/// Kinds of errors of a peer.
#[derive(Debug)]
pub enum PeerErrorKind {
    /// The program could not be started.
    NotStarted {
        /// The requested program.
        program: String,
        /// The system's error.
        error: io::Error,
    },
    /// The deadline passed while waiting for this.
    TooLate(&'static str),
    /// Both output streams ended without the expected line.
    Silent,
    /// This many lines were dropped before they were examined.
    Missed(u64),
    /// A system call failed.
    System(io::Error),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "peer {}: ", self.name)?;
        match &self.kind {
            PeerErrorKind::NotStarted { program, error } => write!(f, "cannot start {program}: {error}")?,
            PeerErrorKind::TooLate(what) => write!(f, "the deadline passed while waiting for {what}")?,
            PeerErrorKind::Silent => write!(f, "its output ended without the expected line")?,
            PeerErrorKind::Missed(lines) => {
                write!(
                    f,
                    "{lines} lines were dropped before they were examined: only the last {LINES_KEPT} are kept"
                )?;
            }
            PeerErrorKind::System(error) => write!(f, "{error}")?,
        }
        match self.output.as_str() {
            "" => write!(f, " (it printed nothing)"),
            output => write!(f, "; its output:\n{output}"),
        }
    }
}

/// As `Display`, so that a failed `unwrap` shows the output as lines.
impl fmt::Debug for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PeerError {}
