//! Calls that this process makes, and how they fail.

use core::fmt;
use core::time::Duration;

use super::{AnswerFault, Uri};
use crate::xmlrpc::{EncodeProblem, Fault};

/// One call. Never used twice within the life of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// How long the answer may take, since it is the call's turn after others to the same server: connecting is part of it.
    pub timeout: Duration,
    /// How long the answer may take since the call is made: waiting for its turn is part of it.
    pub total_timeout: Duration,
    /// Whether the connection is shared with other calls to the same host and port, and stays open after them.
    pub keep_open: bool,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The server.
    pub uri: Uri,
    /// Its method.
    pub method: String,
}

impl fmt::Display for CallTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.method, self.uri)
    }
}

/// How a call failed. Every kind names what was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// No connection could be opened.
    Unreachable {
        /// What was called.
        call: CallTarget,
        /// What the operating system said, if it said something.
        why: Option<String>,
        /// Whether one was tried; not if the host has no address.
        is_tried: bool,
    },
    /// There was no answer in time.
    TimedOut {
        /// What was called.
        call: CallTarget,
    },
    /// The connection ended before the answer was whole. The call may have been carried out.
    Closed {
        /// What was called.
        call: CallTarget,
        /// What is known of the end.
        why: Option<String>,
    },
    /// The server carried nothing out, and said why.
    Fault {
        /// What was called.
        call: CallTarget,
        /// What the server said.
        fault: Fault,
    },
    /// The answer is no XML-RPC over HTTP, or exceeds a bound.
    BadResponse {
        /// What was called.
        call: CallTarget,
        /// What is wrong with it.
        why: AnswerFault,
    },
    /// The call cannot be written as XML.
    BadRequest {
        /// What was to be called.
        call: CallTarget,
        /// What is wrong with it.
        why: EncodeProblem,
    },
    /// As many calls as are allowed were waiting.
    TooManyCalls {
        /// What was to be called.
        call: CallTarget,
    },
}

impl CallError {
    /// What was called.
    pub fn call(&self) -> &CallTarget {
        match self {
            Self::Unreachable { call, .. }
            | Self::TimedOut { call }
            | Self::Closed { call, .. }
            | Self::Fault { call, .. }
            | Self::BadResponse { call, .. }
            | Self::BadRequest { call, .. }
            | Self::TooManyCalls { call } => call,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |why: &Option<String>| why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        write!(f, "call of {}: ", self.call())?;
        match self {
            Self::Unreachable { why, .. } => write!(f, "cannot connect{}", because(why)),
            Self::TimedOut { .. } => f.write_str("no answer in time"),
            Self::Closed { why, .. } => write!(f, "connection closed before the answer{}", because(why)),
            Self::Fault { fault, .. } => fault.fmt(f),
            Self::BadResponse { why, .. } => write!(f, "bad answer: {why}"),
            Self::BadRequest { why, .. } => write!(f, "cannot be sent: {why}"),
            Self::TooManyCalls { .. } => f.write_str("too many calls are waiting"),
        }
    }
}

impl core::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_server_method_and_reason() {
        let uri = Uri::parse("http://robot:11311").expect("an address");
        let call = CallTarget { uri, method: "getPid".to_owned() };
        let why = Some("refused".to_owned());
        let error = CallError::Unreachable { call: call.clone(), why, is_tried: true };
        assert_eq!(error.to_string(), "call of getPid of http://robot:11311/: cannot connect: refused");
        let fault = Fault { code: -1, message: "no".to_owned() };
        let error = CallError::Fault { call, fault };
        assert_eq!(error.to_string(), "call of getPid of http://robot:11311/: fault -1: no");
    }
}
