//! Encoding of dynamic messages.

use super::array::with_vector;
use super::{Array, DynamicError, DynamicErrorKind, DynamicMessage, Value};
use crate::schema::{Arity, Element, Field, Primitive};
use crate::wire::{EncodeErrorKind, Encoding, Sink, Wire, cdr, has_length_prefix, length_of, write_array};

impl DynamicMessage {
    /// Appends the ROS 1 wire form to `out`. A `wstring`, which ROS 1 does not have, is written as a `string`.
    pub fn encode(&self, out: &mut (impl Sink + ?Sized)) {
        self.write(out);
    }

    /// The ROS 1 wire form in a new vector.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }

    /// Appends the complete payload in an encoding, as [`cdr::encode_into`]. The schema should be the form of the encoding's
    /// generation.
    ///
    /// # Errors
    /// In ROS 2 if a field is a `wstring`.
    pub fn encode_payload(&self, encoding: Encoding, out: &mut impl Sink) -> Result<(), DynamicError> {
        if !encoding.is_ros1() {
            check_text(self)?;
        }
        cdr::write_payload(encoding, out, &|out| self.write(out));
        Ok(())
    }

    /// The complete payload in a new vector.
    ///
    /// # Errors
    /// As [`DynamicMessage::encode_payload`].
    pub fn to_payload(&self, encoding: Encoding) -> Result<Vec<u8>, DynamicError> {
        let mut out = Vec::new();
        self.encode_payload(encoding, &mut out)?;
        Ok(out)
    }

    /// The payload of a sequence whose only element is this message, in a new vector.
    ///
    /// # Errors
    /// As [`DynamicMessage::encode_payload`].
    pub fn to_payload_of_sequence(&self, encoding: Encoding) -> Result<Vec<u8>, DynamicError> {
        if !encoding.is_ros1() {
            check_text(self)?;
        }
        let mut out = Vec::new();
        cdr::write_payload(encoding, &mut out, &|out| {
            1_u32.write(out);
            self.write(out);
        });
        Ok(out)
    }

    fn write<S: Sink + ?Sized>(&self, out: &mut S) {
        for (field, value) in self.fields() {
            encode_field(field, value, out);
        }
        // In ROS 2 a message without fields has one that is zero.
        if self.fields.is_empty() && !out.encoding().is_ros1() {
            out.put(&[0]);
        }
    }
}

/// Checks that no field is a `wstring`. The message is searched, since a peer's schema may name parts in
/// any number of ways.
fn check_text(message: &DynamicMessage) -> Result<(), DynamicError> {
    message.fields().try_for_each(|(field, value)| {
        let checked = match (&field.element, value) {
            (Element::Primitive(Primitive::WString(_)), _) => {
                Err(DynamicErrorKind::NoForm(EncodeErrorKind::WideText).into())
            }
            (_, Value::Message(part)) => check_text(part),
            (_, Value::Array(Array::Message(parts))) => parts.iter().try_for_each(check_text),
            _ => Ok(()),
        };
        checked.map_err(|error| error.within(&field.name))
    })
}

fn encode_field<S: Sink + ?Sized>(field: &Field, value: &Value, out: &mut S) {
    match value {
        Value::Bool(value) => value.write(out),
        Value::Int(value) => encode_integer(&field.element, value.to_le_bytes(), out),
        Value::UInt(value) => encode_integer(&field.element, value.to_le_bytes(), out),
        Value::F32(value) => value.write(out),
        Value::F64(value) => value.write(out),
        Value::String(value) => value.write(out),
        Value::Time(value) => value.write(out),
        Value::Duration(value) => value.write(out),
        Value::Message(message) => message.write(out),
        Value::Array(array) => encode_array(field.arity, array, out),
    }
}

/// Writes as many low bytes as the type has.
fn encode_integer<S: Sink + ?Sized>(element: &Element, bytes: [u8; 8], out: &mut S) {
    let width = match element {
        Element::Primitive(Primitive::I8 | Primitive::U8) => 1,
        Element::Primitive(Primitive::I16 | Primitive::U16) => 2,
        Element::Primitive(Primitive::I32 | Primitive::U32) => 4,
        _ => 8,
    };
    out.align(width);
    out.put(bytes.get(..width).unwrap_or_default());
}

fn encode_array<S: Sink + ?Sized>(arity: Arity, array: &Array, out: &mut S) {
    with_vector!(array, vector => match arity {
        Arity::Fixed(_) => write_array(vector, out),
        _ => vector.write(out),
    }, messages => {
        if has_length_prefix(false, out) {
            length_of(out, |count| encode_messages(arity, messages, count)).write(out);
        }
        encode_messages(arity, messages, out);
    });
}

fn encode_messages<S: Sink + ?Sized>(arity: Arity, messages: &[DynamicMessage], out: &mut S) {
    if !matches!(arity, Arity::Fixed(_)) {
        (messages.len() as u32).write(out);
    }
    messages.iter().for_each(|message| message.write(out));
}
