//! XML-RPC values.

use std::collections::BTreeMap;

/// One XML-RPC value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `<i4>` or `<int>`.
    Int(i32),
    /// `<boolean>`.
    Bool(bool),
    /// `<string>`, or text with no type element.
    String(String),
    /// `<double>`.
    Double(f64),
    /// `<dateTime.iso8601>`, kept as written: ROS never interprets it.
    DateTime(String),
    /// `<base64>`.
    Binary(Vec<u8>),
    /// `<array>`.
    Array(Vec<Value>),
    /// `<struct>`.
    Struct(BTreeMap<String, Value>),
}

impl Value {
    /// The text of a string, or `None` for any other kind.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number of an int, or `None` for any other kind.
    pub fn as_int(&self) -> Option<i32> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The elements of an array, or `None` for any other kind.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The name of the value's type, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Int(_) => "int",
            Value::Bool(_) => "boolean",
            Value::String(_) => "string",
            Value::Double(_) => "double",
            Value::DateTime(_) => "dateTime",
            Value::Binary(_) => "base64",
            Value::Array(_) => "array",
            Value::Struct(_) => "struct",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Double(number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Value::Array(elements)
    }
}
