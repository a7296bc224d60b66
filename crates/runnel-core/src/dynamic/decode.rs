//! Decoding of dynamic messages.

use super::array::with_vector;
use super::fit::{check_len, check_text};
use super::{Array, Budget, DynamicError, DynamicErrorKind, DynamicMessage, Value, element_name, parts};
use crate::schema::{Arity, Element, Field, MAX_MESSAGE_DEPTH, Primitive, Schema};
use crate::time::{Duration, Time};
use crate::wire::{
    Bytes, DecodeErrorKind, EncodeErrorKind, MAX_EMPTY_ELEMENTS, Reader, Wire, cdr, resize, try_reserve,
    with_exact_capacity,
};
use std::sync::Arc;

/// The most elements to make room for before any of them was read.
const FIRST_CAPACITY: usize = 256;

impl DynamicMessage {
    /// Decodes all of `bytes` as a message of this schema in the ROS 1 encoding. Text that is not UTF-8 gets replacement
    /// characters.
    ///
    /// # Errors
    /// If the bytes end early or late, or contain an impossible count or a value longer than its bound; if the message would
    /// use too much memory or is nested too deep. The error names the field.
    pub fn decode<'a>(schema: &Arc<Schema>, bytes: impl Into<Bytes<'a>>) -> Result<Self, DynamicError> {
        Self::read(schema, Reader::new(bytes))
    }

    /// Decodes a complete ROS 2 payload, with its header, as a message of this schema, which should be the ROS 2 form. Text
    /// that is not UTF-8 gets replacement characters.
    ///
    /// # Errors
    /// As [`DynamicMessage::decode`], for a header that [`cdr::reader`] refuses, and if a field is a `wstring`.
    pub fn decode_payload<'a>(
        schema: &Arc<Schema>,
        payload: impl Into<Bytes<'a>>,
    ) -> Result<Self, DynamicError> {
        Self::read(schema, cdr::reader(payload)?)
    }

    /// Reads the rest of a message as a message of this schema, which should be the form of the generation to which the
    /// reader's encoding belongs.
    ///
    /// # Errors
    /// As [`DynamicMessage::decode`] and [`DynamicMessage::decode_payload`].
    pub fn read(schema: &Arc<Schema>, reader: Reader<'_>) -> Result<Self, DynamicError> {
        Decoder::read(schema, reader)
    }
}

struct Decoder<'a> {
    reader: Reader<'a>,
    budget: Budget,
}

impl<'a> Decoder<'a> {
    fn read(schema: &Arc<Schema>, reader: Reader<'a>) -> Result<DynamicMessage, DynamicError> {
        let mut decoder = Self { reader, budget: Budget::new() };
        let message = decoder.message(schema, 0)?;
        decoder.reader.finish()?;
        Ok(message)
    }

    fn message(&mut self, schema: &Arc<Schema>, depth: usize) -> Result<DynamicMessage, DynamicError> {
        if depth >= MAX_MESSAGE_DEPTH {
            return Err(DynamicErrorKind::TooDeep.into());
        }
        self.budget.take_message(schema.def.fields.len())?;
        let mut fields = with_exact_capacity(schema.def.fields.len())?;
        for (field, part) in parts(schema) {
            fields.push(self.field(field, part, depth).map_err(|error| error.within(&field.name))?);
        }
        // In ROS 2 a message without fields has one that is zero.
        if fields.is_empty() && !self.reader.encoding().is_ros1() {
            self.reader.take(1)?;
        }
        Ok(DynamicMessage { schema: schema.clone(), fields })
    }

    fn field(
        &mut self,
        field: &Field,
        part: Option<&Arc<Schema>>,
        depth: usize,
    ) -> Result<Value, DynamicError> {
        match (&field.element, field.arity) {
            (Element::Primitive(Primitive::WString(_)), _) if !self.reader.encoding().is_ros1() => {
                Err(DynamicErrorKind::NoForm(EncodeErrorKind::WideText).into())
            }
            (Element::Primitive(primitive), Arity::One) => self.primitive(*primitive),
            (Element::Primitive(primitive), arity) => self.array(*primitive, arity).map(Value::Array),
            (Element::Message(_), Arity::One) => {
                self.message(known(field, part)?, depth + 1).map(Value::Message)
            }
            (Element::Message(_), arity) => {
                self.messages(known(field, part)?, arity, depth + 1).map(Value::Array)
            }
        }
    }

