//! Messages as lines of comma-separated values: the flat line of `ros2 topic echo --csv`, and the table that
//! `rostopic echo -p` prints for plotting.
//!
//! Text that holds a comma, a quote or a line break is quoted as in RFC 4180; neither tool does that, and what they
//! print for it cannot be told apart.

use super::number::{duration, time};
use super::print::{YamlOptions, abbreviated, number_text, truncated};
use crate::dynamic::{Array, DynamicError, DynamicMessage, ValueRef};
use crate::time::Time;

/// All values of the message in order on one line, arrays element by element, times as seconds and nanoseconds.
pub fn to_csv(message: &DynamicMessage, options: &YamlOptions) -> String {
    let mut cells = Vec::new();
    message_cells(message, options, &mut cells);
    cells.join(",")
}

/// The values of one field or element, by its path.
///
/// # Errors
/// When the path leads nowhere.
pub fn field_to_csv(
    message: &DynamicMessage,
    path: &str,
    options: &YamlOptions,
) -> Result<String, DynamicError> {
    let mut cells = Vec::new();
    value_cells(message.get(path)?, options, &mut cells);
    Ok(cells.join(","))
}

fn message_cells(message: &DynamicMessage, options: &YamlOptions, cells: &mut Vec<String>) {
    for (field, value) in message.fields() {
        match abbreviated(field, value, options) {
            Some(text) => cells.push(quoted(&text)),
            None => value_cells(value.view(), options, cells),
        }
    }
}

fn value_cells(value: ValueRef<'_>, options: &YamlOptions, cells: &mut Vec<String>) {
    match value {
        ValueRef::String(text) => cells.push(quoted(&truncated(text, options.truncate))),
        ValueRef::Time(value) => cells.extend(two(time(value))),
        ValueRef::Duration(value) => cells.extend(two(duration(value))),
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
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

/// The line that names the columns of [`plot_row`], as `rostopic echo -p` prints it first. It names as many elements
/// of each array as this message has.
pub fn plot_header(message: &DynamicMessage) -> String {
    let mut names = vec!["%time".to_owned()];
    plot_names(ValueRef::Message(message), "field", &mut names);
    names.join(",")
}

/// A line of values: first `now` in nanoseconds (rostopic takes the header's stamp where there is one), truth values
/// as 0 and 1, times in nanoseconds.
pub fn plot_row(message: &DynamicMessage, now: Time) -> String {
    let mut cells = vec![nanoseconds(time(now))];
    plot_cells(ValueRef::Message(message), &mut cells);
    cells.join(",")
}

fn plot_names(value: ValueRef<'_>, name: &str, names: &mut Vec<String>) {
    match value {
        ValueRef::Message(message) => {
            message.fields().for_each(|(field, value)| {
                plot_names(value.view(), &format!("{name}.{}", field.name), names)
            });
        }
        ValueRef::Array(array) => plot_array_names(array, name, names),
        _ => names.push(name.to_owned()),
    }
}

fn plot_array_names(array: &Array, name: &str, names: &mut Vec<String>) {
    array.iter().enumerate().for_each(|(index, value)| plot_names(value, &format!("{name}{index}"), names));
}

fn plot_cells(value: ValueRef<'_>, cells: &mut Vec<String>) {
    match value {
        ValueRef::Bool(value) => cells.push(u8::from(value).to_string()),
        ValueRef::String(text) => cells.push(quoted(text)),
        ValueRef::Time(value) => cells.push(nanoseconds(time(value))),
        ValueRef::Duration(value) => cells.push(nanoseconds(duration(value))),
        ValueRef::Message(message) => message.fields().for_each(|(_, value)| plot_cells(value.view(), cells)),
        ValueRef::Array(array) => array.iter().for_each(|value| plot_cells(value, cells)),
        number => cells.push(number_text(number)),
    }
}

fn nanoseconds((sec, nanosec): (i64, i64)) -> String {
    (i128::from(sec) * 1_000_000_000 + i128::from(nanosec)).to_string()
}
