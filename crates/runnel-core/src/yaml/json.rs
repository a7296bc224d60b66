//! Messages as JSON.
//!
//! Field names are kept as they are and in order, times are `{"secs": 1, "nsecs": 2}`, whole numbers of 64 bits are
//! numbers. What JSON has no number for is one of the strings `"nan"`, `"inf"` and `"-inf"`, so that nothing is lost;
//! [`from_json`](super::from_json) reads these back.

use super::number::python_float;
use super::seconds::{duration, time};
use crate::dynamic::{DynamicError, DynamicMessage, ValueRef};
use serde_json::{Map, Value as Json, json};

/// The message as a JSON object.
pub fn to_json(message: &DynamicMessage) -> Json {
    let fields = message.fields().map(|(field, value)| (field.name.clone(), value_to_json(value.view())));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// One field or element, by its path.
///
/// # Errors
/// When the path leads nowhere.
pub fn field_to_json(message: &DynamicMessage, path: &str) -> Result<Json, DynamicError> {
    Ok(value_to_json(message.get(path)?))
}

fn value_to_json(value: ValueRef<'_>) -> Json {
    let seconds = |(secs, nsecs): (i64, i64)| json!({ "secs": secs, "nsecs": nsecs });
    let number = |value: f64| if value.is_finite() { json!(value) } else { json!(python_float(value)) };
    match value {
        ValueRef::Bool(value) => json!(value),
        ValueRef::Int(value) => json!(value),
        ValueRef::UInt(value) => json!(value),
        ValueRef::F32(value) => number(value.into()),
        ValueRef::F64(value) => number(value),
        ValueRef::String(value) => json!(value),
        ValueRef::Time(value) => seconds(time(value)),
        ValueRef::Duration(value) => seconds(duration(value)),
        ValueRef::Message(message) => to_json(message),
        ValueRef::Array(array) => array.iter().map(value_to_json).collect(),
    }
}
