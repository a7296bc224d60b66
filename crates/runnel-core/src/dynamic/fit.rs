//! Conversion of values to the types of fields. Whole numbers change width without loss, floats may lose digits but never
//! become infinite, and any other value must have the type of the field.

use super::{Array, DynamicError, DynamicErrorKind, Value, describe, element_name};
use crate::schema::{Arity, Element, Field, Primitive, Schema};
use std::sync::Arc;

/// Converts a value to the type of a field.
pub(super) fn fit_field(
    field: &Field,
    part: Option<&Arc<Schema>>,
    value: Value,
) -> Result<Value, DynamicError> {
    if field.arity == Arity::One {
        return fit_element(&field.element, part, value);
    }
    let Value::Array(array) = value else { return Err(wrong_type(&field.element, field.arity, &value)) };
    check_len(field.arity, array.len())?;
    let mut fitted = Array::empty(&field.element);
    fitted.try_reserve(array.len())?;
    for (index, value) in array.iter().enumerate() {
        let fit = fit_element(&field.element, part, value.try_to_value()?);
        let value = fit.map_err(|error| error.within_element(index))?;
        fitted.push(value).map_err(|value| wrong_type(&field.element, Arity::One, &value))?;
    }
    Ok(Value::Array(fitted))
}

/// The value as an element of this type.
pub(crate) fn fit_element(
    element: &Element,
    part: Option<&Arc<Schema>>,
    value: Value,
) -> Result<Value, DynamicError> {
    let fits = match (element, &value) {
        (Element::Message(_), Value::Message(message)) => part
            .is_some_and(|part| part.def.name == message.schema.def.name && part.md5 == message.schema.md5),
        (Element::Primitive(primitive), _) => return fit_primitive(*primitive, value),
        _ => false,
    };
    if fits { Ok(value) } else { Err(wrong_type(element, Arity::One, &value)) }
}

fn fit_primitive(primitive: Primitive, value: Value) -> Result<Value, DynamicError> {
    let number = match &value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    match (primitive, number, value) {
        (Primitive::Bool, _, value @ Value::Bool(_)) => Ok(value),
        (Primitive::F32, Some(number), _) => Ok(Value::F32(number as f32)),
        (Primitive::F64, Some(number), _) => Ok(Value::F64(number as f64)),
        (Primitive::F32, _, value @ Value::F32(_)) => Ok(value),
        (Primitive::F64, _, value @ Value::F64(_)) => Ok(value),
        (Primitive::F64, _, Value::F32(number)) => Ok(Value::F64(number.into())),
        (Primitive::F32, _, Value::F64(number)) => narrow(number),
        (Primitive::Time, _, value @ Value::Time(_)) => Ok(value),
        (Primitive::Duration, _, value @ Value::Duration(_)) => Ok(value),
        (Primitive::String(_) | Primitive::WString(_), _, Value::String(text)) => {
            check_text(primitive, &text)?;
            Ok(Value::String(text))
        }
        (primitive, Some(number), value) => {
            convert_integer(primitive, number).unwrap_or(Err(mismatch(primitive, &value)))
        }
        (primitive, None, value) => Err(mismatch(primitive, &value)),
    }
}

/// Converts an integer to a value of an integer type; `None` for other types.
fn convert_integer(primitive: Primitive, number: i128) -> Option<Result<Value, DynamicError>> {
    let (signed, fits) = match primitive {
        Primitive::I8 => (true, i8::try_from(number).is_ok()),
        Primitive::I16 => (true, i16::try_from(number).is_ok()),
        Primitive::I32 => (true, i32::try_from(number).is_ok()),
        Primitive::I64 => (true, i64::try_from(number).is_ok()),
        Primitive::U8 => (false, u8::try_from(number).is_ok()),
        Primitive::U16 => (false, u16::try_from(number).is_ok()),
        Primitive::U32 => (false, u32::try_from(number).is_ok()),
        Primitive::U64 => (false, u64::try_from(number).is_ok()),
        _ => return None,
    };
    Some(match (fits, signed) {
        (true, true) => Ok(Value::Int(number as i64)),
        (true, false) => Ok(Value::UInt(number as u64)),
        (false, _) => Err(out_of_range(primitive, number.to_string())),
    })
}

/// A double as a float, which loses digits, but must not become infinite.
fn narrow(number: f64) -> Result<Value, DynamicError> {
    let narrow = number as f32;
    if narrow.is_infinite() && number.is_finite() {
        return Err(out_of_range(Primitive::F32, format!("{number:?}")));
    }
    Ok(Value::F32(narrow))
}

/// Checks the length of an array or sequence.
pub(crate) fn check_len(arity: Arity, len: usize) -> Result<(), DynamicErrorKind> {
    match arity {
        Arity::Fixed(expected) if len != expected => Err(DynamicErrorKind::WrongLength { len, expected }),
        Arity::Bounded(bound) => check_bound(Some(bound), len),
        _ => Ok(()),
    }
}

/// Checks the length of a text, in the units of its type.
pub(super) fn check_text(primitive: Primitive, text: &str) -> Result<(), DynamicErrorKind> {
    match primitive {
        Primitive::String(bound) => check_bound(bound, text.len()),
        Primitive::WString(bound) => check_bound(bound, text.encode_utf16().count()),
        _ => Ok(()),
    }
}

/// Checks a length against an optional bound.
fn check_bound(bound: Option<usize>, len: usize) -> Result<(), DynamicErrorKind> {
    match bound {
        Some(bound) if len > bound => Err(DynamicErrorKind::BeyondBound { len, bound }),
        _ => Ok(()),
    }
}

fn mismatch(primitive: Primitive, found: &Value) -> DynamicError {
    wrong_type(&Element::Primitive(primitive), Arity::One, found)
}

fn wrong_type(element: &Element, arity: Arity, found: &Value) -> DynamicError {
    let expected = element_name(element, arity);
    DynamicErrorKind::WrongType { expected, found: describe(found.view()) }.into()
}

fn out_of_range(primitive: Primitive, found: String) -> DynamicError {
    let expected = element_name(&Element::Primitive(primitive), Arity::One);
    DynamicErrorKind::OutOfRange { expected, found }.into()
}
