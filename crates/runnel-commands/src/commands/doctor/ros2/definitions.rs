//! Definitions of message types, and the differences between two.

use std::collections::BTreeMap;

use runnel::core::schema::{DescribedField, DescribedType, TypeDescription};

/// Number of differences that are named.
const NAMED: usize = 5;

/// First numbers of the kinds of arrays. Source: type_description_interfaces/msg/FieldType.
const ARRAY: u8 = 48;
const BOUNDED_SEQUENCE: u8 = 96;
const SEQUENCE: u8 = 144;

/// The fields of a type and of all types that it uses, with their types, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    pub types: BTreeMap<String, Vec<(String, String)>>,
}

impl Definition {
    /// The definition that a node describes: a type and those that it uses.
    pub fn of_types<'t>(types: impl IntoIterator<Item = &'t DescribedType>) -> Self {
        let field = |field: &DescribedField| {
            let capacities = [field.capacity as u64, field.string_capacity as u64];
            (field.name.clone(), type_text(field.type_id, capacities, &field.nested_type_name))
        };
        let fields = |described: &DescribedType| described.fields.iter().map(field).collect();
        Self { types: types.into_iter().map(|one| (one.name.clone(), fields(one))).collect() }
    }

    /// The definition that is known here.
    pub fn of_description(description: &TypeDescription) -> Self {
        Self::of_types(std::iter::once(&description.own).chain(&description.referenced))
    }

    /// What differs in the other definition: the names of fields, and their types here and there.
    pub fn differences(&self, other: &Self, [here, there]: [&str; 2]) -> Vec<String> {
        let mut found = Vec::new();
        for (name, fields) in &self.types {
            if let Some(others) = other.types.get(name) {
                found.extend(field_differences(name, [fields, others], [here, there]));
            }
        }
        let more = found.len().saturating_sub(NAMED);
        found.truncate(NAMED);
        if more > 0 {
            found.push(format!("{more} more"));
        }
        found
    }
}

/// The fields of one type that differ.
fn field_differences(
    name: &str,
    [ours, theirs]: [&Vec<(String, String)>; 2],
    [here, there]: [&str; 2],
) -> Vec<String> {
    let by_name =
        |fields: &[(String, String)]| -> BTreeMap<String, String> { fields.iter().cloned().collect() };
    let (our_types, their_types) = (by_name(ours), by_name(theirs));
    let mut found = Vec::new();
    for (field, of) in ours {
        match their_types.get(field) {
            None => found.push(format!("{name}.{field} ({of}) exists only at {here}")),
            Some(other) if other != of => {
                found.push(format!("{name}.{field} is {of} at {here}, {other} at {there}"));
            }
            Some(_) => {}
        }
    }
    let only_theirs = theirs.iter().filter(|(field, _)| !our_types.contains_key(field));
    found.extend(only_theirs.map(|(field, of)| format!("{name}.{field} ({of}) exists only at {there}")));
    let order =
        |fields: &[(String, String)]| fields.iter().map(|(field, _)| field.clone()).collect::<Vec<_>>();
    if found.is_empty() && order(ours) != order(theirs) {
        found.push(format!("the fields of {name} have another order"));
    }
    found
}

/// A type as definitions spell it.
fn type_text(id: u8, [capacity, string_capacity]: [u64; 2], nested: &str) -> String {
    let (base, suffix) = match id {
        SEQUENCE.. => (id - SEQUENCE, "[]".to_owned()),
        BOUNDED_SEQUENCE.. => (id - BOUNDED_SEQUENCE, format!("[<={capacity}]")),
        ARRAY.. => (id - ARRAY, format!("[{capacity}]")),
        _ => (id, String::new()),
    };
    const NAMES: [&str; 17] = [
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
        "long double",
        "char",
        "wchar",
        "bool",
        "byte",
        "string",
        "wstring",
    ];
    let name = match base {
        1 => nested.to_owned(),
        2..=18 => NAMES[usize::from(base) - 2].to_owned(),
        19 | 21 => format!("string<={string_capacity}"),
        20 | 22 => format!("wstring<={string_capacity}"),
        other => format!("type {other}"),
    };
    name + &suffix
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn definition(name: &str, fields: &[(&str, &str)]) -> Definition {
        let fields = fields.iter().map(|(field, of)| ((*field).to_owned(), (*of).to_owned())).collect();
        Definition { types: BTreeMap::from([(name.to_owned(), fields)]) }
    }

    fn differences(one: &[(&str, &str)], other: &[(&str, &str)]) -> Vec<String> {
        definition("p/msg/T", one).differences(&definition("p/msg/T", other), ["/a", "/b"])
    }

    #[test]
    fn changed_fields_are_named_with_both_types() {
        assert_eq!(
            differences(&[("x", "float32"), ("old", "int8")], &[("x", "float64"), ("new", "bool")]),
            [
                "p/msg/T.x is float32 at /a, float64 at /b",
                "p/msg/T.old (int8) exists only at /a",
                "p/msg/T.new (bool) exists only at /b"
            ]
        );
        assert_eq!(
            differences(&[("x", "int8"), ("y", "int8")], &[("y", "int8"), ("x", "int8")]),
            ["the fields of p/msg/T have another order"]
        );
        assert!(differences(&[("x", "int8")], &[("x", "int8")]).is_empty());
    }

    #[test]
    fn many_differences_are_counted() {
        let fields: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|field| (field.as_str(), "int8")).collect();
        let found = differences(&fields, &[]);
        assert_eq!((found.len(), found[5].as_str()), (6, "3 more"));
    }

    #[test]
    fn types_are_spelt_as_in_definitions() {
        let cases: [(u8, [u64; 2], &str); 8] = [
            (2, [0, 0], "int8"),
            (11, [0, 0], "float64"),
            (15, [0, 0], "bool"),
            (18, [0, 0], "wstring"),
            (49, [4, 0], "std_msgs/msg/Header[4]"),
            (97, [5, 0], "std_msgs/msg/Header[<=5]"),
            (161, [0, 0], "string[]"),
            (21, [0, 9], "string<=9"),
        ];
        for (id, capacities, expected) in cases {
            assert_eq!(type_text(id, capacities, "std_msgs/msg/Header"), expected, "{id}");
        }
    }

    #[test]
    fn known_definition_has_the_fields_of_its_text() {
        let description = TypeDescription::of_message("p/msg/T", "float32 x\nstring[3] names\n").unwrap();
        let expected = definition("p/msg/T", &[("x", "float32"), ("names", "string[3]")]);
        assert_eq!(Definition::of_description(&description), expected);
    }
}
