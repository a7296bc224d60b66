//! Errors.

use std::fmt;

use runnel_core::wire::{DecodeError, EncodeError};

use crate::abi;

/// Why an operation failed. The texts are complete: they name the topic, service or parameter.
#[non_exhaustive]
pub enum Error {
    /// A name, type, value or option is not valid, or does not fit what exists.
    Invalid(String),
    /// The manifest of the node does not allow it.
    NotAllowed(String),
    /// The node has as many entities, or as many bytes wait, as its manifest allows.
    TooMany(String),
    /// A message, request or response is longer than its limit; it was not sent.
    TooLong(String),
    /// A subscriber with keep-all history accepted no message for 100 ms.
    Blocked(String),
    /// A message has no ROS 2 encoding, since a value in it is longer than its type allows; it was not sent.
    Encode {
        /// The topic, service or action.
        what: String,
        /// The value.
        why: EncodeError,
    },
    /// A parameter has another type than requested.
    Parameter {
        /// Its name.
        name: String,
        /// Its type.
        is: &'static str,
        /// What the node needs.
        wanted: &'static str,
    },
    /// A service call failed.
    Service {
        /// The service.
        service: String,
        /// The reason.
        why: ServiceError,
    },
    /// An operation does not fit the status of a goal.
    Action {
        /// The action.
        action: String,
        /// The reason.
        why: &'static str,
    },
    /// The rate of a loop is not a positive number.
    Rate {
        /// The rate in hertz.
        hertz: f64,
    },
    /// The node is to end.
    ShuttingDown,
    /// The network or the operating system of the host refuses.
    Io(String),
}

/// Why a service call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service reports an error.
    Failed(String),
    /// There is no such service, or it did not answer.
    NoAnswer(String),
    /// The response cannot be read.
    Malformed(DecodeError),
}

impl Error {
    /// The error of an import, with the text that the host gives.
    pub(crate) fn of_host(code: abi::Error, text: String) -> Self {
        match code {
            abi::Error::NOT_ALLOWED => Self::NotAllowed(text),
            abi::Error::TOO_MANY => Self::TooMany(text),
            abi::Error::TOO_LONG => Self::TooLong(text),
            abi::Error::BLOCKED => Self::Blocked(text),
            abi::Error::SHUTTING_DOWN => Self::ShuttingDown,
            abi::Error::IO | abi::Error::UNAVAILABLE | abi::Error::TIMEOUT | abi::Error::FAILED => {
                Self::Io(text)
            }
            _ => Self::Invalid(text),
        }
    }

    /// The error of a call, from its event.
    pub(crate) fn of_response(service: &str, status: i32, text: String) -> Self {
        let why = match abi::Error(status) {
            abi::Error::SHUTTING_DOWN => return Self::ShuttingDown,
            abi::Error::UNAVAILABLE | abi::Error::TIMEOUT => ServiceError::NoAnswer(text),
            _ => ServiceError::Failed(text),
        };
        Self::Service { service: service.to_owned(), why }
    }

    /// The variant's name.
    fn variant(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "Invalid",
            Self::NotAllowed(_) => "NotAllowed",
            Self::TooMany(_) => "TooMany",
            Self::TooLong(_) => "TooLong",
            Self::Blocked(_) => "Blocked",
            Self::Encode { .. } => "Encode",
            Self::Parameter { .. } => "Parameter",
            Self::Service { .. } => "Service",
            Self::Action { .. } => "Action",
            Self::Rate { .. } => "Rate",
            Self::ShuttingDown => "ShuttingDown",
            Self::Io(_) => "Io",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text)
            | Self::NotAllowed(text)
            | Self::TooMany(text)
            | Self::TooLong(text)
            | Self::Blocked(text)
            | Self::Io(text) => f.write_str(text),
            Self::Encode { what, why } => write!(f, "{what}: {why}"),
            Self::Parameter { name, is, wanted } => {
                write!(f, "parameter {name} is of kind {is}, but the node needs {wanted}")
            }
            Self::Service { service, why } => write!(f, "service {service}: {why}"),
            Self::Action { action, why } => write!(f, "action {action}: {why}"),
            Self::Rate { hertz } => write!(f, "rate of {hertz} Hz: not a positive number"),
            Self::ShuttingDown => f.write_str("the context is shutting down"),
        }
    }
}

/// The variant, then the text, which a `main` that returns the error prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self}", self.variant())
    }
}

impl std::error::Error for Error {}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) if why.is_empty() => f.write_str("it failed without saying why"),
            Self::Failed(why) => write!(f, "it failed: {why}"),
            Self::NoAnswer(why) => f.write_str(why),
            Self::Malformed(error) => write!(f, "its response cannot be read: {error}"),
        }
    }
}

impl std::error::Error for ServiceError {}
