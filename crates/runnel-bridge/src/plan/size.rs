//! Fewest bytes of values, by which counts in messages are checked before memory is reserved.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_core::schema::{Arity, Element, Field, Generation, Schema, TypeName};

/// Bytes of a count.
const COUNT: usize = 4;

/// Fewest bytes of messages, each type computed once: a peer's definition may name parts in any number of ways.
#[derive(Debug, Default)]
pub(super) struct MinLengths(BTreeMap<TypeName, usize>);

impl MinLengths {
    /// Fewest bytes of one element of a field.
    pub(super) fn of_element(&mut self, field: &Field, part: Option<&Arc<Schema>>) -> usize {
        match (&field.element, part) {
            (Element::Primitive(primitive), _) => primitive.fixed_len().unwrap_or(COUNT),
            (Element::Message(_), Some(part)) => self.of_message(part),
            (Element::Message(_), None) => 0,
        }
    }

    fn of_message(&mut self, schema: &Schema) -> usize {
        if let Some(known) = self.0.get(&schema.def.name) {
            return *known;
        }
        let fields = schema.def.fields.iter().zip(&schema.parts);
        let sum = fields
            .fold(0_usize, |sum, (field, part)| sum.saturating_add(self.of_field(field, part.as_ref())));
        // In ROS 2 a message without fields has one that is zero.
        let is_empty_in_ros2 = schema.def.fields.is_empty() && schema.generation == Generation::Ros2;
        let len = sum + usize::from(is_empty_in_ros2);
        self.0.insert(schema.def.name.clone(), len);
        len
    }

    fn of_field(&mut self, field: &Field, part: Option<&Arc<Schema>>) -> usize {
        match field.arity {
            Arity::One => self.of_element(field, part),
            Arity::Fixed(count) => self.of_element(field, part).saturating_mul(count),
            Arity::Bounded(_) | Arity::Unbounded => COUNT,
        }
    }
}
