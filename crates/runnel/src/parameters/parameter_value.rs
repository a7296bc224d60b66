//! Parameter value: the types of ROS 2, and the additional ones of the ROS 1 parameter server.

mod from;
mod read;
mod ros1;

use std::collections::BTreeMap;

pub use read::FromParameter;
pub(crate) use read::wanted_type;
pub(crate) use ros1::OutOfRange;

/// Limit of a value's text in messages, in characters.
const MAX_TEXT: usize = 60;

/// The value of a parameter.
///
/// The first nine variants are the parameter types of ROS 2 (`rcl_interfaces/msg/ParameterType`). Its tenth type,
/// `PARAMETER_NOT_SET`, is `None` where a value is optional. Only the ROS 1 parameter server has the last three.
///
/// | | ROS 1 (XML-RPC) | ROS 2 |
/// |---|---|---|
/// | [`Bool`](Self::Bool) | `boolean` | `PARAMETER_BOOL` |
/// | [`Integer`](Self::Integer) | `int`, of 32 bits: see [`Error::ParameterRange`](crate::Error::ParameterRange) | `PARAMETER_INTEGER` |
/// | [`Double`](Self::Double) | `double` | `PARAMETER_DOUBLE` |
/// | [`String`](Self::String) | `string` | `PARAMETER_STRING` |
/// | [`ByteArray`](Self::ByteArray) | `base64` | `PARAMETER_BYTE_ARRAY` |
/// | [`BoolArray`](Self::BoolArray) and the other arrays | `array` | `PARAMETER_BOOL_ARRAY` .. |
/// | [`List`](Self::List) | `array` of several types, of lists or maps, or of nothing | – |
/// | [`Map`](Self::Map) | `struct`: a namespace of parameters | – |
/// | [`DateTime`](Self::DateTime) | `dateTime.iso8601` | – |
///
/// ROS 1 has no typed arrays. An array whose elements are all booleans, integers, doubles or strings becomes the array
/// of that type; an empty one becomes an empty [`List`](Self::List). [`From`] does the same, so values compare equal
/// however they were made:
///
/// ```
/// use runnel::ParameterValue;
///
/// let same_kind = ParameterValue::from(vec![ParameterValue::from(1), ParameterValue::from(2)]);
/// assert_eq!(same_kind, ParameterValue::IntegerArray(vec![1, 2]));
/// let mixed = vec![ParameterValue::from(1), ParameterValue::from("two")];
/// assert_eq!(ParameterValue::from(mixed.clone()), ParameterValue::List(mixed));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterValue {
    /// A truth value.
    Bool(bool),
    /// An integer. The ROS 1 parameter server is limited to 32 bits.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    String(String),
    /// Bytes.
    ByteArray(Vec<u8>),
    /// Truth values.
    BoolArray(Vec<bool>),
    /// Integers.
    IntegerArray(Vec<i64>),
    /// Floating-point numbers.
    DoubleArray(Vec<f64>),
    /// Texts.
    StringArray(Vec<String>),
    /// ROS 1: an array that none of the typed arrays can hold.
    List(Vec<ParameterValue>),
    /// ROS 1: the parameters of a namespace by name.
    Map(BTreeMap<String, ParameterValue>),
    /// ROS 1: a date and time as ISO 8601 text, which is passed on unchanged.
    DateTime(String),
}

impl ParameterValue {
    /// The type of the value, for messages: `integer`, `string array` and so on, as `ros2 param describe` names them.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Integer(_) => "integer",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::ByteArray(_) => "byte array",
            Self::BoolArray(_) => "boolean array",
            Self::IntegerArray(_) => "integer array",
            Self::DoubleArray(_) => "double array",
            Self::StringArray(_) => "string array",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::DateTime(_) => "date and time",
        }
    }

    /// A single value as text, shortened; `None` for arrays, lists and maps.
    pub(crate) fn short_text(&self) -> Option<String> {
        let text = match self {
            Self::Bool(truth) => truth.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Double(number) => format!("{number:?}"),
            Self::String(text) | Self::DateTime(text) => {
                let short: String = text.chars().take(MAX_TEXT).collect();
                let rest = if short.len() < text.len() { ".." } else { "" };
                format!("{short:?}{rest}")
            }
            _ => return None,
        };
        Some(text)
    }

    /// Approximate size of the value in memory, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let heap = match self {
            Self::Bool(_) | Self::Integer(_) | Self::Double(_) => 0,
            Self::String(text) | Self::DateTime(text) => text.len(),
            Self::ByteArray(bytes) => bytes.len(),
            Self::BoolArray(truths) => truths.len(),
            Self::IntegerArray(numbers) => size_of_val(&**numbers),
            Self::DoubleArray(numbers) => size_of_val(&**numbers),
            Self::StringArray(texts) => texts.iter().map(|text| size_of::<String>() + text.len()).sum(),
            Self::List(values) => values.iter().map(Self::memory).sum(),
            Self::Map(members) => members.iter().map(|(name, value)| name.len() + value.memory()).sum(),
        };
        size_of::<Self>() + heap
    }
}
