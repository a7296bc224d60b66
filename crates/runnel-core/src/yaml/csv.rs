//! Messages as lines of comma-separated values: the flat line of `ros2 topic echo --csv`, and the table that
//! `rostopic echo -p` prints for plotting.
//!
//! Text with a comma, a quote or a line break is quoted as in RFC 4180; neither tool does that, so their output is ambiguous.
//! RFC 4180 has no escapes: text with other control characters, or that begins with a quote, is written as a JSON string in
//! quotes: `"""a\u001b[2J"""`. A reader that decodes cells which begin with a quote as JSON gets the original text.

use super::print::{EchoOptions, abbreviated, nanoseconds, number_text, time_since, truncated};
use super::seconds::{duration, time};
use crate::dynamic::{Array, DynamicMessage, ValueRef};
use crate::sanitize;
use crate::schema::{Arity, Field};
use crate::time::Time;

/// All values of the message in order on one line, arrays element by element, times as seconds and nanoseconds.
pub fn to_csv(message: &DynamicMessage, options: &EchoOptions) -> String {
    let mut cells = Vec::new();
    message_cells(message, options, &mut cells);
    cells.join(",")
}

/// The values of a part of a message.
pub fn value_to_csv(value: ValueRef<'_>, options: &EchoOptions) -> String {
    let mut cells = Vec::new();
    value_cells(value, options, &mut cells);
    cells.join(",")
}

fn message_cells(message: &DynamicMessage, options: &EchoOptions, cells: &mut Vec<String>) {
    for (field, value) in message.fields() {
        match abbreviated(field, value, options) {
            Some(text) => cells.push(quoted(&text)),
            None => value_cells(value.view(), options, cells),
        }
    }
}

fn value_cells(value: ValueRef<'_>, options: &EchoOptions, cells: &mut Vec<String>) {
    match value {
        ValueRef::String(text) => cells.push(quoted(&truncated(text, options.truncate))),
        ValueRef::Time(value) => cells.extend(two(time(value, options.generation))),
        ValueRef::Duration(value) => cells.extend(two(duration(value, options.generation))),
        ValueRef::Message(message) => message_cells(message, options, cells),
        ValueRef::Array(array) => {
            let shown = options.truncate.unwrap_or(usize::MAX).min(array.len());
            array.iter().take(shown).for_each(|value| value_cells(value, options, cells));
            if shown < array.len() {
                cells.push("...".into());
            }
        }
        number => cells.push(number_text(number)),
    }
}

fn two((sec, nanosec): (i64, i64)) -> [String; 2] {
    [sec.to_string(), nanosec.to_string()]
}

fn quoted(text: &str) -> String {
    let is_unsafe = |character| sanitize::is_unsafe(character) && !matches!(character, '\n' | '\t');
    if text.starts_with('"') || text.contains(is_unsafe) {
        let string = serde_json::Value::from(text).to_string();
        return format!("\"{}\"", sanitize::json(&string).replace('"', "\"\""));
    }
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// The line that names the columns of [`plot_row`], as `rostopic echo -p` prints it first. It names as many elements
/// of each array as this value, a message or a part of one, has; fields that are not to be printed have no column.
pub fn plot_header(value: ValueRef<'_>, options: &EchoOptions) -> String {
    let mut names = Vec::new();
    plot_names(value, "field", options, &mut names);
    format!("%time,{}", names.join(","))
}

/// A line of values: first `now` in nanoseconds (rostopic uses the header's stamp, if any), booleans as 0 and 1, times in
/// nanoseconds.
pub fn plot_row(value: ValueRef<'_>, now: Time, options: &EchoOptions) -> String {
    let mut cells = Vec::new();
    plot_cells(value, options, &mut cells);
    format!("{},{}", nanoseconds(time_since(now, options.since, options.generation)), cells.join(","))
}

fn plot_names(value: ValueRef<'_>, name: &str, options: &EchoOptions, names: &mut Vec<String>) {
    match value {
        ValueRef::Message(message) => plotted(message, options)
            .for_each(|(field, value)| plot_names(value, &format!("{name}.{}", field.name), options, names)),
        ValueRef::Array(array) => plot_array_names(array, name, options, names),
        _ => names.push(name.to_owned()),
    }
}

fn plot_array_names(array: &Array, name: &str, options: &EchoOptions, names: &mut Vec<String>) {
    let numbered = array.iter().enumerate();
    numbered.for_each(|(index, value)| plot_names(value, &format!("{name}{index}"), options, names));
}

/// The fields that have columns.
fn plotted<'a>(
    message: &'a DynamicMessage,
    options: &EchoOptions,
) -> impl Iterator<Item = (&'a Field, ValueRef<'a>)> {
    let EchoOptions { no_arr, no_str, .. } = *options;
    let fields = message.fields().map(|(field, value)| (field, value.view()));
    fields
        .filter(move |(field, _)| !(no_arr && field.arity != Arity::One || no_str && field.element.is_text()))
}

fn plot_cells(value: ValueRef<'_>, options: &EchoOptions, cells: &mut Vec<String>) {
    match value {
        ValueRef::Bool(value) => cells.push(u8::from(value).to_string()),
        ValueRef::String(text) => cells.push(quoted(text)),
        ValueRef::Time(value) => {
            let time = time_since(value, options.since, options.generation);
            cells.push(nanoseconds(time).to_string());
        }
        ValueRef::Duration(value) => {
            cells.push(nanoseconds(duration(value, options.generation)).to_string());
        }
        ValueRef::Message(message) => {
            plotted(message, options).for_each(|(_, value)| plot_cells(value, options, cells))
        }
        ValueRef::Array(array) => array.iter().for_each(|value| plot_cells(value, options, cells)),
        number => cells.push(number_text(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a cell, as described in the module's documentation.
    fn decoded(cell: &str) -> String {
        let Some(inner) = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) else {
            return cell.to_owned();
        };
        let text = inner.replace("\"\"", "\"");
        if text.starts_with('"') { serde_json::from_str(&text).expect("JSON") } else { text }
    }

    #[test]
    fn cells_decode_to_their_text_and_hold_no_control_characters() {
        let unsafe_ones = ('\0'..='\u{2100}').filter(|one| sanitize::is_unsafe(*one)).map(String::from);
        let others =
            ["", "a,b", "say \"x\"", "\"a\"", "\"", "a\nb\tc", "\\x1b", "é\u{1f600}"].map(String::from);
        for text in unsafe_ones.chain(others) {
            let cell = quoted(&text);
            assert_eq!(decoded(&cell), text);
            let is_raw = |one| sanitize::is_unsafe(one) && !matches!(one, '\n' | '\t');
            assert!(!cell.contains(is_raw), "{cell:?}");
        }
        assert_eq!(quoted("a\nb"), "\"a\nb\"", "as RFC 4180 has it");
    }
}
