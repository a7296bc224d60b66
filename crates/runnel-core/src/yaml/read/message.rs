//! Messages in a text.

use super::fields::FieldNode;
use super::node::{Context, Node, Scalar, wrong_type};
use super::value_count;
use crate::dynamic::{DynamicErrorKind, DynamicMessage, Value, default_field, no_such_field, parts};
use crate::schema::{MAX_MESSAGE_DEPTH, Schema};
use crate::yaml::YamlErrorKind;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess};
use std::sync::Arc;

/// A message: a mapping of its fields, a list of them in order, or for a header the word `auto`.
pub(super) struct MessageNode<'s> {
    pub(super) schema: &'s Arc<Schema>,
    pub(super) depth: usize,
}

impl Node for MessageNode<'_> {
    type Output = DynamicMessage;

    fn expected(&self) -> String {
        self.schema.def.name.to_string()
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<DynamicMessage, YamlErrorKind> {
        let name = self.expected();
        let default = || complete(context, self.schema, Vec::new(), self.depth);
        match (scalar, name.as_str()) {
            (Scalar::Nothing, _) if self.schema.def.fields.is_empty() => default(),
            (Scalar::Text("auto"), "std_msgs/Header") => {
                let mut header = default()?;
                header.set("stamp", context.now).map_err(|error| error.kind().clone())?;
                Ok(header)
            }
            _ => Err(wrong_type(name, scalar.to_string())),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(
        self,
        context: &Context,
        mut list: A,
    ) -> Result<DynamicMessage, A::Error> {
        self.check_depth().map_err(|kind| context.fail(kind))?;
        let mut values = Vec::new();
        for (field, part) in parts(self.schema) {
            let node = context.visit(FieldNode { field, part, depth: self.depth });
            match context.within(field.name.clone(), || list.next_element_seed(node))? {
                Some(value) => values.push(Some(value)),
                None => return Err(context.fail(value_count(self.schema, values.len()))),
            }
        }
        let mut given = values.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            given += 1;
        }
        if given > values.len() {
            return Err(context.fail(value_count(self.schema, given)));
        }
        self.complete(context, values)
    }

    fn mapping<'de, A: MapAccess<'de>>(
        self,
        context: &Context,
        mut mapping: A,
    ) -> Result<DynamicMessage, A::Error> {
        self.check_depth().map_err(|kind| context.fail(kind))?;
        let mut values = vec![None; self.schema.def.fields.len()];
        while let Some(index) =
            mapping.next_key_seed(context.visit(FieldName { schema: self.schema, given: &values }))?
        {
            let Some(((field, part), place)) = parts(self.schema).zip(&mut values).nth(index) else {
                continue;
            };
            let node = context.visit(FieldNode { field, part, depth: self.depth });
            *place = Some(context.within(field.name.clone(), || mapping.next_value_seed(node))?);
        }
        self.complete(context, values)
    }
}

impl MessageNode<'_> {
    fn check_depth(&self) -> Result<(), DynamicErrorKind> {
        if self.depth < MAX_MESSAGE_DEPTH { Ok(()) } else { Err(DynamicErrorKind::TooDeep) }
    }

    fn complete<E: Error>(self, context: &Context, values: Vec<Option<Value>>) -> Result<DynamicMessage, E> {
        complete(context, self.schema, values, self.depth).map_err(|kind| context.fail(kind))
    }
}

/// The message of these values, in which the fields without one get their defaults.
pub(super) fn complete(
    context: &Context,
    schema: &Arc<Schema>,
    values: Vec<Option<Value>>,
    depth: usize,
) -> Result<DynamicMessage, YamlErrorKind> {
    let mut budget = context.budget.borrow_mut();
    budget.take_message(schema.def.fields.len())?;
    let mut values = values.into_iter();
    let mut fields = Vec::new();
    for (field, part) in parts(schema) {
        fields.push(match values.next().flatten() {
            Some(value) => value,
            None => default_field(field, part, &mut budget, depth).map_err(|error| error.kind().clone())?,
        });
    }
    Ok(DynamicMessage::of_values(schema.clone(), fields))
}

/// The name of a field in a mapping, which becomes the field's index.
struct FieldName<'s> {
    schema: &'s Schema,
    given: &'s [Option<Value>],
}

impl Node for FieldName<'_> {
    type Output = usize;

    fn expects_text(&self) -> bool {
        true
    }

    fn expected(&self) -> String {
        format!("the name of a field of {}", self.schema.def.name)
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<usize, YamlErrorKind> {
        let name = if let Scalar::Text(name) = scalar { name } else { "" };
        let index = self.schema.def.fields.iter().position(|field| field.name == name);
        let kind = match index {
            Some(index) if self.given.get(index).is_some_and(Option::is_none) => return Ok(index),
            Some(_) => YamlErrorKind::SetTwice,
            None => no_such_field(self.schema).into(),
        };
        // Where the error is: the field that was named.
        context.within(name.chars().take(255).collect(), || Err(kind))
    }
}
