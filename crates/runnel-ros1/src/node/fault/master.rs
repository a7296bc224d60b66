//! Faults of the master.

use std::fmt;

use crate::answer::NotAnAnswer;
use crate::peer_text::sanitize;
use crate::rpc::{CallError, Uri, UriError};

/// A failed or unusable answer of the master.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MasterFault {
    /// The call failed.
    Call(Box<CallError>),
    /// The answer is not `[status, message, value]`.
    NotAnAnswer(NotAnAnswer),
    /// The master refused, for this reason.
    Declined(String),
    /// The answer to `lookupService` is not an address; holds its beginning.
    NotAServiceAddress(String),
    /// The answer to `lookupService` is not the URI of a service.
    ServiceUri(UriError),
}

impl From<CallError> for MasterFault {
    fn from(error: CallError) -> Self {
        Self::Call(Box::new(error))
    }
}

impl From<NotAnAnswer> for MasterFault {
    fn from(error: NotAnAnswer) -> Self {
        Self::NotAnAnswer(error)
    }
}

impl fmt::Display for MasterFault {
    /// On one line, whatever the master sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Call(error) => error.to_string(),
            Self::NotAnAnswer(error) => error.to_string(),
            Self::Declined(why) => why.clone(),
            Self::NotAServiceAddress(answer) => format!("not the URI of a service: {answer}"),
            Self::ServiceUri(error) => error.to_string(),
        };
        f.write_str(&sanitize(&text))
    }
}

impl MasterFault {
    /// The state of the master at `uri` in a user's terms: not running, unknown host, or not responding.
    pub fn summary(&self, uri: &Uri) -> String {
        let Self::Call(error) = self else {
            return format!("the answer of the master at {uri} is not valid: {self}");
        };
        let text = match &**error {
            CallError::Unreachable { is_attempted: false, .. } => {
                format!("the host name {} of ROS_MASTER_URI does not resolve", uri.endpoint.host)
            }
            CallError::Unreachable { why: Some(why), .. } => {
                format!("no master at {uri} ({})", decapitalize(why))
            }
            CallError::Unreachable { why: None, .. } => format!("no master at {uri}"),
            CallError::TimedOut { .. } => format!("the master at {uri} does not answer"),
            _ => format!("the master at {uri} does not answer: {error}"),
        };
        sanitize(&text)
    }
}

/// The reason that the operating system gives, for the middle of a sentence: without the error's number.
fn decapitalize(why: &str) -> String {
    let mut letters = why.split_once(" (os error ").map_or(why, |(why, _)| why).chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

impl std::error::Error for MasterFault {}
