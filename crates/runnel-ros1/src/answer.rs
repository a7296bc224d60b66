//! Answers of the master API and the slave API: `[status, message, value]`.

use std::fmt;

use crate::peer_text::sanitize_value;
use crate::xmlrpc::Value;

/// Status of a call that failed because of its caller.
pub const ERROR: i32 = -1;

/// Status of a call that failed on the server.
pub const FAILURE: i32 = 0;

/// Status of a call that was carried out.
pub const SUCCESS: i32 = 1;

/// A parsed answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// [`SUCCESS`], [`FAILURE`] or [`ERROR`]; a peer may send other numbers.
    pub status: i32,
    /// Text for people; empty if the peer sent no string.
    pub message: &'a str,
    /// The result. It has no meaning unless the status is [`SUCCESS`].
    pub value: &'a Value,
}

/// A value that is not an answer; holds its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnAnswer(String);

impl fmt::Display for NotAnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer is not [status, message, value]: {}", self.0)
    }
}

impl std::error::Error for NotAnAnswer {}

impl<'a> Answer<'a> {
    /// Parses an answer.
    ///
    /// # Errors
    /// If the value does not have three elements, or the first is not an int.
    pub fn parse(answer: &'a Value) -> Result<Self, NotAnAnswer> {
        match answer.as_array() {
            Some([Value::Int(status), message, value]) => {
                Ok(Self { status: *status, message: message.as_str().unwrap_or_default(), value })
            }
            _ => Err(NotAnAnswer(sanitize_value(answer))),
        }
    }

    /// The value of a successful call.
    ///
    /// # Errors
    /// The reason that the peer gave for a failure.
    pub fn into_result(self) -> Result<&'a Value, &'a str> {
        match self {
            Self { status: SUCCESS, value, .. } => Ok(value),
            Self { message: "", .. } => Err("no reason given"),
            Self { message, .. } => Err(message),
        }
    }
}

/// Makes an answer.
pub(crate) fn answer(status: i32, message: &str, value: impl Into<Value>) -> Value {
    Value::Array(vec![status.into(), message.into(), value.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_gives_value_or_reason() {
        let into_result = |value: &Value| {
            let into_result = Answer::parse(value).map(Answer::into_result);
            into_result.map(|into_result| into_result.cloned().map_err(str::to_owned))
        };
        assert_eq!(into_result(&answer(SUCCESS, "", 7)), Ok(Ok(7.into())));
        assert_eq!(into_result(&answer(ERROR, "no such node", 7)), Ok(Err("no such node".to_owned())));
        for no_text in [Value::from(""), 5.into()] {
            let refusal = Value::Array(vec![FAILURE.into(), no_text, 0.into()]);
            assert_eq!(into_result(&refusal), Ok(Err("no reason given".to_owned())));
        }
    }

    #[test]
    fn malformed_answer_is_shown() {
        for odd in
            [Value::from(7), vec![1.into(), "".into()].into(), vec!["1".into(), "".into(), 7.into()].into()]
        {
            let error = Answer::parse(&odd).expect_err("refused").to_string();
            assert!(error.starts_with("the answer is not [status, message, value]: "), "{error}");
        }
    }
}
