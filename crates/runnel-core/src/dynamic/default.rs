//! Default messages: every field has the default of its definition, or is zero, empty or false.

use super::array::with_vector;
use super::{
    Array, Budget, DynamicError, DynamicErrorKind, DynamicMessage, Value, element_name, fit_element, parts,
};
use crate::schema::{Arity, Element, Field, Literal, MAX_MESSAGE_DEPTH, Primitive, Schema};
use crate::time::{Duration, Time};
use crate::wire::{resize, with_exact_capacity};
use std::sync::Arc;

impl DynamicMessage {
    /// The message with default values in all fields.
    ///
    /// # Errors
    /// If the schema requires too much memory, memory is exhausted, messages are nested too deep, or a field's schema is
    /// missing.
    pub fn default_of(schema: &Arc<Schema>) -> Result<Self, DynamicError> {
        default_message(schema, &mut Budget::new(), 0)
    }
}

fn default_message(
    schema: &Arc<Schema>,
    budget: &mut Budget,
    depth: usize,
) -> Result<DynamicMessage, DynamicError> {
    if depth >= MAX_MESSAGE_DEPTH {
        return Err(DynamicErrorKind::TooDeep.into());
    }
    budget.take_message(schema.def.fields.len())?;
    let mut fields = with_exact_capacity(schema.def.fields.len())?;
    for (field, part) in parts(schema) {
        fields.push(default_field(field, part, budget, depth).map_err(|error| error.within(&field.name))?);
    }
    Ok(DynamicMessage { schema: schema.clone(), fields })
}

/// The default of one field of a message at nesting level `depth`.
pub(crate) fn default_field(
    field: &Field,
    part: Option<&Arc<Schema>>,
    budget: &mut Budget,
    depth: usize,
) -> Result<Value, DynamicError> {
    if let Some(value) = field.default.as_ref().and_then(|literal| default_value(field, literal)) {
        budget.take_held(&value)?;
        return Ok(value);
    }
    match field.arity {
        Arity::One => zero_element(&field.element, part, budget, depth),
        Arity::Fixed(count) => zeros(&field.element, part, count, budget, depth),
        Arity::Bounded(_) | Arity::Unbounded => Ok(Value::Array(Array::empty(&field.element))),
    }
}

/// The default of the definition, or `None` if it does not fit the field.
fn default_value(field: &Field, literal: &Literal) -> Option<Value> {
    let element = |literal: &Literal| fit_element(&field.element, None, from_literal(literal)?).ok();
    match (field.arity, literal) {
        (Arity::One, literal) => element(literal),
        (arity, Literal::List(literals)) => {
            let mut array = Array::empty(&field.element);
            let mut all = literals.iter().map(|literal| array.push(element(literal)?).ok());
            (arity.allows(literals.len()) && all.all(|pushed| pushed.is_some()))
                .then_some(Value::Array(array))
        }
        _ => None,
    }
}

fn from_literal(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Bool(value) => Some(Value::Bool(*value)),
        Literal::Int(value) => Value::from_integer(*value),
        Literal::Float(value) => Some(Value::F64(*value)),
        Literal::Text(value) => Some(Value::String(value.clone())),
        Literal::List(_) => None,
    }
}

/// One element that is zero, empty or, if it is a message, at its own default.
fn zero_element(
    element: &Element,
    part: Option<&Arc<Schema>>,
    budget: &mut Budget,
    depth: usize,
) -> Result<Value, DynamicError> {
    match (element, part) {
        (Element::Primitive(primitive), _) => Ok(zero(*primitive)),
        (Element::Message(_), Some(part)) => Ok(Value::Message(default_message(part, budget, depth + 1)?)),
        (Element::Message(_), None) => Err(missing(element).into()),
    }
}

fn zero(primitive: Primitive) -> Value {
    match primitive {
        Primitive::Bool => Value::Bool(false),
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => Value::Int(0),
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => Value::UInt(0),
        Primitive::F32 => Value::F32(0.0),
        Primitive::F64 => Value::F64(0.0),
        Primitive::Time => Value::Time(Time::default()),
        Primitive::Duration => Value::Duration(Duration::default()),
        Primitive::String(_) | Primitive::WString(_) => Value::String(String::new()),
    }
}

fn zeros(
    element: &Element,
    part: Option<&Arc<Schema>>,
    count: usize,
    budget: &mut Budget,
    depth: usize,
) -> Result<Value, DynamicError> {
    let mut array = Array::empty(element);
    budget.take(count, array.element_size())?;
    with_vector!(&mut array, vector => resize(vector, count)?, messages => {
        let known = part.ok_or_else(|| missing(element))?;
        *messages = with_exact_capacity(count)?;
        for index in 0..count {
            let message = default_message(known, budget, depth + 1);
            messages.push(message.map_err(|error| error.within_element(index))?);
        }
    });
    Ok(Value::Array(array))
}

fn missing(element: &Element) -> DynamicErrorKind {
    DynamicErrorKind::SchemaMissing { name: element_name(element, Arity::One) }
}
