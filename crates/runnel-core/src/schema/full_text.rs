//! Definitions as text: with all they depend on, and as ROS 1 can read them.

use super::generation::Generation;
use super::parse::is_annotated;
use super::types::{MessageDef, Schema, TypeName};
use crate::sorted::SortedSet;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

/// The line between the definitions of a full text.
const RULE_LEN: usize = 80;
/// Prefix of the name of a definition in a full text.
const NAME_MARK: &str = "MSG: ";

/// The text of a message, followed by the text of each message that it depends on, once, in depth-first order of the fields.
/// `None` if that exceeds `budget` (bytes and visited fields), which is reduced accordingly: texts also come from peers.
pub(super) fn full_text(
    generation: Generation,
    def: &MessageDef,
    parts: &[Option<Arc<Schema>>],
    budget: &mut usize,
) -> Option<String> {
    let mut text = text_in(generation, def).into_owned();
    let mut seen = SortedSet::new();
    append_parts(parts, &mut text, &mut seen, budget)?;
    *budget = budget.checked_sub(text.len())?;
    Some(text)
}

fn append_parts<'a>(
    parts: &'a [Option<Arc<Schema>>],
    text: &mut String,
    seen: &mut SortedSet<&'a TypeName>,
    budget: &mut usize,
) -> Option<()> {
    *budget = budget.checked_sub(parts.len())?;
    for schema in parts.iter().flatten() {
        if text.len() > *budget {
            return None;
        }
        let name = &schema.def.name;
        if seen.insert(name) {
            // Writing to a string does not fail.
            let _ = write!(text, "\n{:=<RULE_LEN$}\n{NAME_MARK}{name}\n", "");
            text.push_str(&text_in(schema.generation, &schema.def));
            append_parts(&schema.parts, text, seen, budget)?;
        }
    }
    Some(())
}

/// One definition within a full text.
pub(super) struct Section<'a> {
    /// Its name; `None` for the first, which the text does not name.
    pub(super) name: Option<&'a str>,
    pub(super) text: &'a str,
}

/// Cuts a full text at its rules.
pub(super) fn sections(text: &str) -> impl Iterator<Item = Section<'_>> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let from = rest?;
        let (section, after) = split_at_rule(from);
        rest = after;
        if from.len() == text.len() {
            return Some(Section { name: None, text: section });
        }
        let (first_line, body) = section.split_once('\n').unwrap_or((section, ""));
        Some(Section {
            name: Some(first_line.strip_prefix(NAME_MARK).unwrap_or(first_line).trim()),
            text: body,
        })
    })
}

/// The text before the first rule, without the line end before it, and the text after the rule.
fn split_at_rule(text: &str) -> (&str, Option<&str>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if is_rule(line.trim_end()) {
            let before = text.get(..at).unwrap_or_default();
            return (before.strip_suffix('\n').unwrap_or(before), text.get(end..));
        }
        at = end;
    }
    (text, None)
}

fn is_rule(line: &str) -> bool {
    line.len() >= RULE_LEN && line.bytes().all(|byte| byte == b'=')
}

/// A message's text as a generation reads it. The ROS 2 text was made with the ROS 2 form.
fn text_in(generation: Generation, def: &MessageDef) -> Cow<'_, str> {
    match generation {
        Generation::Ros1 => ros1_text(def),
        Generation::Ros2 => Cow::Borrowed(&def.text),
    }
}

/// A message's text if ROS 1 can read it, and otherwise one of the same fields that it can.
fn ros1_text(def: &MessageDef) -> Cow<'_, str> {
    let is_ros1 = def
        .fields
        .iter()
        .all(|field| field.default.is_none() && ros1_spelling(&field.spelling) == field.spelling);
    if is_ros1 && !def.text.lines().any(is_annotated) {
        return Cow::Borrowed(&def.text);
    }
    let constants = def.constants.iter().map(|constant| {
        format!("{} {}={}\n", ros1_spelling(&constant.spelling), constant.name, constant.text)
    });
    let fields =
        def.fields.iter().map(|field| format!("{} {}\n", ros1_spelling(&field.spelling), field.name));
    Cow::Owned(constants.chain(fields).collect())
}

/// A type as ROS 1 spells it: no bounds, no `/msg/`, `time` and `duration` as types of the language, and one kind of
/// string. The bytes on the ROS 1 wire are the same, so a node that wrote the definition in ROS 1 computes the same
/// sum.
pub(super) fn ros1_spelling(spelling: &str) -> Cow<'_, str> {
    if !spelling.contains(['<', '/', 'w']) {
        return Cow::Borrowed(spelling);
    }
    let (base, suffix) = spelling.split_at(spelling.find('[').unwrap_or(spelling.len()));
    let base = base.split('<').next().unwrap_or_default();
    let suffix = if suffix.starts_with("[<=") { "[]" } else { suffix };
    let base = match base {
        "wstring" => "string",
        "builtin_interfaces/Time" | "builtin_interfaces/msg/Time" => "time",
        "builtin_interfaces/Duration" | "builtin_interfaces/msg/Duration" => "duration",
        _ => base,
    };
    Cow::Owned(format!("{}{suffix}", base.replacen("/msg/", "/", 1)))
}

/// A type as ROS 2 spells it: times as messages, and the header with its package.
pub(super) fn ros2_spelling(spelling: &str) -> Cow<'_, str> {
    let (base, suffix) = spelling.split_at(spelling.find('[').unwrap_or(spelling.len()));
    let base = match base {
        "time" => "builtin_interfaces/Time",
        "duration" => "builtin_interfaces/Duration",
        "Header" => "std_msgs/Header",
        _ => return Cow::Borrowed(spelling),
    };
    Cow::Owned(format!("{base}{suffix}"))
}
