//! One value of the YAML, as `rosbag info --key` prints it.

use std::str::FromStr;

use runnel::core::yaml::{Plain, plain_value, python_float};

use super::BagInfo;
use super::yaml::{Member, Value};
use crate::output::shown;

/// What stands behind a value in a key: `.messages` or `[0]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Name(&'a str),
    Index(i64),
}

impl BagInfo {
    /// The text of the value of a key, such as `duration`, `topics` or `topics[-1].messages`; `None` if there is none.
    pub(super) fn value_of(&self, key: &str) -> Option<String> {
        let (first, rest) = steps(key)?;
        let (_, value) = self.members().into_iter().find(|(name, _)| *name == first)?;
        match (value, &rest[..]) {
            (Value::Scalar(text), []) => Some(python_text(&text)),
            // A key without values is null in YAML.
            (Value::List(list), []) if list.is_empty() => Some("None".to_owned()),
            (Value::List(list), []) => {
                Some(list.iter().map(|members| format!("- {}\n", mapping_text(members, "  "))).collect())
            }
            (Value::List(list), [Step::Index(index), rest @ ..]) => in_mapping(element(&list, *index)?, rest),
            _ => None,
        }
    }
}

fn in_mapping(members: &[Member], steps: &[Step<'_>]) -> Option<String> {
    match steps {
        [] => Some(mapping_text(members, "")),
        [Step::Name(name)] => members.iter().find(|(key, _)| key == name).map(|(_, text)| python_text(text)),
        _ => None,
    }
}

/// The first name of a key, and the steps behind it; `None` for another Python expression.
fn steps(key: &str) -> Option<(&str, Vec<Step<'_>>)> {
    let end = |text: &str| text.find(['.', '[']).unwrap_or(text.len());
    let (first, mut rest) = key.split_at(end(key));
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let (name, behind) = name.split_at(end(name));
            steps.push(Step::Name(name));
            rest = behind;
        } else {
            let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(i64::from_str(index.trim()).ok()?));
            rest = behind;
        }
    }
    Some((first, steps))
}

/// An element of a list. As in Python, -1 is the last one.
fn element<T>(list: &[T], index: i64) -> Option<&T> {
    let index = if index < 0 { index.checked_add_unsigned(list.len() as u64)? } else { index };
    list.get(usize::try_from(index).ok()?)
}

/// The members, a line for each; all but the first are indented.
fn mapping_text(members: &[Member], indent: &str) -> String {
    let lines = members.iter().map(|(key, text)| format!("{key}: {}", python_text(text)));
    lines.collect::<Vec<_>>().join(&format!("\n{indent}"))
}

/// A scalar as Python prints the value that YAML has for it.
fn python_text(scalar: &str) -> String {
    match plain_value(scalar) {
        Plain::Null => "None".to_owned(),
        Plain::Bool(true) => "True".to_owned(),
        Plain::Bool(false) => "False".to_owned(),
        Plain::Float(number) => python_float(number),
        Plain::Int(number) => number.to_string(),
        Plain::Text(text) => shown(text).into_owned(),
    }
}
