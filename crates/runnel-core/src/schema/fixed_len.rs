//! Length of messages that take the same number of bytes whatever they hold.

use super::{Arity, Element, Field, Generation, Primitive, Schema};

impl Schema {
    /// Number of bytes that every message takes in ROS 1; `None` if that varies, or if this is the form of ROS 2.
    pub fn ros1_fixed_len(&self) -> Option<usize> {
        if self.generation != Generation::Ros1 {
            return None;
        }
        let fields = self.def.fields.iter().zip(&self.parts);
        fields.map(|(field, part)| field_len(field, part.as_deref())).try_fold(0usize, |sum, len| {
            // A length beyond the host's addresses is as good as none.
            sum.checked_add(len?)
        })
    }
}

fn field_len(field: &Field, part: Option<&Schema>) -> Option<usize> {
    let count = match field.arity {
        Arity::One => 1,
        Arity::Fixed(count) => count,
        Arity::Bounded(_) | Arity::Unbounded => return None,
    };
    let element = match &field.element {
        Element::Primitive(primitive) => primitive_len(*primitive)?,
        Element::Message(_) => part?.ros1_fixed_len()?,
    };
    element.checked_mul(count)
}

fn primitive_len(primitive: Primitive) -> Option<usize> {
    match primitive {
        Primitive::Bool | Primitive::I8 | Primitive::U8 => Some(1),
        Primitive::I16 | Primitive::U16 => Some(2),
        Primitive::I32 | Primitive::U32 | Primitive::F32 => Some(4),
        Primitive::I64 | Primitive::U64 | Primitive::F64 | Primitive::Time | Primitive::Duration => Some(8),
        Primitive::String(_) | Primitive::WString(_) => None,
    }
}
