//! Messages as JSON.
//!
//! Field names are kept as they are and in order, times are `{"secs": 1, "nsecs": 2}` (in ROS 2 `{"sec": 1, "nanosec": 2}`),
//! 64-bit integers are numbers. Floats that JSON cannot express are the strings `"nan"`, `"inf"` and `"-inf"`, which
//! [`from_json`](super::from_json) reads back.

use super::number::python_float;
use super::seconds::{duration, names, time};
use crate::dynamic::{DynamicMessage, ValueRef};
use crate::schema::Generation;
use serde_json::{Map, Value as Json, json};

/// The message as a JSON object, with times as in ROS 1.
pub fn to_json(message: &DynamicMessage) -> Json {
    to_json_in(Generation::Ros1, message)
}

/// The same with times as in this generation.
pub fn to_json_in(generation: Generation, message: &DynamicMessage) -> Json {
    let fields = message.fields();
    let fields = fields.map(|(field, value)| (field.name.clone(), value_to_json(generation, value.view())));
    Json::Object(fields.collect::<Map<_, _>>())
}

/// A part of a message, with times as in this generation.
pub fn value_to_json(generation: Generation, value: ValueRef<'_>) -> Json {
    let seconds = |(sec, nanosec): (i64, i64)| {
        let [sec_name, nanosec_name] = names(generation);
        json!({ sec_name: sec, nanosec_name: nanosec })
    };
    let number = |value: f64| if value.is_finite() { json!(value) } else { json!(python_float(value)) };
    match value {
        ValueRef::Bool(value) => json!(value),
        ValueRef::Int(value) => json!(value),
        ValueRef::UInt(value) => json!(value),
        ValueRef::F32(value) => number(value.into()),
        ValueRef::F64(value) => number(value),
        ValueRef::String(value) => json!(value),
        ValueRef::Time(value) => seconds(time(value, generation)),
        ValueRef::Duration(value) => seconds(duration(value, generation)),
        ValueRef::Message(message) => to_json_in(generation, message),
        ValueRef::Array(array) => array.iter().map(|value| value_to_json(generation, value)).collect(),
    }
}
