//! Steps of single fields.

use std::sync::Arc;

use runnel_core::schema::{Arity, Element, Field, Primitive, Schema};

use super::compile::{Compiler, run_len};
use super::error::CompileError;
use super::step::{ArrayStep, Item, Step, push};

/// A field, with the schema of its type if that is a message.
pub(super) type Typed<'a> = (&'a Field, Option<&'a Arc<Schema>>);

impl Compiler<'_> {
    /// Appends the steps of a field.
    pub(super) fn field(
        &mut self,
        from: Typed<'_>,
        to: Typed<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        match (from.0.arity, to.0.arity) {
            (Arity::One, Arity::One) => self.one(from, to, steps),
            (Arity::One, _) | (_, Arity::One) => Err(differ(from.0, to.0)),
            (Arity::Fixed(one), Arity::Fixed(other)) if one != other => Err(differ(from.0, to.0)),
            (Arity::Fixed(count), Arity::Fixed(_)) => self.fixed(from, to, count, steps),
            _ => self.array(from, to, steps),
        }
    }

    fn one(&mut self, from: Typed<'_>, to: Typed<'_>, steps: &mut Vec<Step>) -> Result<(), CompileError> {
        match (&from.0.element, &to.0.element) {
            (Element::Primitive(own), Element::Primitive(other)) => {
                push(steps, primitive(*own, *other, from.0, to.0)?);
                Ok(())
            }
            (Element::Message(_), Element::Message(_)) => {
                let (own, other) = (part_of(from)?, part_of(to)?);
                let nested = self.nested(own, other).map_err(|error| error.within(&to.0.name))?;
                self.push_nested(&to.0.name, nested, steps);
                Ok(())
            }
            _ => Err(differ(from.0, to.0)),
        }
    }

    /// An array of fixed length on both sides. Numbers need no padding between them.
    fn fixed(
        &mut self,
        from: Typed<'_>,
        to: Typed<'_>,
        count: usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        if let (Element::Primitive(own), Element::Primitive(other)) = (&from.0.element, &to.0.element) {
            match primitive(*own, *other, from.0, to.0)? {
                Step::Run { align, len } if count > 0 => {
                    if let Some(len) = run_len(len, count) {
                        push(steps, Step::Run { align, len });
                        return Ok(());
                    }
                }
                Step::Bools { field, .. } if run_len(1, count).is_some() => {
                    push(steps, Step::Bools { count, field });
                    return Ok(());
                }
                _ => {}
            }
        }
        self.array(from, to, steps)
    }

    fn array(&mut self, from: Typed<'_>, to: Typed<'_>, steps: &mut Vec<Step>) -> Result<(), CompileError> {
        let mut item = Vec::new();
        self.one(from, to, &mut item)?;
        let is_number =
            matches!(to.0.element, Element::Primitive(of) if is_number(of) || of == Primitive::Bool);
        let item = match item.as_slice() {
            [Step::Run { align, len }] if len % align == 0 => Item::Run { align: *align, len: *len },
            [Step::Bools { count: 1, .. }] if is_number => Item::Bools,
            _ => Item::Steps(item),
        };
        steps.push(Step::Array(Arc::new(ArrayStep {
            from: from.0.arity,
            to: to.0.arity,
            item,
            min_len: self.min_lengths.of_element(from.0, from.1),
            is_primitive: is_number,
            field: to.0.name.as_str().into(),
        })));
        Ok(())
    }
}

/// The step of one value that is not a message.
fn primitive(own: Primitive, other: Primitive, from: &Field, to: &Field) -> Result<Step, CompileError> {
    let field = || Arc::from(to.name.as_str());
    Ok(match (own, other) {
        (Primitive::WString(_), _) | (_, Primitive::WString(_)) => {
            return Err(CompileError::WideText { field: to.name.clone() });
        }
        (Primitive::Bool, Primitive::Bool) => Step::Bools { count: 1, field: field() },
        (Primitive::Time, Primitive::Time) => Step::Time { field: field() },
        (Primitive::Duration, Primitive::Duration) => Step::Duration { field: field() },
        (Primitive::String(_), Primitive::String(bound)) => Step::Text { bound, field: field() },
        _ if is_number(own) && (own == other || is_byte(own) && is_byte(other)) => {
            let len = own.fixed_len().unwrap_or_default();
            Step::Run { align: len, len }
        }
        _ => return Err(differ(from, to)),
    })
}

fn is_number(primitive: Primitive) -> bool {
    let is_other = matches!(primitive, Primitive::Bool | Primitive::Time | Primitive::Duration);
    !is_other && !primitive.is_text()
}

/// `byte` is signed in ROS 1 and unsigned in ROS 2.
fn is_byte(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::I8 | Primitive::U8)
}

fn part_of<'a>((field, part): Typed<'a>) -> Result<&'a Arc<Schema>, CompileError> {
    part.ok_or_else(|| CompileError::DefinitionMissing { field: field.name.clone() })
}

pub(super) fn differ(from: &Field, to: &Field) -> CompileError {
    CompileError::FieldTypes {
        field: to.name.clone(),
        source: from.spelling.clone(),
        target: to.spelling.clone(),
    }
}
