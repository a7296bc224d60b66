//! Messages of any type with a different value in every field.

use runnel_core::dynamic::{Array, DynamicMessage, Value};
use runnel_core::schema::{Arity, Element, Field, Primitive, Schema};
use runnel_core::time::{Duration, Time};
use std::sync::Arc;

/// A message of a schema with distinct numbers and texts, if their types have enough values. Sequences
/// have two elements, or as many as their bound allows.
///
/// # Panics
/// If the schema has no message.
pub fn distinct_message(schema: &Arc<Schema>) -> DynamicMessage {
    Filling { last: 0 }.message(schema)
}

struct Filling {
    /// The last number used.
    last: u8,
}

impl Filling {
    fn message(&mut self, schema: &Arc<Schema>) -> DynamicMessage {
        let mut message = DynamicMessage::default_of(schema).unwrap();
        for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
            let value = self.field(field, part.as_ref());
            message.set(&field.name, value).unwrap_or_else(|error| panic!("{}: {error}", schema.def.name));
        }
        message
    }

    fn field(&mut self, field: &Field, part: Option<&Arc<Schema>>) -> Value {
        let count = match field.arity {
            Arity::One => return self.element(&field.element, part),
            Arity::Fixed(count) => count,
            Arity::Bounded(most) => most.min(2),
            Arity::Unbounded => 2,
        };
        let elements: Vec<Value> = (0..count).map(|_| self.element(&field.element, part)).collect();
        Value::Array(array(elements))
    }

    fn element(&mut self, element: &Element, part: Option<&Arc<Schema>>) -> Value {
        let primitive = match (element, part) {
            (Element::Primitive(primitive), _) => *primitive,
            (Element::Message(_), part) => return self.message(part.unwrap()).into(),
        };
        self.last = if self.last < 100 { self.last + 1 } else { 1 };
        let number = i64::from(self.last);
        match primitive {
            Primitive::Bool => Value::Bool(number % 2 == 1),
            Primitive::I8 => Value::Int(-number),
            Primitive::U8 => Value::UInt(100 + number as u64),
            Primitive::I16 => Value::Int(-300 * number),
            Primitive::U16 => Value::UInt(600 * number as u64),
            Primitive::I32 => Value::Int(-20_000_000 * number),
            Primitive::U32 => Value::UInt(40_000_000 * number as u64),
            Primitive::I64 => Value::Int(i64::MIN / 128 * number),
            Primitive::U64 => Value::UInt(u64::MAX / 128 * number as u64),
            Primitive::F32 => Value::F32(0.5 * number as f32),
            Primitive::F64 => Value::F64(-0.25 * number as f64),
            Primitive::Time => Time { sec: 1000 + number as i32, nanosec: 7 * number as u32 }.into(),
            Primitive::Duration => Duration { sec: -number as i32, nanosec: 9 * number as u32 }.into(),
            Primitive::String(_) | Primitive::WString(_) => format!("t{number}").into(),
        }
    }
}

/// An array of values of one type. The message that takes it checks the width.
fn array(elements: Vec<Value>) -> Array {
    macro_rules! of {
        ($($variant:ident),*) => {
            match elements.first() {
                $(Some(Value::$variant(_)) => {
                    let all = elements.into_iter().map(|element| match element {
                        Value::$variant(element) => element,
                        other => panic!("{other:?} among other elements"),
                    });
                    of!(@array $variant, all.collect())
                })*
                _ => Array::I64(Vec::new()),
            }
        };
        (@array Int, $all:expr) => { Array::I64($all) };
        (@array UInt, $all:expr) => { Array::U64($all) };
        (@array $variant:ident, $all:expr) => { Array::$variant($all) };
    }
    of!(Bool, Int, UInt, F32, F64, String, Time, Duration, Message)
}