    fn primitive(&mut self, primitive: Primitive) -> Result<Value, DynamicError> {
        let from = &mut self.reader;
        Ok(match primitive {
            Primitive::Bool => Value::Bool(bool::read_view(from)?),
            Primitive::I8 => i8::read_view(from)?.into(),
            Primitive::U8 => u8::read_view(from)?.into(),
            Primitive::I16 => i16::read_view(from)?.into(),
            Primitive::U16 => u16::read_view(from)?.into(),
            Primitive::I32 => i32::read_view(from)?.into(),
            Primitive::U32 => u32::read_view(from)?.into(),
            Primitive::I64 => i64::read_view(from)?.into(),
            Primitive::U64 => u64::read_view(from)?.into(),
            Primitive::F32 => f32::read_view(from)?.into(),
            Primitive::F64 => f64::read_view(from)?.into(),
            Primitive::Time => Time::read_view(from)?.into(),
            Primitive::Duration => Duration::read_view(from)?.into(),
            Primitive::String(_) | Primitive::WString(_) => {
                let mut text = String::new();
                text.read_into(from)?;
                check_text(primitive, &text)?;
                text.into()
            }
        })
    }

    fn array(&mut self, primitive: Primitive, arity: Arity) -> Result<Array, DynamicError> {
        let mut array = Array::empty(&Element::Primitive(primitive));
        with_vector!(&mut array, vector => self.fill(vector, arity)?, _messages => ());
        if let Array::String(texts) = &array {
            for (index, text) in texts.iter().enumerate() {
                check_text(primitive, text).map_err(|kind| DynamicError::from(kind).within_element(index))?;
            }
        }
        Ok(array)
    }

    /// Reads the elements of an array; the type or the bytes determine their number.
    fn fill<T: Wire + Default>(&mut self, vector: &mut Vec<T>, arity: Arity) -> Result<(), DynamicError> {
        let end = self.reader.enter(T::IS_PRIMITIVE)?;
        let count = match arity {
            Arity::Fixed(count) => count,
            _ => self.reader.count(T::MIN_LEN)?,
        };
        check_len(arity, count)?;
        let (needed, remaining) = (count.saturating_mul(T::MIN_LEN), self.reader.rest().len());
        if needed > remaining {
            return Err(DecodeErrorKind::Truncated { needed, remaining }.into());
        }
        // An empty text uses far more memory than wire bytes.
        self.budget.take(count, size_of::<T>().saturating_sub(T::MIN_LEN))?;
        resize(vector, count)?;
        T::read_all(vector, &mut self.reader)?;
        Ok(self.reader.leave(end)?)
    }

    fn messages(&mut self, schema: &Arc<Schema>, arity: Arity, depth: usize) -> Result<Array, DynamicError> {
        let end = self.reader.enter(false)?;
        let count = match arity {
            Arity::Fixed(count) => count,
            _ => self.count_of_messages(arity)?,
        };
        let mut messages = with_exact_capacity(count.min(FIRST_CAPACITY))?;
        for index in 0..count {
            let message = self.message(schema, depth).map_err(|error| error.within_element(index))?;
            try_reserve(&mut messages, 1)?;
            messages.push(message);
        }
        self.reader.leave(end)?;
        Ok(Array::Message(messages))
    }

    /// A count in the bytes of messages that may be empty.
    fn count_of_messages(&mut self, arity: Arity) -> Result<usize, DynamicError> {
        let count = u32::read_view(&mut self.reader)? as usize;
        check_len(arity, count)?;
        let remaining = self.reader.rest().len();
        match count > remaining.max(MAX_EMPTY_ELEMENTS) {
            true => Err(DecodeErrorKind::CountBeyondMessage { count, remaining }.into()),
            false => Ok(count),
        }
    }
}

fn known<'a>(field: &Field, part: Option<&'a Arc<Schema>>) -> Result<&'a Arc<Schema>, DynamicErrorKind> {
    part.ok_or_else(|| DynamicErrorKind::SchemaMissing { name: element_name(&field.element, Arity::One) })
}
