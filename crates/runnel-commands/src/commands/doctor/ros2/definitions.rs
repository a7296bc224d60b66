//! Definitions of message types, and the differences between two.

use std::collections::BTreeMap;

use runnel::core::schema::{DescribedType, TypeDescription};

/// Number of differences that are named.
const NAMED: usize = 5;

/// The fields of a type and of all types that it uses, with their types, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    pub types: BTreeMap<String, Vec<(String, String)>>,
}

impl Definition {
    /// The definition that a node describes: a type and those that it uses. `None` if one of them cannot be written as
    /// a definition.
    pub fn of_types<'t>(types: impl IntoIterator<Item = &'t DescribedType>) -> Option<Self> {
        let field = |line: &str| line.split_once(' ').map(|(of, name)| (name.to_owned(), of.to_owned()));
        let fields = |described: &DescribedType| {
            let definition = described.definition().ok()?;
            Some((described.name.clone(), definition.lines().filter_map(field).collect()))
        };
        Some(Self { types: types.into_iter().map(fields).collect::<Option<_>>()? })
    }

    /// The definition that is known here.
    pub fn of_description(description: &TypeDescription) -> Option<Self> {
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
    fn known_definition_has_the_fields_of_its_text() {
        let text = "float32 x\nstring[3] names\nstring<=9[<=5] short\nbyte[] raw\n";
        let description = TypeDescription::of_message("p/msg/T", text).expect("a good text");
        let fields =
            [("x", "float32"), ("names", "string[3]"), ("short", "string<=9[<=5]"), ("raw", "byte[]")];
        assert_eq!(Definition::of_description(&description), Some(definition("p/msg/T", &fields)));
        let mut odd = description.own;
        odd.fields[0].type_id = 12;
        assert_eq!(Definition::of_types([&odd]), None, "messages have no long double");
    }
}
