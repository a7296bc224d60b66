//! Fields, arrays and elements in a text.

use super::message::MessageNode;
use super::node::{Context, Node, Scalar, wrong_type};
use super::scalar::{SecondsNode, scalar_value};
use crate::dynamic::{Array, DynamicErrorKind, Value, check_len, element_name};
use crate::schema::{Arity, Element, Field, Primitive, Schema};
use crate::yaml::YamlErrorKind;
use serde::de::{MapAccess, SeqAccess};
use std::sync::Arc;

/// The value of a field.
pub(super) struct FieldNode<'s> {
    pub(super) field: &'s Field,
    pub(super) part: Option<&'s Arc<Schema>>,
    pub(super) depth: usize,
}

impl<'s> FieldNode<'s> {
    fn element(&self) -> ElementNode<'s> {
        ElementNode { element: &self.field.element, part: self.part, depth: self.depth }
    }

    fn is_array(&self) -> bool {
        self.field.arity != Arity::One
    }
}

impl Node for FieldNode<'_> {
    type Output = Value;

    fn expects_text(&self) -> bool {
        !self.is_array() && self.element().expects_text()
    }

    fn expected(&self) -> String {
        element_name(&self.field.element, self.field.arity)
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<Value, YamlErrorKind> {
        match self.is_array() {
            true => Err(wrong_type(self.expected(), scalar.to_string())),
            false => self.element().scalar(context, scalar),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(self, context: &Context, mut list: A) -> Result<Value, A::Error> {
        if !self.is_array() {
            return self.element().list(context, list);
        }
        let mut array = Array::empty(&self.field.element);
        while let Some(value) = context
            .within(format!("[{}]", array.len()), || list.next_element_seed(context.visit(self.element())))?
        {
            let added = context.take(array.element_size()).and_then(|()| self.push(&mut array, value));
            added.map_err(|kind| context.fail(kind))?;
        }
        check_len(self.field.arity, array.len()).map_err(|kind| context.fail(kind))?;
        Ok(Value::Array(array))
    }

    fn mapping<'de, A: MapAccess<'de>>(self, context: &Context, mapping: A) -> Result<Value, A::Error> {
        match self.is_array() {
            true => Err(context.fail(wrong_type(self.expected(), "a mapping".into()))),
            false => self.element().mapping(context, mapping),
        }
    }
}

impl FieldNode<'_> {
    fn push(&self, array: &mut Array, value: Value) -> Result<(), DynamicErrorKind> {
        let mismatch =
            |_| DynamicErrorKind::SchemaMissing { name: element_name(&self.field.element, Arity::One) };
        array.push(value).map_err(mismatch)
    }
}

/// One element of an array, or a field without an array.
struct ElementNode<'s> {
    element: &'s Element,
    part: Option<&'s Arc<Schema>>,
    depth: usize,
}

impl<'s> ElementNode<'s> {
    /// The message that is expected, if one is.
    fn message(&self) -> Option<MessageNode<'s>> {
        self.part.map(|schema| MessageNode { schema, depth: self.depth + 1 })
    }

    /// The time or duration that is expected, if one is.
    fn seconds(&self) -> Option<SecondsNode> {
        match self.element {
            Element::Primitive(Primitive::Time) => Some(SecondsNode { signed: false }),
            Element::Primitive(Primitive::Duration) => Some(SecondsNode { signed: true }),
            _ => None,
        }
    }
}

impl Node for ElementNode<'_> {
    type Output = Value;

    fn expects_text(&self) -> bool {
        self.element.is_text()
    }

    fn expected(&self) -> String {
        element_name(self.element, Arity::One)
    }

    fn scalar(self, context: &Context, scalar: Scalar<'_>) -> Result<Value, YamlErrorKind> {
        if let Some(message) = self.message() {
            return message.scalar(context, scalar).map(Value::Message);
        }
        match self.seconds() {
            Some(seconds) => seconds.scalar(context, scalar),
            None => scalar_value(self.element, context, scalar),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(self, context: &Context, list: A) -> Result<Value, A::Error> {
        if let Some(message) = self.message() {
            return message.list(context, list).map(Value::Message);
        }
        match self.seconds() {
            Some(seconds) => seconds.list(context, list),
            None => Err(context.fail(wrong_type(self.expected(), "a list".into()))),
        }
    }

    fn mapping<'de, A: MapAccess<'de>>(self, context: &Context, mapping: A) -> Result<Value, A::Error> {
        if let Some(message) = self.message() {
            return message.mapping(context, mapping).map(Value::Message);
        }
        match self.seconds() {
            Some(seconds) => seconds.mapping(context, mapping),
            None => Err(context.fail(wrong_type(self.expected(), "a mapping".into()))),
        }
    }
}
