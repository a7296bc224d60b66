//! Array at the end of a message's encoding, which a publisher may fill in place.

use crate::names;
use runnel_core::schema::{Arity, Element, Field, Generation, Primitive, Schema};

/// The last array of numbers of a message, if nothing after it varies in size.
#[derive(Debug, PartialEq)]
pub(crate) struct TailField {
    /// Rust names of the fields that lead to it, from the outside in.
    pub(crate) path: Vec<String>,
    /// Size of an element, in bytes.
    pub(crate) element: usize,
    /// Bytes that follow the array, without alignment padding.
    pub(crate) after: usize,
}

/// Finds the last array of numbers, if it is the last part of the message that varies in size.
pub(crate) fn tail(schema: &Schema) -> Option<TailField> {
    let names = names::fields(schema.def.fields.iter().map(|field| field.name.as_str()));
    let (generation, mut after) = (schema.generation, 0usize);
    for ((field, part), name) in schema.def.fields.iter().zip(&schema.parts).zip(names).rev() {
        match fixed_len(generation, field, part.as_deref()) {
            Some(len) => after = after.checked_add(len)?,
            None => return ending(field, part.as_deref(), name, after),
        }
    }
    None
}

/// The array at the end of a variable-size field.
fn ending(field: &Field, part: Option<&Schema>, name: String, after: usize) -> Option<TailField> {
    match (&field.element, field.arity) {
        (Element::Primitive(primitive), Arity::Unbounded) if is_number(*primitive) => {
            Some(TailField { path: vec![name], element: primitive.fixed_len()?, after })
        }
        (Element::Message(_), Arity::One) => {
            let mut tail = tail(part?)?;
            tail.path.insert(0, name);
            tail.after = tail.after.checked_add(after)?;
            Some(tail)
        }
        _ => None,
    }
}

/// Size of a field in bytes, if it is fixed.
fn fixed_len(generation: Generation, field: &Field, part: Option<&Schema>) -> Option<usize> {
    let element = match &field.element {
        Element::Primitive(primitive) => primitive.fixed_len()?,
        Element::Message(_) => {
            let part = part?;
            let fields = part.def.fields.iter().zip(&part.parts);
            let lengths = fields.map(|(field, part)| fixed_len(generation, field, part.as_deref()));
            let of_none = usize::from(generation == Generation::Ros2);
            lengths.reduce(|sum, len| sum?.checked_add(len?)).unwrap_or(Some(of_none))?
        }
    };
    match field.arity {
        Arity::One => Some(element),
        // One of the ROS 2 encodings writes its length.
        Arity::Fixed(_) if is_made_of_others(field) && generation == Generation::Ros2 => None,
        Arity::Fixed(count) => element.checked_mul(count),
        Arity::Bounded(_) | Arity::Unbounded => None,
    }
}

/// Whether a type consists of more than one number: messages and times.
fn is_made_of_others(field: &Field) -> bool {
    matches!(field.element, Element::Message(_) | Element::Primitive(Primitive::Time | Primitive::Duration))
}

/// Whether any bytes are a valid value, so that a publisher may fill them in.
fn is_number(primitive: Primitive) -> bool {
    use Primitive::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(primitive, I8 | U8 | I16 | U16 | I32 | U32 | I64 | U64 | F32 | F64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::schema::TypeName;

    const RULE: &str =
        "\n================================================================================\nMSG: ";

    /// The last array of a message with these fields: its path, element size, bytes after it.
    fn tail_of(generation: Generation, fields: &str) -> Option<(String, usize, usize)> {
        let parts = [
            fields,
            "a/Plain\nint32 x\nbool y",
            "a/Scan\nstring Name\nfloat32[] Data\nuint8[3] end",
            "a/None\n",
        ];
        let schema = Schema::from_full_text_in(generation, &TypeName::new("a", "Top"), &parts.join(RULE));
        let schema = schema.unwrap();
        tail(&schema).map(|tail| (tail.path.join("."), tail.element, tail.after))
    }

    #[test]
    fn last_array_of_numbers_is_found() {
        let rows = [
            ("uint8[] data", "data", 1, 0),
            ("string s\nfloat64[] Type\nbool b", "type_", 8, 1),
            ("int16[] a\nint8[] b", "b", 1, 0),
            ("int16[] a\ntime t\nPlain p\nPlain[2] q\nNone n", "a", 2, 8 + 5 + 10),
            ("string s\nScan scan", "scan.data", 4, 3),
            ("Scan a\nScan b\nint64 n", "b.data", 4, 3 + 8),
            ("byte[] a\nchar c", "a", 1, 1),
        ];
        for (fields, path, element, after) in rows {
            assert_eq!(
                tail_of(Generation::Ros1, fields),
                Some((path.to_owned(), element, after)),
                "{fields}"
            );
        }
    }

    #[test]
    fn other_messages_have_no_tail() {
        let rows = [
            "",
            "int32 x",
            "string s",
            "uint8[] data\nstring s",
            "float64[] x\nbool[] flags",
            "int32[] x\nduration[] lengths",
            "Scan[] scans",
            "Scan[2] scans",
            "uint8[] data\nPlain[] p",
            "uint8[] data\nint32[<=3] few",
            "uint8[<=3] few",
            "uint8[] data\nNone[] n",
        ];
        for fields in rows {
            for generation in Generation::ALL {
                assert_eq!(tail_of(generation, fields), None, "{fields}");
            }
        }
    }

    #[test]
    fn ros2_tail_excludes_length_prefixed_types() {
        let tail_of = |fields| tail_of(Generation::Ros2, fields);
        assert_eq!(tail_of("uint8[] Data\nNone n\ntime t"), Some(("data".to_owned(), 1, 1 + 8)));
        assert_eq!(tail_of("uint8[] data\nint32[3] n"), Some(("data".to_owned(), 1, 12)));
        assert_eq!(tail_of("uint8[] data\ntime[2] t"), None);
        assert_eq!(tail_of("uint8[] data\nPlain[2] p"), None);
    }
}
