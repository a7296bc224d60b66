//! Protocol faults of XML-RPC peers: clients, and servers that answer.

use core::fmt;
use core::time::Duration;

use crate::http::{RequestError, ResponseError};
use crate::xmlrpc::DecodeError;

/// Reason why a client is refused, or its connection closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFault {
    /// It connected at the connection limit, while every open connection was waiting for an answer.
    TooManyConnections {
        /// Open connections.
        open: usize,
    },
    /// It sent no whole request, and was evicted for another client.
    EvictedWithoutRequest,
    /// It was idle the longest, and was evicted for another client.
    EvictedIdle,
    /// Its request was not complete in time.
    RequestTimedOut {
        /// Time allowed.
        within: Duration,
    },
    /// The buffers of all connections together exceed the limit, and its buffer is the largest.
    BufferLimit {
        /// Bytes of its request that have arrived.
        bytes: usize,
    },
    /// It sent too much before it had its answer.
    PipelinedBeyondLimit {
        /// Bytes allowed.
        limit: usize,
    },
    /// Its HTTP request is refused.
    BadRequest(RequestError),
    /// Its request is for a path that is not served.
    UnknownPath(String),
    /// Its request is not an XML-RPC call.
    BadCall(DecodeError),
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyConnections { open } => {
                write!(f, "refused: all {open} connections are in use")
            }
            Self::EvictedWithoutRequest => {
                f.write_str("closed before it sent a whole request, to accept another client")
            }
            Self::EvictedIdle => f.write_str("closed while idle, to accept another client"),
            Self::RequestTimedOut { within } => write!(f, "no whole request arrived within {within:?}"),
            Self::BufferLimit { bytes } => {
                write!(
                    f,
                    "closed {bytes} bytes into its request: all requests together exceed the buffer limit"
                )
            }
            Self::PipelinedBeyondLimit { limit } => {
                write!(f, "closed: it sent more than {limit} bytes ahead of an answer")
            }
            Self::BadRequest(error) => error.fmt(f),
            Self::UnknownPath(path) => write!(f, "path {path} is not served"),
            Self::BadCall(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ClientFault {}

/// Reason why a server's response is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It arrived before the request was sent.
    BeforeRequest,
    /// The buffers of all connections together exceed the limit, and this one is the largest.
    BufferLimit,
    /// It is not HTTP, or exceeds a bound.
    Http(ResponseError),
    /// Its body is not XML-RPC.
    Body(Box<DecodeError>),
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeRequest => f.write_str("it arrived before the request was sent"),
            Self::BufferLimit => f.write_str("closed: all answers together exceed the buffer limit"),
            Self::Http(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AnswerFault {}
