//! Steps of messages whose fields have another order or nesting in the target: the positions of the needed fields are
//! noted first, then the target is written.

use std::sync::Arc;

use runnel_core::schema::{Arity, Generation, Schema, TypeName};

use super::compile::{Compiler, field_of, is_sequence_number, position};
use super::element::Typed;
use super::error::CompileError;
use super::step::{PickedStep, Step, Walk, Write};
use crate::rules::{FieldPair, FieldPath};

/// A pair of fields in the direction of the plan.
#[derive(Clone, Copy)]
struct Pair<'a> {
    from: &'a [String],
    to: &'a [String],
    /// Number of the noted position.
    position: usize,
}

impl Compiler<'_> {
    /// The steps of a message by pairs of fields.
    pub(super) fn picked(
        &mut self,
        from: &Arc<Schema>,
        to: &Arc<Schema>,
        pairs: &[FieldPair],
    ) -> Result<Vec<Step>, CompileError> {
        let is_to_ros2 = self.from == Generation::Ros1;
        let pairs: Vec<Pair<'_>> = pairs
            .iter()
            .enumerate()
            .map(|(position, FieldPair { ros1, ros2 })| match is_to_ros2 {
                true => Pair { from: ros1.parts(), to: ros2.parts(), position },
                false => Pair { from: ros2.parts(), to: ros1.parts(), position },
            })
            .collect();
        for pair in &pairs {
            find(from, pair.from)?;
            find(to, pair.to)?;
        }
        let (mut walk, mut writes) = (Vec::new(), Vec::new());
        self.walk(from, &pairs, &mut walk)?;
        self.writes((from, to), to, &pairs, &mut writes)?;
        Ok(vec![Step::Picked(Arc::new(PickedStep { walk, writes, positions: pairs.len() }))])
    }

    /// Appends a walk over a message of the source that notes the fields of the pairs.
    fn walk(&mut self, from: &Schema, pairs: &[Pair<'_>], walk: &mut Vec<Walk>) -> Result<(), CompileError> {
        if from.def.fields.is_empty() && from.generation == Generation::Ros2 {
            walk.push(Walk::Skip(vec![Step::Run { align: 1, len: 1 }]));
        }
        for (index, field) in from.def.fields.iter().enumerate() {
            let (whole, inner) =
                split(pairs, index, from, |pair| pair.from, |pair, from| Pair { from, ..pair });
            walk.extend(whole.iter().map(|pair| Walk::Note { position: pair.position }));
            match from.parts.get(index).and_then(Option::as_ref) {
                Some(part) if !inner.is_empty() && field.arity == Arity::One => {
                    self.walk(part, &inner, walk)?;
                }
                _ => {
                    let mut steps = Vec::new();
                    self.read_field(from, index, &mut steps)?;
                    walk.push(Walk::Skip(steps));
                }
            }
        }
        Ok(())
    }

    /// Appends the writes of a message of the target. `whole` are the messages in which the paths of sources begin.
    fn writes(
        &mut self,
        whole: (&Arc<Schema>, &Arc<Schema>),
        to: &Schema,
        pairs: &[Pair<'_>],
        writes: &mut Vec<Write>,
    ) -> Result<(), CompileError> {
        for (index, field) in to.def.fields.iter().enumerate() {
            let (exact, inner) = split(pairs, index, to, |pair| pair.to, |pair, to| Pair { to, ..pair });
            let Some(target) = field_of(to, index) else { continue };
            let mut steps = Vec::new();
            if let Some(pair) = exact.first() {
                let source = find(whole.0, pair.from)?;
                self.picked_field(whole, source, target, &mut steps)?;
                writes.push(Write::From { position: pair.position, steps });
                continue;
            }
            match target.1 {
                Some(part) if !inner.is_empty() && field.arity == Arity::One => {
                    self.writes(whole, part, &inner, writes)?;
                }
                _ => {
                    if !is_sequence_number(&to.def, field) {
                        self.note_default(&to.def.name, &field.name);
                    }
                    self.fill(field, target.1, to.generation, &mut steps)?;
                    writes.push(Write::Default(steps));
                }
            }
        }
        if to.def.fields.is_empty() && to.generation == Generation::Ros2 {
            writes.push(Write::Default(vec![Step::Fill { align: 1, bytes: [0].into() }]));
        }
        Ok(())
    }

    fn picked_field(
        &mut self,
        (from, to): (&Arc<Schema>, &Arc<Schema>),
        source: Typed<'_>,
        target: Typed<'_>,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        let names = [&from.def.name, &to.def.name];
        let is_log = |package: &str| names.contains(&&TypeName::new(package, "Log"));
        if is_log("rosgraph_msgs") && is_log("rcl_interfaces") && target.0.name == "level" {
            steps.push(Step::LogLevel);
            return Ok(());
        }
        self.field(source, target, steps)
    }
}

/// The pairs whose path is field `index` of a message, and those whose path leads into it, without that part.
fn split<'a>(
    pairs: &[Pair<'a>],
    index: usize,
    schema: &Schema,
    path: impl Fn(Pair<'a>) -> &'a [String],
    with: impl Fn(Pair<'a>, &'a [String]) -> Pair<'a>,
) -> (Vec<Pair<'a>>, Vec<Pair<'a>>) {
    let (mut exact, mut inner) = (Vec::new(), Vec::new());
    for pair in pairs {
        match path(*pair) {
            [first, rest @ ..] if position(&schema.def, first) == Some(index) => match rest {
                [] => exact.push(*pair),
                rest => inner.push(with(*pair, rest)),
            },
            _ => {}
        }
    }
    (exact, inner)
}

/// The field at a path.
fn find<'a>(schema: &'a Arc<Schema>, path: &[String]) -> Result<Typed<'a>, CompileError> {
    let missing = || CompileError::NoSuchField {
        message: schema.def.name.to_string(),
        field: FieldPath::text_of(path),
    };
    let mut at = schema;
    let mut parts = path.iter().peekable();
    while let Some(name) = parts.next() {
        let typed = position(&at.def, name).and_then(|index| field_of(at, index)).ok_or_else(missing)?;
        match (parts.peek(), typed) {
            (None, typed) => return Ok(typed),
            (Some(_), (field, Some(part))) if field.arity == Arity::One => at = part,
            (Some(_), _) => return Err(missing()),
        }
    }
    Err(missing())
}
