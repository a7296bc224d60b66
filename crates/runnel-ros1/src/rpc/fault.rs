//! What peers do wrong: clients of ours, and servers that answer.

use core::fmt;
use core::time::Duration;

use crate::http::{RequestError, ResponseError};
use crate::xmlrpc::DecodeError;

/// Why a client is refused, or its connection closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFault {
    /// It connected when as many as are allowed had, all of which wait for an answer.
    TooManyConnections {
        /// How many those are.
        open: usize,
    },
    /// It sent no whole request in time, and gives way to another client.
    DisplacedUnproven,
    /// It had nothing to say for longest, and gives way to another client.
    DisplacedIdle,
    /// Its request was not whole in time.
    RequestTimedOut {
        /// How long it may take.
        within: Duration,
    },
    /// All connections together hold too much, and its holds most.
    BeyondBuffers {
        /// Bytes of its request that have come.
        bytes: usize,
    },
    /// It sent too much before it had its answer.
    PipelinedBeyondLimit {
        /// What is allowed, in bytes.
        limit: usize,
    },
    /// Its request is not acceptable.
    BadRequest(RequestError),
    /// Its request is for a path where nothing is.
    UnknownPath(String),
    /// Its request is no call.
    BadCall(DecodeError),
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyConnections { open } => {
                write!(f, "{open} connections are open, none of them idle")
            }
            Self::DisplacedUnproven => {
                f.write_str("closed without a whole request, to make room for another client")
            }
            Self::DisplacedIdle => f.write_str("closed while idle, to make room for another client"),
            Self::RequestTimedOut { within } => write!(f, "no whole request within {within:?}"),
            Self::BeyondBuffers { bytes } => {
                write!(f, "closed for want of room, {bytes} bytes into its request")
            }
            Self::PipelinedBeyondLimit { limit } => {
                write!(f, "sent more than {limit} bytes ahead of an answer")
            }
            Self::BadRequest(error) => error.fmt(f),
            Self::UnknownPath(path) => write!(f, "nothing is at {path}"),
            Self::BadCall(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ClientFault {}

/// Why a server's answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It came before the request was sent.
    BeforeRequest,
    /// All connections together hold too much, and this one holds most.
    BeyondBuffers,
    /// It is no HTTP, or exceeds a bound.
    Http(ResponseError),
    /// It is no XML-RPC.
    Body(Box<DecodeError>),
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeRequest => f.write_str("it came before the request"),
            Self::BeyondBuffers => f.write_str("closed for want of room"),
            Self::Http(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for AnswerFault {}
