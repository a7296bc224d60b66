//! One type of a type description.

use super::types::Literal;

/// A type without those that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedType {
    /// Its ROS 2 name, such as `std_msgs/msg/Header`.
    pub name: String,
    /// Its fields in the order of the wire.
    pub fields: Vec<DescribedField>,
}

/// A field of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedField {
    /// Its name.
    pub name: String,
    /// The number of its type.
    pub type_id: u8,
    /// The length of an array, or its limit; 0 if it has none.
    pub capacity: usize,
    /// The limit of a text in bytes; 0 if it has none.
    pub string_capacity: usize,
    /// The ROS 2 name of its type if that is a message; else empty.
    pub nested_type_name: String,
    /// Its default value in the form of Python, as rosidl writes it; empty if it has none.
    pub default_value: String,
}

/// A default value as Python writes it.
pub(super) fn default_value(value: &Literal) -> String {
    match value {
        Literal::Text(text) => text.clone(),
        other => python(other),
    }
}

fn python(value: &Literal) -> String {
    match value {
        Literal::Bool(true) => "True".to_owned(),
        Literal::Bool(false) => "False".to_owned(),
        Literal::Int(number) => number.to_string(),
        Literal::Float(number) => format!("{number:?}"),
        Literal::Text(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Literal::List(values) => {
            let values: Vec<_> = values.iter().map(python).collect();
            let comma = if values.len() == 1 { "," } else { "" };
            format!("({}{comma})", values.join(", "))
        }
    }
}
