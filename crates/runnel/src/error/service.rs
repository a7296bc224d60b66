//! Errors of service calls.

use std::fmt;

use runnel_core::bounds::LengthBeyondLimit;
use runnel_core::wire::{DecodeError, NoMemory};
use runnel_ros1::node::ServiceFailure;

/// Why a service call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service reports an error.
    Failed(String),
    /// There is no such service, or it did not answer.
    NoAnswer(ServiceFailure),
    /// The response cannot be read.
    Malformed(DecodeError),
    /// The response cannot be read as the discovered type.
    Unreadable(String),
    /// The request is longer than services accept.
    TooLong(LengthBeyondLimit),
    /// The request cannot be represented in the graph that has the service.
    NotEncodable(String),
    /// There is no memory for the request.
    NoMemory(NoMemory),
    /// The service is in this process, and its callback makes the call itself or never ends.
    Busy,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) if why.is_empty() => f.write_str("it failed without saying why"),
            Self::Failed(why) => write!(f, "it failed: {why}"),
            Self::NoAnswer(why) => why.fmt(f),
            Self::Malformed(error) => write!(f, "its response cannot be read: {error}"),
            Self::Unreadable(why) => write!(f, "its response cannot be read: {why}"),
            Self::TooLong(length) => write!(f, "the request: {length}"),
            Self::NotEncodable(why) => write!(f, "the request: {why}"),
            Self::NoMemory(refused) => write!(f, "the request: {refused}"),
            Self::Busy => f.write_str(
                "it is of this process, and its callback did not end in time: it calls the service itself, or runs for long. \
                 Try: another callback group, or create_deferred_service",
            ),
        }
    }
}

impl std::error::Error for ServiceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoAnswer(why) => Some(why),
            Self::Malformed(error) => Some(error),
            Self::TooLong(length) => Some(length),
            Self::NoMemory(refused) => Some(refused),
            Self::Failed(_) | Self::Unreadable(_) | Self::NotEncodable(_) | Self::Busy => None,
        }
    }
}
