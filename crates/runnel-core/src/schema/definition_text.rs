//! Definitions from type descriptions: a description holds the fields of a type, not the text of its file.
//!
//! Source: REP-2016; the numbers are those of `type_description_interfaces/msg/FieldType`.

use super::described_type::{DescribedField, DescribedType};
use super::from_description::DescriptionError;
use super::resolve::ResolveError;
use super::types::{TypeName, is_identifier};

/// Type ids of one value; those of arrays follow in blocks of this many.
const BLOCK: u8 = 48;

/// Type ids that are spelt as one word.
const WORDS: [(u8, &str); 13] = [
    (2, "int8"),
    (3, "uint8"),
    (4, "int16"),
    (5, "uint16"),
    (6, "int32"),
    (7, "uint32"),
    (8, "int64"),
    (9, "uint64"),
    (10, "float32"),
    (11, "float64"),
    (15, "bool"),
    (16, "byte"),
    (17, "string"),
];

/// Other type ids of one value.
const NESTED: u8 = 1;
const WSTRING: u8 = 18;
const BOUNDED_STRING: u8 = 21;
const BOUNDED_WSTRING: u8 = 22;

/// The field of a type without fields, which is not part of its definition.
const EMPTY_MEMBER: &str = "structure_needs_at_least_one_member";

impl DescribedType {
    /// The definition of the type as the text of a `.msg` file. Constants, comments and default values are not part of a
    /// description's hash, and are left out.
    ///
    /// # Errors
    /// If a name is not valid, or a field has a type that messages cannot have.
    pub fn definition(&self) -> Result<String, DescriptionError> {
        let fields = self.fields.iter().filter(|field| field.name != EMPTY_MEMBER);
        fields.map(|field| self.line(field)).collect()
    }

    fn line(&self, field: &DescribedField) -> Result<String, DescriptionError> {
        if !is_identifier(&field.name) {
            return Err(not_a_name(&field.name).into());
        }
        let wrong = || DescriptionError::FieldType {
            of: self.name.clone(),
            field: field.name.clone(),
            type_id: field.type_id,
        };
        let (element, capacity) = (field.element()?.ok_or_else(wrong)?, field.capacity);
        let suffix = match field.type_id / BLOCK {
            0 => String::new(),
            1 => format!("[{capacity}]"),
            2 => format!("[<={capacity}]"),
            3 => "[]".to_owned(),
            _ => return Err(wrong()),
        };
        Ok(format!("{element}{suffix} {}\n", field.name))
    }
}

impl DescribedField {
    /// The spelling of one element; `None` if messages cannot have it.
    fn element(&self) -> Result<Option<String>, ResolveError> {
        let bound = self.string_capacity;
        Ok(match self.type_id % BLOCK {
            NESTED => Some(parse_name(&self.nested_type_name)?.to_string()),
            WSTRING => Some("wstring".to_owned()),
            BOUNDED_STRING => Some(format!("string<={bound}")),
            BOUNDED_WSTRING => Some(format!("wstring<={bound}")),
            id => WORDS.iter().find(|(known, _)| *known == id).map(|(_, word)| (*word).to_owned()),
        })
    }
}

/// Parses the name of a type.
pub(super) fn parse_name(text: &str) -> Result<TypeName, ResolveError> {
    TypeName::parse(text).ok_or_else(|| not_a_name(text))
}

fn not_a_name(text: &str) -> ResolveError {
    ResolveError::NotAName(text.chars().take(100).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Generation, Kind, Library, Schema, TypeDescription};
    use std::sync::Arc;

    const TEXT: &str = "bool a\nbyte b\nchar c\nint8 d\nuint16[3] e\nint64[<=4] f\nfloat64[] g\nstring h\n\
                        string<=5 i\nwstring[] j\nwstring<=6[<=2] k\np/Part[] l\np/Empty m\n";

    fn library(own: &str) -> Library {
        let mut library = Library::new();
        for (name, text) in [("Whole", own), ("Part", "float32 x\n"), ("Empty", "")] {
            library.add_text(Kind::Message, TypeName::new("p", name), text.to_owned(), name);
        }
        library
    }

    fn whole(own: &str) -> Arc<Schema> {
        library(own).message_in(Generation::Ros2, &TypeName::new("p", "Whole")).expect("a good text")
    }

    #[test]
    fn described_type_gives_definition_with_same_hash() {
        let schema = whole(TEXT);
        let described = TypeDescription::of_message("p/msg/Whole", &schema.full_text).expect("a good text");
        let definition = described.own.definition().expect("it can be written");
        assert_eq!(whole(&definition).rihs01(), schema.rihs01(), "{definition}");
        let empty = described.referenced.iter().find(|one| one.name == "p/msg/Empty").expect("it is used");
        assert_eq!(empty.definition().as_deref(), Ok(""));
    }

    #[test]
    fn names_and_types_without_spelling_are_refused() {
        let field = |name: &str, type_id, nested: &str| DescribedField {
            name: name.to_owned(),
            type_id,
            capacity: 0,
            string_capacity: 0,
            nested_type_name: nested.to_owned(),
            default_value: String::new(),
        };
        let definition =
            |field| DescribedType { name: "p/msg/X".to_owned(), fields: vec![field] }.definition();
        assert_eq!(definition(field("x", 6, "")).as_deref(), Ok("int32 x\n"));
        for refused in [
            field("x\nint32 y", 6, ""),
            field("", 6, ""),
            field("x", 0, ""),
            field("x", 12, ""),
            field("x", 13, ""),
            field("x", 250, ""),
            field("x", 1, "p/msg/Y z\nint32"),
        ] {
            assert!(definition(refused.clone()).is_err(), "{refused:?}");
        }
    }
}
