//! Values of fields.

use super::{Array, DynamicMessage};
use crate::time::{Duration, Time};
use crate::wire::{NoMemory, try_clone_text};

/// The value of a field.
///
/// Integers of every width are stored in 64 bits, within the range of the schema's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `int8` to `int64`, and `byte` in ROS 1.
    Int(i64),
    /// `uint8` to `uint64`, and `char` in ROS 1.
    UInt(u64),
    /// `float32`.
    F32(f32),
    /// `float64`.
    F64(f64),
    /// `string`, and `wstring` in ROS 2.
    String(String),
    /// ROS 1 `time`.
    Time(Time),
    /// ROS 1 `duration`.
    Duration(Duration),
    /// Another message.
    Message(DynamicMessage),
    /// Any number of elements of one type.
    Array(Array),
}

/// A value as seen within a message: a field's or an element's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// As [`Value::Bool`].
    Bool(bool),
    /// As [`Value::Int`].
    Int(i64),
    /// As [`Value::UInt`].
    UInt(u64),
    /// As [`Value::F32`].
    F32(f32),
    /// As [`Value::F64`].
    F64(f64),
    /// As [`Value::String`].
    String(&'a str),
    /// As [`Value::Time`].
    Time(Time),
    /// As [`Value::Duration`].
    Duration(Duration),
    /// As [`Value::Message`].
    Message(&'a DynamicMessage),
    /// As [`Value::Array`].
    Array(&'a Array),
}

impl Value {
    /// An integer, signed if possible; `None` if it does not fit in 64 bits.
    pub(crate) fn from_integer(number: i128) -> Option<Self> {
        let unsigned = || u64::try_from(number).ok().map(Self::UInt);
        i64::try_from(number).ok().map(Self::Int).or_else(unsigned)
    }

    /// The value as seen.
    pub fn view(&self) -> ValueRef<'_> {
        match self {
            Self::Bool(value) => ValueRef::Bool(*value),
            Self::Int(value) => ValueRef::Int(*value),
            Self::UInt(value) => ValueRef::UInt(*value),
            Self::F32(value) => ValueRef::F32(*value),
            Self::F64(value) => ValueRef::F64(*value),
            Self::String(value) => ValueRef::String(value),
            Self::Time(value) => ValueRef::Time(*value),
            Self::Duration(value) => ValueRef::Duration(*value),
            Self::Message(value) => ValueRef::Message(value),
            Self::Array(value) => ValueRef::Array(value),
        }
    }
}

impl<'a> ValueRef<'a> {
    /// As [`ValueRef::to_value`].
    ///
    /// # Errors
    /// If memory is exhausted.
    pub(crate) fn try_to_value(self) -> Result<Value, NoMemory> {
        Ok(match self {
            Self::String(value) => Value::String(try_clone_text(value)?),
            Self::Message(value) => Value::Message(value.try_clone()?),
            Self::Array(value) => Value::Array(value.try_clone()?),
            plain => plain.to_value(),
        })
    }

    /// An owned copy of the value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Int(value),
            Self::UInt(value) => Value::UInt(value),
            Self::F32(value) => Value::F32(value),
            Self::F64(value) => Value::F64(value),
            Self::String(value) => Value::String(value.to_owned()),
            Self::Time(value) => Value::Time(value),
            Self::Duration(value) => Value::Duration(value),
            Self::Message(value) => Value::Message(value.clone()),
            Self::Array(value) => Value::Array(value.clone()),
        }
    }

    /// A number as a double, rounded if it has more than 53 bits; `None` if it is not a number.
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(value as f64),
            Self::UInt(value) => Some(value as f64),
            Self::F32(value) => Some(f64::from(value)),
            Self::F64(value) => Some(value),
            _ => None,
        }
    }

    /// The text; `None` if the value is not text.
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }
}

macro_rules! values {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
values!(
    bool => Bool, i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => UInt, u16 => UInt, u32 => UInt, u64 => UInt,
    f32 => F32, f64 => F64, &str => String, String => String, Time => Time, Duration => Duration,
    DynamicMessage => Message, Array => Array
);
