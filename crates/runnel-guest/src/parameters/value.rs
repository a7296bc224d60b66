//! Parameter values.

use runnel_msgs::rcl_interfaces::msg;
use runnel_msgs::rcl_interfaces::msg::ParameterType;

/// The value of a parameter: the types of ROS 2 (`rcl_interfaces/msg/ParameterType`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ParameterValue {
    /// A truth value.
    Bool(bool),
    /// An integer.
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
}

impl ParameterValue {
    /// The type of the value, for messages, as `ros2 param describe` names it.
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
        }
    }
}

/// A type as which a parameter can be read. An integer is read as any number that it fits.
pub trait FromParameter: Sized {
    /// A value of this type in words, for errors: `a number`.
    const EXPECTED: &'static str;

    /// The value as this type; `None` if it is of another type, or does not fit.
    fn from_parameter(value: &ParameterValue) -> Option<Self>;
}

/// Types and the values that they are made from and read as.
macro_rules! types {
    ($($type:ty, $expected:literal: $($variant:ident($value:ident) => $read:expr),+;)*) => {$(
        impl FromParameter for $type {
            const EXPECTED: &'static str = $expected;

            fn from_parameter(value: &ParameterValue) -> Option<Self> {
                match value {
                    $(ParameterValue::$variant($value) => $read,)+
                    _ => None,
                }
            }
        }
    )*};
}
types! {
    bool, "true or false": Bool(value) => Some(*value);
    i32, "an integer of 32 bits": Integer(value) => (*value).try_into().ok();
    u32, "an integer of 32 bits": Integer(value) => (*value).try_into().ok();
    i64, "an integer": Integer(value) => Some(*value);
    u64, "a positive integer": Integer(value) => (*value).try_into().ok();
    usize, "a positive integer": Integer(value) => (*value).try_into().ok();
    f64, "a number": Double(value) => Some(*value), Integer(value) => Some(*value as f64);
    f32, "a number": Double(value) => Some(*value as f32), Integer(value) => Some(*value as f32);
    String, "a string": String(value) => Some(value.clone());
    Vec<u8>, "bytes": ByteArray(value) => Some(value.clone());
    Vec<bool>, "truth values": BoolArray(value) => Some(value.clone());
    Vec<i64>, "integers": IntegerArray(value) => Some(value.clone());
    Vec<f64>, "numbers": DoubleArray(value) => Some(value.clone()),
        IntegerArray(value) => Some(value.iter().map(|number| *number as f64).collect());
    Vec<String>, "strings": StringArray(value) => Some(value.clone());
}

impl FromParameter for ParameterValue {
    const EXPECTED: &'static str = "a value";

    fn from_parameter(value: &ParameterValue) -> Option<Self> {
        Some(value.clone())
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for ParameterValue {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
from! {
    bool => Bool, i32 => Integer, i64 => Integer, u32 => Integer, f32 => Double, f64 => Double, &str => String,
    String => String, Vec<u8> => ByteArray, Vec<bool> => BoolArray, Vec<i64> => IntegerArray,
    Vec<f64> => DoubleArray, Vec<String> => StringArray,
}

/// Values and their messages: variant, number of its type, field.
macro_rules! messages {
    ($($variant:ident, $number:ident, $field:ident;)*) => {
        /// The message of a value, as the host reads it.
        pub(super) fn to_message(value: &ParameterValue) -> msg::ParameterValue {
            let mut message = msg::ParameterValue::default();
            match value {
                $(ParameterValue::$variant(value) => {
                    message.type_ = ParameterType::$number;
                    message.$field.clone_from(value);
                })*
                ParameterValue::ByteArray(bytes) => {
                    message.type_ = ParameterType::PARAMETER_BYTE_ARRAY;
                    message.byte_array_value = bytes.iter().map(|byte| byte.cast_signed()).collect();
                }
            }
            message
        }

        /// The value of a message; `None` if it has none, or one of an unknown type.
        pub(super) fn of_message(message: msg::ParameterValue) -> Option<ParameterValue> {
            Some(match message.type_ {
                $(ParameterType::$number => ParameterValue::$variant(message.$field),)*
                ParameterType::PARAMETER_BYTE_ARRAY => {
                    let bytes = message.byte_array_value.iter().map(|byte| byte.cast_unsigned());
                    ParameterValue::ByteArray(bytes.collect())
                }
                _ => return None,
            })
        }
    };
}
messages! {
    Bool, PARAMETER_BOOL, bool_value;
    Integer, PARAMETER_INTEGER, integer_value;
    Double, PARAMETER_DOUBLE, double_value;
    String, PARAMETER_STRING, string_value;
    BoolArray, PARAMETER_BOOL_ARRAY, bool_array_value;
    IntegerArray, PARAMETER_INTEGER_ARRAY, integer_array_value;
    DoubleArray, PARAMETER_DOUBLE_ARRAY, double_array_value;
    StringArray, PARAMETER_STRING_ARRAY, string_array_value;
}
