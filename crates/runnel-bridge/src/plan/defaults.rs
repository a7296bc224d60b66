//! Steps that write fields which the source does not have.

use std::sync::Arc;

use runnel_core::schema::{Arity, Element, Field, Generation, Literal, Primitive, Schema};

use super::compile::Compiler;
use super::error::CompileError;
use super::step::Step;

/// The most elements of a default array.
const MAX_ELEMENTS: usize = 4096;

impl Compiler<'_> {
    /// Appends the default of a field.
    pub(super) fn fill(
        &mut self,
        field: &Field,
        part: Option<&Arc<Schema>>,
        generation: Generation,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        let listed = match &field.default {
            Some(Literal::List(values)) => values.as_slice(),
            _ => &[],
        };
        let (count, is_counted) = match field.arity {
            Arity::One => return self.fill_one(field, part, field.default.as_ref(), generation, steps),
            Arity::Fixed(count) => (count, false),
            Arity::Bounded(_) | Arity::Unbounded => (listed.len(), true),
        };
        if count > MAX_ELEMENTS {
            return Err(CompileError::TooLarge);
        }
        if is_counted {
            steps.push(Step::Fill { align: 4, bytes: (count as u32).to_le_bytes().into() });
        }
        (0..count).try_for_each(|index| self.fill_one(field, part, listed.get(index), generation, steps))
    }

    fn fill_one(
        &mut self,
        field: &Field,
        part: Option<&Arc<Schema>>,
        literal: Option<&Literal>,
        generation: Generation,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        match (&field.element, part) {
            (Element::Primitive(primitive), _) => {
                steps.push(primitive_default(*primitive, literal));
                Ok(())
            }
            (Element::Message(_), Some(part)) => self.fill_message(part, generation, steps),
            (Element::Message(_), None) => Err(CompileError::DefinitionMissing { field: field.name.clone() }),
        }
    }

    fn fill_message(
        &mut self,
        schema: &Schema,
        generation: Generation,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        if steps.len() > MAX_ELEMENTS {
            return Err(CompileError::TooLarge);
        }
        if schema.def.fields.is_empty() && generation == Generation::Ros2 {
            steps.push(Step::Fill { align: 1, bytes: [0].into() });
        }
        let fields = schema.def.fields.iter().zip(&schema.parts);
        fields.into_iter().try_for_each(|(field, part)| self.fill(field, part.as_ref(), generation, steps))
    }
}

fn primitive_default(primitive: Primitive, literal: Option<&Literal>) -> Step {
    if primitive.is_text() {
        let text = match literal {
            Some(Literal::Text(text)) => text.as_str(),
            _ => "",
        };
        return Step::FillText(text.into());
    }
    let len = primitive.fixed_len().unwrap_or(1);
    let align = if matches!(primitive, Primitive::Time | Primitive::Duration) { 4 } else { len };
    let bytes = number(primitive, literal).to_le_bytes();
    Step::Fill { align, bytes: bytes.get(..len).unwrap_or_default().into() }
}

/// The bits of a number, the lowest first.
fn number(primitive: Primitive, literal: Option<&Literal>) -> u64 {
    match (literal, primitive) {
        (Some(Literal::Bool(value)), _) => u64::from(*value),
        (Some(Literal::Int(value)), Primitive::F32) => u64::from((*value as f32).to_bits()),
        (Some(Literal::Int(value)), Primitive::F64) => (*value as f64).to_bits(),
        (Some(Literal::Int(value)), _) => *value as u64,
        (Some(Literal::Float(value)), Primitive::F32) => u64::from((*value as f32).to_bits()),
        (Some(Literal::Float(value)), _) => value.to_bits(),
        _ => 0,
    }
}
