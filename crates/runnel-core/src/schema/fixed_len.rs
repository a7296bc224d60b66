//! Length of messages of fixed size.

use super::{Arity, Element, Field, Generation, Primitive, Schema};

impl Schema {
    /// Constant length in bytes of all messages in ROS 1; `None` if it varies, or if this is the ROS 2 form.
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
        Element::Primitive(primitive) => primitive.fixed_len()?,
        Element::Message(_) => part?.ros1_fixed_len()?,
    };
    element.checked_mul(count)
}

impl Primitive {
    /// Constant length in bytes of a value in ROS 1, and without alignment in CDR; `None` if it varies.
    pub fn fixed_len(self) -> Option<usize> {
        match self {
            Self::Bool | Self::I8 | Self::U8 => Some(1),
            Self::I16 | Self::U16 => Some(2),
            Self::I32 | Self::U32 | Self::F32 => Some(4),
            Self::I64 | Self::U64 | Self::F64 | Self::Time | Self::Duration => Some(8),
            Self::String(_) | Self::WString(_) => None,
        }
    }
}
