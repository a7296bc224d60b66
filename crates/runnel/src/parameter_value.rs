//! Parameter value: the kinds of ROS 2, and what the parameter server of ROS 1 holds besides.

mod from;
mod read;
mod ros1;

use std::collections::BTreeMap;

pub use read::FromParameter;
pub(crate) use ros1::OutOfRange;

/// The value of a parameter.
///
/// The first nine variants are the parameter types of ROS 2 (`rcl_interfaces/msg/ParameterType`). Its tenth,
/// `PARAMETER_NOT_SET`, is the absence of a value: `None` where a value is optional. The last three are found only in the
/// parameter server of ROS 1.
///
/// | | ROS 1 (XML-RPC) | ROS 2 |
/// |---|---|---|
/// | [`Bool`](Self::Bool) | `boolean` | `PARAMETER_BOOL` |
/// | [`Integer`](Self::Integer) | `int`, of 32 bits: see [`Error::ParameterRange`](crate::Error::ParameterRange) | `PARAMETER_INTEGER` |
/// | [`Double`](Self::Double) | `double` | `PARAMETER_DOUBLE` |
/// | [`String`](Self::String) | `string` | `PARAMETER_STRING` |
/// | [`ByteArray`](Self::ByteArray) | `base64` | `PARAMETER_BYTE_ARRAY` |
/// | [`BoolArray`](Self::BoolArray) and the other arrays | `array` | `PARAMETER_BOOL_ARRAY` .. |
/// | [`List`](Self::List) | `array` of several kinds, of lists or maps, or of nothing | – |
/// | [`Map`](Self::Map) | `struct`: a namespace of parameters | – |
/// | [`DateTime`](Self::DateTime) | `dateTime.iso8601` | – |
///
/// ROS 1 has no typed arrays. An array whose elements are all booleans, integers, doubles or strings becomes the array of that
/// kind; an empty one becomes an empty [`List`](Self::List). [`From`] makes the same choice, so that values compare equal
/// whichever way they were made:
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
    /// An integer. The parameter server of ROS 1 holds those of 32 bits.
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
    /// ROS 1: values that no array above holds.
    List(Vec<ParameterValue>),
    /// ROS 1: the parameters of a namespace by their names.
    Map(BTreeMap<String, ParameterValue>),
    /// ROS 1: a date and time in the text of ISO 8601, which is passed on as written.
    DateTime(String),
}

impl ParameterValue {
    /// The kind of value, for messages: `integer`, `string array` and so on, as `ros2 param describe` names them.
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

    /// Bytes that the value takes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        let behind = match self {
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
        size_of::<Self>() + behind
    }
}
