//! Rust types of fields, and literals of constants and defaults.

use runnel_core::schema::{Arity, Constant, Element, Field, Literal, Primitive};

/// Longest array for which the standard library implements `Default`.
const MAX_DERIVED_ARRAY: usize = 32;

/// Rust type of a field, given the type of an element.
pub(crate) fn field_type(element: &str, arity: Arity) -> String {
    match arity {
        Arity::One => element.to_owned(),
        Arity::Fixed(count) => format!("[{element}; {count}]"),
        Arity::Bounded(_) | Arity::Unbounded => format!("::runnel::core::generated::Vec<{element}>"),
    }
}

/// Rust type of a primitive in a field.
pub(crate) fn primitive_type(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "bool",
        Primitive::I8 => "i8",
        Primitive::U8 => "u8",
        Primitive::I16 => "i16",
        Primitive::U16 => "u16",
        Primitive::I32 => "i32",
        Primitive::U32 => "u32",
        Primitive::I64 => "i64",
        Primitive::U64 => "u64",
        Primitive::F32 => "f32",
        Primitive::F64 => "f64",
        Primitive::Time => "::runnel::core::time::Time",
        Primitive::Duration => "::runnel::core::time::Duration",
        Primitive::String(_) | Primitive::WString(_) => "::runnel::core::generated::String",
    }
}

/// Type and literal of a constant.
pub(crate) fn constant(constant: &Constant) -> (&'static str, String) {
    match &constant.value {
        Literal::Text(text) => ("&'static str", format!("{text:?}")),
        value => (primitive_type(constant.primitive), scalar(constant.primitive, value)),
    }
}

/// Default value of a field, given that of its definition; `None` if it is the default of its type.
pub(crate) fn default(field: &Field, given: Option<&Literal>) -> Option<String> {
    let primitive = match &field.element {
        Element::Primitive(primitive) => Some(*primitive),
        Element::Message(_) => None,
    };
    if let (Some(value), Some(primitive)) = (given.filter(|value| !is_zero(value)), primitive) {
        return Some(default_value(primitive, field.arity, value));
    }
    match field.arity {
        Arity::Fixed(count) if count > MAX_DERIVED_ARRAY => {
            Some("::core::array::from_fn(|_| ::core::default::Default::default())".to_owned())
        }
        _ => None,
    }
}

fn is_zero(value: &Literal) -> bool {
    match value {
        Literal::Bool(value) => !value,
        Literal::Int(value) => *value == 0,
        Literal::Float(value) => value.to_bits() == 0,
        Literal::Text(text) => text.is_empty(),
        Literal::List(values) => values.is_empty(),
    }
}

fn default_value(primitive: Primitive, arity: Arity, value: &Literal) -> String {
    let Literal::List(values) = value else { return owned(primitive, value) };
    let values: Vec<String> = values.iter().map(|value| owned(primitive, value)).collect();
    let values = values.join(", ");
    match arity {
        Arity::Fixed(_) => format!("[{values}]"),
        _ => format!("::runnel::core::generated::Vec::from([{values}])"),
    }
}

fn owned(primitive: Primitive, value: &Literal) -> String {
    match value {
        Literal::Text(text) => format!("::runnel::core::generated::String::from({text:?})"),
        _ => scalar(primitive, value),
    }
}

/// Literal of a number or bool. Floating-point numbers are written by their bits, which represent all of them
/// exactly.
fn scalar(primitive: Primitive, value: &Literal) -> String {
    match (primitive, value) {
        (Primitive::F32, Literal::Float(value)) => {
            format!("f32::from_bits({:#x})", (*value as f32).to_bits())
        }
        (_, Literal::Float(value)) => format!("f64::from_bits({:#x})", value.to_bits()),
        (_, Literal::Bool(value)) => value.to_string(),
        (_, Literal::Int(value)) => value.to_string(),
        (_, Literal::Text(_) | Literal::List(_)) => String::from("::core::default::Default::default()"),
    }
}
