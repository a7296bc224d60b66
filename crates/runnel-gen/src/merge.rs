//! Merge of a message's ROS 1 and ROS 2 definitions into one Rust type.

use crate::values;
use runnel_core::schema::{
    Arity, Constant, Element, Field, Generation, Literal, Primitive, Schema, TypeName, snake_case,
};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A message in both generations.
pub(crate) struct Message {
    pub(crate) ros1: Arc<Schema>,
    pub(crate) ros2: Arc<Schema>,
}

/// A field of the Rust type.
pub(crate) struct Member<'a> {
    /// The ROS 1 field, or else the ROS 2 field.
    pub(crate) field: &'a Field,
    /// The ROS 2 field, if there is one.
    ros2: Option<&'a Field>,
    /// The only generation that has it.
    only: Option<Generation>,
}

/// Reason why two definitions cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeError {
    /// Two fields have a different order in the two generations.
    Order,
    /// A field has different types in ROS 1 and ROS 2.
    Type,
    /// A constant has different values in ROS 1 and ROS 2.
    Value,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Order => "has another position among the fields in ROS 2 than in ROS 1",
            Self::Type => "has another type in ROS 2 than in ROS 1",
            Self::Value => "has another value in ROS 2 than in ROS 1",
        })
    }
}

impl Message {
    pub(crate) fn name(&self) -> &TypeName {
        &self.ros1.def.name
    }

    /// The fields of both, in an order consistent with each. An error names the field.
    pub(crate) fn members(&self) -> Result<Vec<Member<'_>>, (String, MergeError)> {
        let [mut ros1, mut ros2] = [&self.ros1, &self.ros2].map(|schema| schema.def.fields.as_slice());
        let mut members = Vec::new();
        loop {
            let is_later = |field: &Field, others: &[Field]| others.iter().any(|other| same(field, other));
            match (ros1.split_first(), ros2.split_first()) {
                (Some((first, rest1)), Some((second, rest2))) if same(first, second) => {
                    if rust_type(first) != rust_type(second) {
                        return Err((first.name.clone(), MergeError::Type));
                    }
                    members.push(Member { field: first, ros2: Some(second), only: None });
                    (ros1, ros2) = (rest1, rest2);
                }
                (_, Some((second, rest))) if !is_later(second, ros1) => {
                    members.push(Member { field: second, ros2: Some(second), only: Some(Generation::Ros2) });
                    ros2 = rest;
                }
                (Some((first, rest)), _) if !is_later(first, ros2) => {
                    members.push(Member { field: first, ros2: None, only: Some(Generation::Ros1) });
                    ros1 = rest;
                }
                (Some((first, _)), _) => return Err((first.name.clone(), MergeError::Order)),
                (None, _) => return Ok(members),
            }
        }
    }

    /// The ROS 1 constants, then those that only ROS 2 has.
    pub(crate) fn constants(&self) -> Result<Vec<&Constant>, (String, MergeError)> {
        let (ros1, ros2) = (&self.ros1.def.constants, &self.ros2.def.constants);
        for constant in ros1 {
            let other = ros2.iter().find(|other| other.name == constant.name);
            if other.is_some_and(|other| other.value != constant.value) {
                return Err((constant.name.clone(), MergeError::Value));
            }
        }
        let taken: HashSet<&str> = ros1.iter().map(|constant| constant.name.as_str()).collect();
        let more = ros2.iter().filter(|constant| !taken.contains(constant.name.as_str()));
        Ok(ros1.iter().chain(more).collect())
    }

    /// Whether the message contains only numbers, at any depth, and no arrays.
    pub(crate) fn is_plain(&self) -> bool {
        is_plain(&self.ros1) && is_plain(&self.ros2)
    }
}

fn is_plain(schema: &Schema) -> bool {
    schema.def.fields.iter().zip(&schema.parts).all(|(field, part)| {
        field.arity == Arity::One && !field.element.is_text() && part.as_deref().is_none_or(is_plain)
    })
}

/// Whether a ROS 1 field and a ROS 2 field are compatible.
fn same(a: &Field, b: &Field) -> bool {
    snake_case(&a.name) == snake_case(&b.name)
}

