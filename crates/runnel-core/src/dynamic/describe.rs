//! Names of types and values in errors.

use super::{Array, ValueRef};
use crate::schema::{Arity, Element, Primitive, Schema};

/// The name of a primitive type, as definitions spell it.
fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "bool",
        Primitive::I8 => "int8",
        Primitive::U8 => "uint8",
        Primitive::I16 => "int16",
        Primitive::U16 => "uint16",
        Primitive::I32 => "int32",
        Primitive::U32 => "uint32",
        Primitive::I64 => "int64",
        Primitive::U64 => "uint64",
        Primitive::F32 => "float32",
        Primitive::F64 => "float64",
        Primitive::Time => "time",
        Primitive::Duration => "duration",
        Primitive::String(_) => "string",
        Primitive::WString(_) => "wstring",
    }
}

/// The name of a type, with `[]` for more than one.
pub(crate) fn element_name(element: &Element, arity: Arity) -> String {
    let name = match element {
        Element::Primitive(primitive) => primitive_name(*primitive).to_owned(),
        Element::Message(name) => name.to_string(),
    };
    match arity {
        Arity::One => name,
        Arity::Fixed(len) => format!("{name}[{len}]"),
        Arity::Bounded(bound) => format!("{name}[<={bound}]"),
        Arity::Unbounded => format!("{name}[]"),
    }
}

/// Describes a value in words.
pub(crate) fn describe(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Bool(_) => "a bool".into(),
        ValueRef::Int(number) => format!("the number {number}"),
        ValueRef::UInt(number) => format!("the number {number}"),
        ValueRef::F32(number) => format!("the number {number:?}"),
        ValueRef::F64(number) => format!("the number {number:?}"),
        ValueRef::String(_) => "a string".into(),
        ValueRef::Time(_) => "a time".into(),
        ValueRef::Duration(_) => "a duration".into(),
        ValueRef::Message(message) => message.schema().def.name.to_string(),
        ValueRef::Array(array) => describe_array(array),
    }
}

fn describe_array(array: &Array) -> String {
    match array.get(0) {
        Some(ValueRef::Message(message)) => format!("an array of {}", message.schema().def.name),
        _ => "an array".into(),
    }
}

/// The names of a schema's fields, joined by commas.
pub(super) fn field_names(schema: &Schema) -> String {
    match schema.def.fields.as_slice() {
        [] => "none".into(),
        fields => fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", "),
    }
}
