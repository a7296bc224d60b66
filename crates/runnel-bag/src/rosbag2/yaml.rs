//! Access to YAML trees, and their text.

use std::fmt::Write;

use runnel_core::yaml::{Plain, YamlNode, YamlValue, plain_value};

/// The member of a mapping.
pub(super) fn member<'a>(node: &'a YamlNode, key: &str) -> Option<&'a YamlNode> {
    match &node.value {
        YamlValue::Mapping(members) => {
            members.iter().find(|(name, _)| text(name) == Some(key)).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// The elements of a list; none for another value.
pub(super) fn elements(node: Option<&YamlNode>) -> &[YamlNode] {
    match node.map(|node| &node.value) {
        Some(YamlValue::List(elements)) => elements,
        _ => &[],
    }
}

/// A scalar as it is written; `None` for lists and mappings.
pub(super) fn text(node: &YamlNode) -> Option<&str> {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => Some(text),
        _ => None,
    }
}

/// The text of a member; empty if there is none.
pub(super) fn member_text(node: &YamlNode, key: &str) -> String {
    member(node, key).filter(|value| !is_null(value)).and_then(text).unwrap_or_default().to_owned()
}

/// The integer of a member.
pub(super) fn member_int(node: &YamlNode, key: &str) -> Option<i128> {
    int(member(node, key)?)
}

pub(super) fn int(node: &YamlNode) -> Option<i128> {
    match plain_value(text(node)?) {
        Plain::Int(number) => Some(number),
        _ => None,
    }
}

fn is_null(node: &YamlNode) -> bool {
    matches!(&node.value, YamlValue::Plain(text) if plain_value(text) == Plain::Null)
}

/// Appends a list or mapping, a line for each scalar, indented by this many spaces.
pub(super) fn put(node: &YamlNode, indent: usize, out: &mut String) {
    if let Some(text) = inline(node) {
        _ = writeln!(out, "{:indent$}{text}", "");
        return;
    }
    for element in elements(Some(node)) {
        let start = out.len();
        put(element, indent + 2, out);
        if out.len() == start {
            _ = writeln!(out, "{:indent$}  {{}}", "");
        }
        // The first line of the element begins with the dash.
        out.replace_range(start..start + indent + 2, &format!("{:indent$}- ", ""));
    }
    if let YamlValue::Mapping(members) = &node.value {
        for (key, value) in members {
            put_member(key, value, indent, out);
        }
    }
}

/// A member whose key is no scalar is left out.
fn put_member(key: &YamlNode, value: &YamlNode, indent: usize, out: &mut String) {
    match (inline(key), inline(value)) {
        (None, _) => {}
        (Some(key), Some(text)) => _ = writeln!(out, "{:indent$}{key}: {text}", ""),
        (Some(key), None) => {
            _ = writeln!(out, "{:indent$}{key}:", "");
            put(value, indent + 2, out);
        }
    }
}

/// A scalar, or a list or mapping without elements; `None` for another one.
fn inline(node: &YamlNode) -> Option<String> {
    match &node.value {
        YamlValue::Plain(text) if !text.contains('\n') => Some(text.clone()),
        YamlValue::Plain(text) | YamlValue::Quoted(text) => Some(quoted(text)),
        YamlValue::List(elements) => elements.is_empty().then(|| "[]".to_owned()),
        YamlValue::Mapping(members) => members.is_empty().then(|| "{}".to_owned()),
    }
}

/// The text in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if character.is_control() => _ = write!(quoted, "\\U{:08X}", u32::from(character)),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
