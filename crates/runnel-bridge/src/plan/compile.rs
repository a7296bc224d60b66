//! Compilation of plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_core::schema::{
    Element, Field, Generation, MAX_MESSAGE_DEPTH, MessageDef, Primitive, Schema, TypeName, snake_case,
};

use super::error::CompileError;
use super::size::MinLengths;
use super::step::{MAX_RUN, Step, push};
use crate::rules::{FieldPair, FieldPath, Rules};

/// The most steps of a plan: definitions come from peers, too.
const MAX_STEPS: usize = 1 << 16;

/// A nested message of up to this many steps becomes part of the outer message's steps.
const MAX_INLINED: usize = 8;

/// See the module's documentation.
pub(super) struct Compiler<'a> {
    pub(super) rules: &'a Rules,
    /// The generation of the source.
    pub(super) from: Generation,
    pub(super) min_lengths: MinLengths,
    nested: BTreeMap<NestedKey, Arc<[Step]>>,
    depth: usize,
    steps: usize,
    /// The source is only read, to skip it.
    is_skipping: bool,
    dropped: Vec<String>,
    defaulted: Vec<String>,
}

/// Source type, target type, and whether the source is only skipped.
type NestedKey = (TypeName, TypeName, bool);

impl<'a> Compiler<'a> {
    pub(super) fn new(rules: &'a Rules, from: Generation) -> Self {
        Self {
            rules,
            from,
            min_lengths: MinLengths::default(),
            nested: BTreeMap::new(),
            depth: 0,
            steps: 0,
            is_skipping: false,
            dropped: Vec::new(),
            defaulted: Vec::new(),
        }
    }

    /// Fields of the source that are dropped, and fields of the target that get defaults.
    pub(super) fn into_differences(self) -> (Vec<String>, Vec<String>) {
        (self.dropped, self.defaulted)
    }

    /// Notes a field of the target that gets its default.
    pub(super) fn note_default(&mut self, message: &TypeName, field: &str) {
        self.defaulted.push(format!("{message}.{field}"));
    }

    /// The steps of a message.
    pub(super) fn message(
        &mut self,
        from: &Arc<Schema>,
        to: &Arc<Schema>,
    ) -> Result<Vec<Step>, CompileError> {
        if self.depth >= MAX_MESSAGE_DEPTH {
            return Err(CompileError::TooLarge);
        }
        self.depth += 1;
        let steps = self.message_at_depth(from, to);
        self.depth -= 1;
        let steps = steps?;
        self.steps += steps.len();
        if self.steps > MAX_STEPS { Err(CompileError::TooLarge) } else { Ok(steps) }
    }

    fn message_at_depth(&mut self, from: &Arc<Schema>, to: &Arc<Schema>) -> Result<Vec<Step>, CompileError> {
        if self.is_skipping {
            return self.in_order(from, to, &(0..to.def.fields.len()).map(Some).collect::<Vec<_>>());
        }
        if let Some(step) = time_wrapper(&from.def, &to.def) {
            return Ok(vec![step]);
        }
        let (ros1, ros2) = if self.from == Generation::Ros1 { (from, to) } else { (to, from) };
        if let Some(pairs) = self.rules.fields(&ros1.def.name, &ros2.def.name) {
            return self.picked(from, to, pairs);
        }
        let sources = self.sources(from, to)?;
        let found: Vec<usize> = sources.iter().flatten().copied().collect();
        // Two fields of the target may have the same source, of which one name is that of the other in lower case.
        if found.is_sorted_by(|one, next| one < next) {
            return self.in_order(from, to, &sources);
        }
        let pairs = self.pairs(from, to, &sources);
        self.picked(from, to, &pairs)
    }

    /// For each field of the target, the field of the source by name.
    fn sources(&mut self, from: &Schema, to: &Schema) -> Result<Vec<Option<usize>>, CompileError> {
        let sources: Vec<Option<usize>> =
            to.def.fields.iter().map(|field| position(&from.def, &field.name)).collect();
        let of = |def: &MessageDef, field: &Field| format!("{}.{}", def.name, field.name);
        let is_used = |index: usize| sources.contains(&Some(index));
        let rest = from.def.fields.iter().enumerate().filter(|(index, _)| !is_used(*index));
        let dropped: Vec<String> = rest
            .filter(|(_, field)| !is_sequence_number(&from.def, field))
            .map(|(_, field)| of(&from.def, field))
            .collect();
        let missing = to.def.fields.iter().zip(&sources).filter(|(_, source)| source.is_none());
        let defaulted: Vec<String> = missing
            .filter(|(field, _)| !is_sequence_number(&to.def, field))
            .map(|(field, _)| of(&to.def, field))
            .collect();
        if !dropped.is_empty() && !defaulted.is_empty() {
            return Err(CompileError::NoCounterpart { source: dropped, target: defaulted });
        }
        self.dropped.extend(dropped);
        self.defaulted.extend(defaulted);
        Ok(sources)
    }

    /// The same as pairs of fields.
    fn pairs(&self, from: &Schema, to: &Schema, sources: &[Option<usize>]) -> Vec<FieldPair> {
        let targets = to.def.fields.iter().zip(sources);
        let found = targets.filter_map(|(target, source)| Some((from.def.fields.get((*source)?)?, target)));
        found
            .map(|(source, target)| {
                let [source, target] = [source, target].map(|field| FieldPath::of_field(&field.name));
                match self.from {
                    Generation::Ros1 => FieldPair { ros1: source, ros2: target },
                    Generation::Ros2 => FieldPair { ros1: target, ros2: source },
                }
            })
            .collect()
    }

