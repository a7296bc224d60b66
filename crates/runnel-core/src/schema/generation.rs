//! The two generations of ROS, and the ROS 2 form of a definition.

use super::full_text::ros2_spelling;
use super::types::{Field, Literal, MessageDef};
use crate::sorted::SortedSet;

/// A generation of ROS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// ROS 1.
    Ros1,
    /// ROS 2.
    Ros2,
}

impl Generation {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ros1, Self::Ros2];

    /// The name of the folder for definitions that only this generation has.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Ros1 => "ros1",
            Self::Ros2 => "ros2",
        }
    }
}

/// The form that a definition has in ROS 2: fields in lower case, times as messages, and a `std_msgs/Header` without
/// `seq`. Its text is kept if it has that form already.
pub(super) fn ros2_form(mut def: MessageDef) -> MessageDef {
    let before = def.fields.clone();
    let keep: Vec<bool> = def.fields.iter().map(|field| ros2_has(&def, field)).collect();
    let mut keep = keep.into_iter();
    def.fields.retain(|_| keep.next().unwrap_or_default());
    let mut names: SortedSet<String> = def.fields.iter().map(|field| field.name.clone()).collect();
    for field in &mut def.fields {
        let name = snake_case(&field.name);
        if names.insert(name.clone()) {
            field.name = name;
        }
        field.spelling = ros2_spelling(&field.spelling).into_owned();
    }
    let is_quoted = |text: &str| text.starts_with(['"', '\'']);
    let are_quoted =
        def.constants.iter().all(|constant| !constant.primitive.is_text() || is_quoted(&constant.text));
    if def.fields != before || !are_quoted {
        def.text = text(&def);
    }
    def
}

/// True of a field that ROS 2 has as well.
pub(super) fn ros2_has(def: &MessageDef, field: &Field) -> bool {
    def.name.package != "std_msgs" || def.name.name != "Header" || field.name != "seq"
}

/// A text of the same constants and fields.
fn text(def: &MessageDef) -> String {
    let constants = def.constants.iter().map(|constant| match &constant.value {
        Literal::Text(value) => format!("{} {}={value:?}\n", constant.spelling, constant.name),
        _ => format!("{} {}={}\n", constant.spelling, constant.name, constant.text),
    });
    let fields =
        def.fields.iter().map(|field| format!("{} {}{}\n", field.spelling, field.name, default(field)));
    constants.chain(fields).collect()
}

fn default(field: &Field) -> String {
    field.default.as_ref().map_or_else(String::new, |value| format!(" {value}"))
}

/// A name in lower case, with an underscore where a capital follows a small letter, and no two underscores together: as
/// ROS 2 names fields.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        let after_small = snake.ends_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if character.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        if character != '_' || !snake.ends_with('_') {
            snake.push(character.to_ascii_lowercase());
        }
    }
    snake
}
