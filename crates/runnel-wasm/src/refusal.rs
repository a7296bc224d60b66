//! Errors that a guest gets from a function, or by which it ends.

use std::fmt;
use std::time::Duration;

use runnel::Error;

/// Why a function refuses; as `error` in the interface's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    NoSuchHandle,
    Invalid,
    NotAllowed,
    TooMany,
    TooLong,
    Blocked,
    Unavailable,
    Timeout,
    Failed,
    ShuttingDown,
    Io,
}

impl Refused {
    /// What the function returns.
    pub fn status(self) -> i32 {
        -1 - self as i32
    }
}

/// What a function answers when it does not do what it was asked.
#[derive(Debug)]
pub enum Refusal {
    /// The guest gets an error, and its text from `last-error`.
    Error(Refused, String),
    /// The guest ends.
    Trap(wasmtime::Error),
}

impl Refusal {
    pub fn new(refused: Refused, text: impl Into<String>) -> Self {
        Self::Error(refused, text.into())
    }

    pub fn invalid(why: impl fmt::Display) -> Self {
        Self::new(Refused::Invalid, why.to_string())
    }

    /// No entity of the wanted kind has the handle.
    pub fn no_such_handle(handle: u32, kind: &str) -> Self {
        Self::new(Refused::NoSuchHandle, format!("handle {handle} is of no {kind}"))
    }

    /// The guest is ended from outside.
    pub fn stopped(stopped: Stopped) -> Self {
        Self::Trap(wasmtime::Error::new(stopped))
    }

    /// The guest gave a place that is not in its memory.
    pub fn out_of_bounds(address: u32, length: usize, memory: usize) -> Self {
        Self::Trap(wasmtime::Error::msg(format!(
            "it gave the host {length} bytes at address {address}, outside of its memory of {memory} bytes"
        )))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let refused = match &error {
            Error::Blocked { .. } => Refused::Blocked,
            Error::TooLong { .. } => Refused::TooLong,
            Error::ShuttingDown => Refused::ShuttingDown,
            Error::Io { .. } => Refused::Io,
            _ => Refused::Invalid,
        };
        Self::new(refused, error.to_string())
    }
}

/// The error with which a guest is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// By its control.
    ByControl,
    /// Because it ran for longer than this without waiting.
    Overrun(Duration),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByControl => f.write_str("it was stopped"),
            Self::Overrun(limit) => write!(f, "it ran for more than {limit:?} without waiting for events"),
        }
    }
}

impl std::error::Error for Stopped {}
