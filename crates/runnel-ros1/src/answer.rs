//! What the methods of the master API and the slave API answer: `[status, message, value]`.

use std::fmt;

use crate::told::brief;
use crate::xmlrpc::Value;

/// The status of a call that failed on the caller's side.
pub const ERROR: i32 = -1;

/// The status of a call that failed on the side of whoever answers.
pub const FAILURE: i32 = 0;

/// The status of a call that was carried out.
pub const SUCCESS: i32 = 1;

/// Such an answer, taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// [`SUCCESS`], [`FAILURE`] or [`ERROR`], as far as peers keep to it.
    pub status: i32,
    /// A text for people; empty where another value stands in its place.
    pub message: &'a str,
    /// What was asked for; of no meaning unless the call was carried out.
    pub value: &'a Value,
}

/// A value that is no such answer: the beginning of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnAnswer(String);

impl fmt::Display for NotAnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an answer: {}", self.0)
    }
}

impl std::error::Error for NotAnAnswer {}

impl<'a> Answer<'a> {
    /// Takes an answer apart.
    ///
    /// # Errors
    /// When it does not have three elements, or the first is no number.
    pub fn parse(answer: &'a Value) -> Result<Self, NotAnAnswer> {
        match answer.as_array() {
            Some([Value::Int(status), message, value]) => {
                Ok(Self { status: *status, message: message.as_str().unwrap_or_default(), value })
            }
            _ => Err(NotAnAnswer(brief(answer))),
        }
    }

    /// The value, if the call was carried out.
    ///
    /// # Errors
    /// The reason given, if it was not.
    pub fn granted(self) -> Result<&'a Value, &'a str> {
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
    fn an_answer_grants_a_value_or_says_why_not() {
        let granted = |value: &Value| {
            let granted = Answer::parse(value).map(Answer::granted);
            granted.map(|granted| granted.cloned().map_err(str::to_owned))
        };
        assert_eq!(granted(&answer(SUCCESS, "", 7)), Ok(Ok(7.into())));
        assert_eq!(granted(&answer(ERROR, "no such node", 7)), Ok(Err("no such node".to_owned())));
        for no_text in [Value::from(""), 5.into()] {
            let refusal = Value::Array(vec![FAILURE.into(), no_text, 0.into()]);
            assert_eq!(granted(&refusal), Ok(Err("no reason given".to_owned())));
        }
    }

    #[test]
    fn what_is_no_answer_is_shown() {
        for odd in
            [Value::from(7), vec![1.into(), "".into()].into(), vec!["1".into(), "".into(), 7.into()].into()]
        {
            let error = Answer::parse(&odd).expect_err("refused").to_string();
            assert!(error.starts_with("not an answer: "), "{error}");
        }
    }
}
