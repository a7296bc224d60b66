//! Type definitions as text.

use runnel::core::schema::{Arity, Element, Field, Schema};

use super::Found;

/// Separator of the parts of a service or an action.
const SEPARATOR: &str = "---\n";

/// The fields of all parts of a type, or the text of its file.
pub fn definition_text(found: &Found, as_written: bool) -> String {
    let part = |schema: &Schema| if as_written { raw(schema) } else { expanded(schema) };
    found.parts().into_iter().map(part).collect::<Vec<_>>().join(SEPARATOR)
}

/// The file's text, ending with one newline.
fn raw(schema: &Schema) -> String {
    match schema.def.text.trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

fn expanded(schema: &Schema) -> String {
    let mut text = String::new();
    expand(schema, 0, &mut text);
    text
}

fn expand(schema: &Schema, indent: usize, text: &mut String) {
    for constant in &schema.def.constants {
        text.push_str(&format!("{:indent$}{} {}={}\n", "", constant.spelling, constant.name, constant.text));
    }
    for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
        let default = field.default.as_ref().map_or_else(String::new, |value| format!(" {value}"));
        text.push_str(&format!("{:indent$}{} {}{default}\n", "", full_type(field), field.name));
        if let Some(part) = part {
            expand(part, indent + 2, text);
        }
    }
}

/// The type of a field as its file spells it, with the package of a message type.
pub fn full_type(field: &Field) -> String {
    let Element::Message(name) = &field.element else { return field.spelling.clone() };
    match field.arity {
        Arity::One => name.to_string(),
        Arity::Fixed(length) => format!("{name}[{length}]"),
        Arity::Bounded(bound) => format!("{name}[<={bound}]"),
        Arity::Unbounded => format!("{name}[]"),
    }
}