/// The Rust type of a field, without the path of a message's module.
fn rust_type(field: &Field) -> String {
    let element = match &field.element {
        Element::Primitive(primitive) => values::primitive_type(*primitive).to_owned(),
        Element::Message(name) => name.to_string(),
    };
    values::field_type(&element, field.arity)
}

impl Member<'_> {
    /// The default in the ROS 2 definition, or else in the ROS 1 definition.
    pub(crate) fn default(&self) -> Option<&Literal> {
        self.ros2.and_then(|field| field.default.as_ref()).or(self.field.default.as_ref())
    }

    /// The marks in brackets after the field's name, for `runnel_core::message!`.
    pub(crate) fn marks(&self) -> String {
        let only = self.only.map(|generation| generation.folder().to_owned());
        let (arity, text) = self.ros2.map_or((Arity::One, None), |field| (field.arity, text(&field.element)));
        let most = match (arity, text) {
            (Arity::Bounded(most), _) | (Arity::One, Some(Text::AtMost(most))) => {
                Some(format!("most {most}"))
            }
            _ => None,
        };
        let texts = match text {
            Some(Text::AtMost(most)) if arity != Arity::One => Some(format!("texts {most}")),
            Some(Text::Wide) => Some("wide".to_owned()),
            _ => None,
        };
        let marks: Vec<String> = [only, most, texts].into_iter().flatten().collect();
        if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(" ")) }
    }
}

/// A text with a property to check in ROS 2.
#[derive(Clone, Copy)]
enum Text {
    AtMost(usize),
    Wide,
}

fn text(element: &Element) -> Option<Text> {
    match element {
        Element::Primitive(Primitive::String(Some(most))) => Some(Text::AtMost(*most)),
        Element::Primitive(Primitive::WString(_)) => Some(Text::Wide),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(ros1: &str, ros2: &str) -> Message {
        let name = TypeName::new("p", "M");
        let form = |generation, text| Schema::from_full_text_in(generation, &name, text).unwrap();
        Message { ros1: form(Generation::Ros1, ros1), ros2: form(Generation::Ros2, ros2) }
    }

    fn joined(ros1: &str, ros2: &str) -> String {
        let message = message(ros1, ros2);
        match message.members() {
            Ok(members) => members.iter().map(|one| format!("{}{} ", one.field.name, one.marks())).collect(),
            Err((field, error)) => format!("{field} {error}"),
        }
    }

    #[test]
    fn common_fields_merge_and_others_are_marked() {
        let rows = [
            ("int8 a\nint8 B", "int8 a\nint8 b", "a B "),
            ("int8 a\nint8 b", "int8 b", "a [ros1] b "),
            ("int8 a\nint8 d", "int8 a\nstring<=3 b\nint8[] c\nint8 d", "a b [ros2 most 3] c [ros2] d "),
            ("int8 a", "int8 x\nint8 a\nint8 y", "x [ros2] a y [ros2] "),
            ("int8 a", "int8 b", "b [ros2] a [ros1] "),
            ("int8[] a\nstring[] b", "int8[<=2] a\nstring<=4[<=3] b", "a [most 2] b [most 3 texts 4] "),
            ("string a\nstring[2] b", "wstring<=3 a\nwstring[2] b", "a [wide] b [wide] "),
            ("time a", "builtin_interfaces/Time a", "a "),
        ];
        for (ros1, ros2, expected) in rows {
            assert_eq!(joined(ros1, ros2), expected, "{ros1:?} and {ros2:?}");
        }
    }

    #[test]
    fn conflicting_definitions_are_errors() {
        let order = "a has another position among the fields in ROS 2 than in ROS 1";
        assert_eq!(joined("int8 a\nint8 b", "int8 b\nint8 a"), order);
        assert_eq!(joined("int8 a", "int16 a"), "a has another type in ROS 2 than in ROS 1");
        let (name, error) = message("int8 A=1", "int8 A=2").constants().unwrap_err();
        assert_eq!((name.as_str(), error), ("A", MergeError::Value));
        assert_eq!(message("uint8 A=1", "int32 A=1\nint8 B=2").constants().unwrap().len(), 2);
    }
}