    /// The steps of a message whose fields have the same order on both sides.
    fn in_order(
        &mut self,
        from: &Schema,
        to: &Schema,
        sources: &[Option<usize>],
    ) -> Result<Vec<Step>, CompileError> {
        let mut steps = Vec::new();
        let mut next = 0;
        if from.def.fields.is_empty() && from.generation == Generation::Ros2 {
            steps.push(Step::Skip([Step::Run { align: 1, len: 1 }].into()));
        }
        for (index, source) in sources.iter().enumerate() {
            let Some((field, part)) = field_of(to, index) else { continue };
            match source {
                Some(source) => {
                    self.skip_fields(from, next..*source, &mut steps)?;
                    next = source + 1;
                    let Some((own, own_part)) = field_of(from, *source) else { continue };
                    self.field((own, own_part), (field, part), &mut steps)?;
                }
                None => self.fill(field, part, to.generation, &mut steps)?,
            }
        }
        self.skip_fields(from, next..from.def.fields.len(), &mut steps)?;
        if to.def.fields.is_empty() && to.generation == Generation::Ros2 && !self.is_skipping {
            steps.push(Step::Fill { align: 1, bytes: [0].into() });
        }
        Ok(steps)
    }

    fn skip_fields(
        &mut self,
        from: &Schema,
        fields: std::ops::Range<usize>,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        let mut skipped = Vec::new();
        for index in fields {
            self.read_field(from, index, &mut skipped)?;
        }
        if !skipped.is_empty() {
            steps.push(Step::Skip(skipped.into()));
        }
        Ok(())
    }

    /// Steps that only read a field of the source.
    pub(super) fn read_field(
        &mut self,
        from: &Schema,
        index: usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), CompileError> {
        let Some((field, part)) = field_of(from, index) else { return Ok(()) };
        let before = std::mem::replace(&mut self.is_skipping, true);
        let read = self.field((field, part), (field, part), steps);
        self.is_skipping = before;
        read
    }

    /// The steps of a nested message, compiled once.
    pub(super) fn nested(
        &mut self,
        from: &Arc<Schema>,
        to: &Arc<Schema>,
    ) -> Result<Arc<[Step]>, CompileError> {
        let key = (from.def.name.clone(), to.def.name.clone(), self.is_skipping);
        if let Some(known) = self.nested.get(&key) {
            return Ok(Arc::clone(known));
        }
        let steps: Arc<[Step]> = self.message(from, to)?.into();
        self.nested.insert(key, Arc::clone(&steps));
        Ok(steps)
    }

    /// Appends the steps of a nested message.
    pub(super) fn push_nested(&mut self, field: &str, nested: Arc<[Step]>, steps: &mut Vec<Step>) {
        if nested.len() > MAX_INLINED {
            return steps.push(Step::Message { steps: nested, field: field.into() });
        }
        for step in nested.iter() {
            push(steps, named_within(step.clone(), field));
        }
    }
}

/// The step with the name of the outer message before that of its field.
fn named_within(step: Step, outer: &str) -> Step {
    let within = |field: Arc<str>| Arc::from(format!("{outer}.{field}"));
    match step {
        Step::Bools { count, field } => Step::Bools { count, field: within(field) },
        Step::Time { field } => Step::Time { field: within(field) },
        Step::Duration { field } => Step::Duration { field: within(field) },
        Step::Text { bound, field } => Step::Text { bound, field: within(field) },
        Step::Message { steps, field } => Step::Message { steps, field: within(field) },
        other => other,
    }
}

/// A field of a schema, with the schema of its type.
pub(super) fn field_of(schema: &Schema, index: usize) -> Option<(&Field, Option<&Arc<Schema>>)> {
    Some((schema.def.fields.get(index)?, schema.parts.get(index)?.as_ref()))
}

/// The field of this name, or of the name in lower case, as ROS 2 has it.
pub(super) fn position(def: &MessageDef, name: &str) -> Option<usize> {
    let same = def.fields.iter().position(|field| field.name == name);
    same.or_else(|| def.fields.iter().position(|field| snake_case(&field.name) == snake_case(name)))
}

/// True of `std_msgs/Header.seq`, which ROS 1 publishers count and ROS 2 does not have.
pub(super) fn is_sequence_number(def: &MessageDef, field: &Field) -> bool {
    def.name.package == "std_msgs" && def.name.name == "Header" && field.name == "seq"
}

/// The conversion between `std_msgs/Time` or `Duration` of ROS 1 and the type of `builtin_interfaces` of ROS 2, which has
/// the parts of a time as fields of its own.
fn time_wrapper(from: &MessageDef, to: &MessageDef) -> Option<Step> {
    let is_wrapper = |def: &MessageDef, of: Primitive| match def.fields.as_slice() {
        [field] => def.name.package == "std_msgs" && field.element == Element::Primitive(of),
        _ => false,
    };
    let is_builtin = |def: &MessageDef, name: &str| def.name == TypeName::new("builtin_interfaces", name);
    let is_pair = |of: Primitive, name: &str| {
        is_wrapper(from, of) && is_builtin(to, name) || is_builtin(from, name) && is_wrapper(to, of)
    };
    let field = || Arc::from("data");
    if is_pair(Primitive::Time, "Time") {
        return Some(Step::Time { field: field() });
    }
    is_pair(Primitive::Duration, "Duration").then(|| Step::Duration { field: field() })
}

/// Checks that a run of so many bytes is within limits.
pub(super) fn run_len(element: usize, count: usize) -> Option<usize> {
    element.checked_mul(count).filter(|len| *len <= MAX_RUN)
}
