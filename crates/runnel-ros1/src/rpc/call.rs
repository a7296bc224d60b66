//! Outgoing calls and their errors.

use core::fmt;
use core::time::Duration;

use super::{AnswerFault, Uri};
use crate::xmlrpc::{EncodeProblem, Fault};

/// Id of a call. A peer never uses an id twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Options of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOptions {
    /// Time for the answer, from the call's turn after others to the same server. Connecting counts.
    pub timeout: Duration,
    /// Time for the answer, from the call itself. Waiting for its turn counts.
    pub total_timeout: Duration,
    /// Whether the connection is shared with other calls to the same host and port, and stays open after them.
    pub keep_open: bool,
}

/// Server and method of a call.
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

/// Reason why a call failed. Every variant names the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// No connection could be opened.
    Unreachable {
        /// The call.
        call: CallTarget,
        /// The operating system's error, if there was one.
        why: Option<String>,
        /// Whether a connection was attempted. False if the host name has no address.
        is_attempted: bool,
    },
    /// No answer arrived in time.
    TimedOut {
        /// The call.
        call: CallTarget,
    },
    /// The connection ended before the answer was complete. The server may have carried out the call.
    Closed {
        /// The call.
        call: CallTarget,
        /// The error, if there was one.
        why: Option<String>,
    },
    /// The server answered with a fault.
    Fault {
        /// The call.
        call: CallTarget,
        /// The fault.
        fault: Fault,
    },
    /// The answer is not XML-RPC over HTTP, or exceeds a bound.
    BadResponse {
        /// The call.
        call: CallTarget,
        /// The reason.
        why: AnswerFault,
    },
    /// The call cannot be written as XML.
    BadRequest {
        /// The call.
        call: CallTarget,
        /// The reason.
        why: EncodeProblem,
    },
    /// The limit of waiting calls is reached.
    TooManyCalls {
        /// The call.
        call: CallTarget,
    },
}

impl CallError {
    /// The call that failed.
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

    /// The reason as text, without the call.
    pub fn reason(&self) -> impl fmt::Display + '_ {
        Reason(self)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call of {}: {}", self.call(), self.reason())
    }
}

/// See [`CallError::reason`].
struct Reason<'a>(&'a CallError);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |why: &Option<String>| why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        match self.0 {
            CallError::Unreachable { why, .. } => write!(f, "cannot connect{}", because(why)),
            CallError::TimedOut { .. } => f.write_str("no answer in time"),
            CallError::Closed { why, .. } => write!(f, "connection closed before the answer{}", because(why)),
            CallError::Fault { fault, .. } => fault.fmt(f),
            CallError::BadResponse { why, .. } => write!(f, "bad answer: {why}"),
            CallError::BadRequest { why, .. } => write!(f, "cannot be sent: {why}"),
            CallError::TooManyCalls { .. } => f.write_str("too many calls are waiting"),
        }
    }
}

impl core::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_error_names_server_method_reason() {
        let uri = Uri::parse("http://robot:11311").expect("an address");
        let call = CallTarget { uri, method: "getPid".to_owned() };
        let why = Some("refused".to_owned());
        let error = CallError::Unreachable { call: call.clone(), why, is_attempted: true };
        assert_eq!(error.to_string(), "call of getPid of http://robot:11311/: cannot connect: refused");
        let fault = Fault { code: -1, message: "no".to_owned() };
        let error = CallError::Fault { call, fault };
        assert_eq!(error.to_string(), "call of getPid of http://robot:11311/: fault -1: no");
    }
}
