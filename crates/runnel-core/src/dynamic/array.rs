//! Arrays of one element type, kept compact.

use super::{DynamicMessage, Value, ValueRef};
use crate::schema::{Element, Primitive};
use crate::time::{Duration, Time};
use crate::wire::{NoMemory, Wire, try_clone_each, try_reserve};

/// The elements of an array or sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// `bool[]`.
    Bool(Vec<bool>),
    /// `int8[]`, and `byte[]` in ROS 1.
    I8(Vec<i8>),
    /// `uint8[]`, and `char[]` in ROS 1.
    U8(Vec<u8>),
    /// `int16[]`.
    I16(Vec<i16>),
    /// `uint16[]`.
    U16(Vec<u16>),
    /// `int32[]`.
    I32(Vec<i32>),
    /// `uint32[]`.
    U32(Vec<u32>),
    /// `int64[]`.
    I64(Vec<i64>),
    /// `uint64[]`.
    U64(Vec<u64>),
    /// `float32[]`.
    F32(Vec<f32>),
    /// `float64[]`.
    F64(Vec<f64>),
    /// `string[]`.
    String(Vec<String>),
    /// `time[]`.
    Time(Vec<Time>),
    /// `duration[]`.
    Duration(Vec<Duration>),
    /// Messages of one schema.
    Message(Vec<DynamicMessage>),
}

/// Does the same with the vector of every kind of array, or something else with that of messages.
macro_rules! with_vector {
    ($array:expr, $vector:ident => $do:expr) => {
        with_vector!($array, $vector => $do, $vector => $do)
    };
    ($array:expr, $vector:ident => $do:expr, $messages:ident => $do_with_messages:expr) => {
        match $array {
            Array::Bool($vector) => $do,
            Array::I8($vector) => $do,
            Array::U8($vector) => $do,
            Array::I16($vector) => $do,
            Array::U16($vector) => $do,
            Array::I32($vector) => $do,
            Array::U32($vector) => $do,
            Array::I64($vector) => $do,
            Array::U64($vector) => $do,
            Array::F32($vector) => $do,
            Array::F64($vector) => $do,
            Array::String($vector) => $do,
            Array::Time($vector) => $do,
            Array::Duration($vector) => $do,
            Array::Message($messages) => $do_with_messages,
        }
    };
}

impl Array {
    /// An empty array of this element type.
    pub fn empty(element: &Element) -> Self {
        let Element::Primitive(primitive) = element else { return Self::Message(Vec::new()) };
        match primitive {
            Primitive::Bool => Self::Bool(Vec::new()),
            Primitive::I8 => Self::I8(Vec::new()),
            Primitive::U8 => Self::U8(Vec::new()),
            Primitive::I16 => Self::I16(Vec::new()),
            Primitive::U16 => Self::U16(Vec::new()),
            Primitive::I32 => Self::I32(Vec::new()),
            Primitive::U32 => Self::U32(Vec::new()),
            Primitive::I64 => Self::I64(Vec::new()),
            Primitive::U64 => Self::U64(Vec::new()),
            Primitive::F32 => Self::F32(Vec::new()),
            Primitive::F64 => Self::F64(Vec::new()),
            Primitive::String(_) | Primitive::WString(_) => Self::String(Vec::new()),
            Primitive::Time => Self::Time(Vec::new()),
            Primitive::Duration => Self::Duration(Vec::new()),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_vector!(self, vector => vector.len())
    }

    /// Whether the array is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One element, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<ValueRef<'_>> {
        with_vector!(self, vector => vector.get(index).map(Item::view))
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = ValueRef<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Appends an element; returns it if it is not of the array's type.
    pub(crate) fn push(&mut self, value: Value) -> Result<(), Value> {
        with_vector!(self, vector => {
            vector.push(Item::take(value)?);
            Ok(())
        })
    }

    /// Replaces an existing element; returns the value if it is not of the array's type.
    pub(crate) fn replace(&mut self, index: usize, value: Value) -> Result<(), Value> {
        with_vector!(self, vector => match vector.get_mut(index) {
            Some(place) => {
                *place = Item::take(value)?;
                Ok(())
            }
            None => Err(value),
        })
    }

    /// Bytes of memory of an element, without memory that it points to.
    pub(crate) fn element_size(&self) -> usize {
        fn size<T>(_: &[T]) -> usize {
            size_of::<T>()
        }
        with_vector!(self, vector => size(vector))
    }
}

/// Applies an expression to the vector of every kind of array except messages.
macro_rules! try_clone_as {
    ($array:expr, $($variant:ident)*) => {
        match $array {
            $(Array::$variant(values) => Array::$variant(values.try_clone()?),)*
            Array::Message(messages) => Array::Message(try_clone_each(messages, DynamicMessage::try_clone)?),
        }
    };
}

impl Array {
    /// A copy of the array, as by `Clone`.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub(super) fn try_clone(&self) -> Result<Self, NoMemory> {
        Ok(try_clone_as!(self, Bool I8 U8 I16 U16 I32 U32 I64 U64 F32 F64 String Time Duration))
    }

    /// Reserves capacity for `more` elements.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub(super) fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        with_vector!(self, vector => try_reserve(vector, more))
    }
}

/// An element type of arrays.
trait Item: Sized {
    fn view(&self) -> ValueRef<'_>;
    fn take(value: Value) -> Result<Self, Value>;
}

/// Elements that a `Value` stores unchanged.
macro_rules! items {
    ($($type:ty: $variant:ident, $item:ident => $view:expr;)*) => {$(
        impl Item for $type {
            fn view(&self) -> ValueRef<'_> {
                let $item = self;
                ValueRef::$variant($view)
            }
            fn take(value: Value) -> Result<Self, Value> {
                match value {
                    Value::$variant(item) => Ok(item),
                    other => Err(other),
                }
            }
        }
    )*};
}
items! {
    bool: Bool, item => *item;
    f32: F32, item => *item;
    f64: F64, item => *item;
    String: String, item => item;
    Time: Time, item => *item;
    Duration: Duration, item => *item;
    DynamicMessage: Message, item => item;
}

/// Integers, which a `Value` stores in 64 bits.
macro_rules! integers {
    ($($type:ty: $variant:ident;)*) => {$(
        impl Item for $type {
            fn view(&self) -> ValueRef<'_> {
                ValueRef::$variant((*self).into())
            }
            fn take(value: Value) -> Result<Self, Value> {
                match value {
                    Value::$variant(item) => item.try_into().map_err(|_| value),
                    other => Err(other),
                }
            }
        }
    )*};
}
integers! {
    i8: Int; i16: Int; i32: Int; i64: Int;
    u8: UInt; u16: UInt; u32: UInt; u64: UInt;
}

pub(super) use with_vector;
