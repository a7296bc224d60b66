//! Dynamic messages to ROS 1 bytes.

use super::array::with_vector;
use super::{Array, DynamicMessage, Value};
use crate::schema::{Arity, Element, Field, Primitive};
use crate::wire::Wire;

impl DynamicMessage {
    /// Appends the ROS 1 wire form to `out`. A `wstring`, which ROS 1 does not have, is written as a `string`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for (field, value) in self.fields() {
            encode_field(field, value, out);
        }
    }

    /// The ROS 1 wire form in a vector of its own.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
}

fn encode_field(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Bool(value) => value.write(out),
        Value::Int(value) => encode_whole(&field.element, value.to_le_bytes(), out),
        Value::UInt(value) => encode_whole(&field.element, value.to_le_bytes(), out),
        Value::F32(value) => value.write(out),
        Value::F64(value) => value.write(out),
        Value::String(value) => value.write(out),
        Value::Time(value) => value.write(out),
        Value::Duration(value) => value.write(out),
        Value::Message(message) => message.encode(out),
        Value::Array(array) => {
            if !matches!(field.arity, Arity::Fixed(_)) {
                (array.len() as u32).write(out);
            }
            encode_array(array, out);
        }
    }
}

/// Writes as many low bytes as the type has.
fn encode_whole(element: &Element, bytes: [u8; 8], out: &mut Vec<u8>) {
    let width = match element {
        Element::Primitive(Primitive::I8 | Primitive::U8) => 1,
        Element::Primitive(Primitive::I16 | Primitive::U16) => 2,
        Element::Primitive(Primitive::I32 | Primitive::U32) => 4,
        _ => 8,
    };
    out.extend(bytes.iter().take(width));
}

fn encode_array(array: &Array, out: &mut Vec<u8>) {
    with_vector!(array, vector => Wire::write_all(vector, out), messages => {
        messages.iter().for_each(|message| message.encode(out));
    });
}
