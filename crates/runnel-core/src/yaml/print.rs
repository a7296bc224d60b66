//! Messages as `rostopic echo` prints them.

use super::number::python_float;
use super::seconds::{duration, names, time};
use super::text::{field_text, item_text};
use crate::dynamic::{Array, DynamicMessage, Value, ValueRef};
use crate::schema::{Arity, Element, Field, Generation};
use crate::time::Time;
use std::fmt::Write;

/// Options for printing a message as YAML, as a line of CSV or for plotting; JSON is always complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoOptions {
    /// How times and durations are shown: with `secs` and `nsecs` as rostopic does, or with `sec` and `nanosec` as
    /// `ros2 topic echo` does.
    pub generation: Generation,
    /// Print only type and length of arrays, as `rostopic echo --noarr`: `"<array type: float32, length: 3>"`. As there, the
    /// type of a fixed-length array is printed as `float64[36`.
    pub no_arr: bool,
    /// Print only the length of strings, as `rostopic echo --nostr`: `"<string length: 5>"`. As there, strings in arrays of
    /// messages are printed.
    pub no_str: bool,
    /// Maximum number of printed elements of an array or characters of a string, followed by `...`, as in
    /// `ros2 topic echo`; `None` to print all.
    pub truncate: Option<usize>,
    /// Width of numbers in columns, as `rostopic echo -w`: integers are padded with spaces, floats truncated.
    pub width: Option<usize>,
    /// Print times relative to this one, as `rostopic echo --offset`.
    pub since: Option<Time>,
}

/// Everything is printed, as in ROS 1.
impl Default for EchoOptions {
    fn default() -> Self {
        Self {
            generation: Generation::Ros1,
            no_arr: false,
            no_str: false,
            truncate: None,
            width: None,
            since: None,
        }
    }
}

/// The message as `rostopic echo` prints it, without a line break at the end. Empty for a message without fields.
pub fn to_yaml(message: &DynamicMessage, options: &EchoOptions) -> String {
    value_to_yaml(ValueRef::Message(message), options)
}

/// A part of a message, as `rostopic echo` prints it.
pub fn value_to_yaml(value: ValueRef<'_>, options: &EchoOptions) -> String {
    let mut printer = Printer { options: *options, out: String::new() };
    match value {
        ValueRef::Message(message) => printer.message(message, 0),
        value => printer.value(value, 0),
    }
    printer.out
}

struct Printer {
    options: EchoOptions,
    out: String,
}

impl Printer {
    /// The fields of a message, each on separate lines.
    fn message(&mut self, message: &DynamicMessage, indent: usize) {
        for (index, (field, value)) in message.fields().enumerate() {
            if index > 0 {
                self.line(indent);
            } else {
                self.indent(indent);
            }
            self.out.push_str(&field.name);
            self.out.push_str(": ");
            match abbreviated(field, value, &self.options) {
                Some(text) => self.put(format_args!("\"{text}\"")),
                None => self.value(value.view(), indent + 2),
            }
        }
    }

    fn value(&mut self, value: ValueRef<'_>, indent: usize) {
        match value {
            ValueRef::String(text) => self.out.push_str(&field_text(&truncated(text, self.options.truncate))),
            ValueRef::Time(value) => {
                self.seconds(time_since(value, self.options.since, self.options.generation), indent);
            }
            ValueRef::Duration(value) => self.seconds(duration(value, self.options.generation), indent),
            ValueRef::Message(message) => {
                self.out.push('\n');
                self.message(message, indent);
            }
            ValueRef::Array(array) => self.array(array, indent),
            number => self.number(number),
        }
    }

    fn number(&mut self, value: ValueRef<'_>) {
        let text = match (self.options.width, value) {
            (Some(width), ValueRef::Int(_) | ValueRef::UInt(_)) => format!("{:>width$}", number_text(value)),
            (Some(width), ValueRef::F32(value)) => fixed(value.into(), width),
            (Some(width), ValueRef::F64(value)) => fixed(value, width),
            _ => number_text(value),
        };
        self.out.push_str(&text);
    }

    fn seconds(&mut self, (secs, nsecs): (i64, i64), indent: usize) {
        // rostopic has nanoseconds in nine columns.
        let usual = if self.options.generation == Generation::Ros1 { 9 } else { 0 };
        let (wide, narrow) = self.options.width.map_or((usual, 0), |width| (width, width));
        let [secs_name, nsecs_name] = names(self.options.generation);
        self.line(indent);
        self.put(format_args!("{secs_name}: {secs:narrow$}"));
        self.line(indent);
        self.put(format_args!("{nsecs_name}: {nsecs:wide$}"));
    }

    fn array(&mut self, array: &Array, indent: usize) {
        match array {
            _ if array.is_empty() => self.out.push_str("[]"),
            Array::String(_) | Array::Time(_) | Array::Duration(_) | Array::Message(_) => {
                self.block(array, indent)
            }
            _ => self.flow(array),
        }
    }

    /// Elements that take a line or more each.
    fn block(&mut self, array: &Array, indent: usize) {
        let shown = self.shown(array);
        let plain = EchoOptions { no_arr: false, no_str: false, ..self.options };
        let options = std::mem::replace(&mut self.options, plain);
        for value in array.iter().take(shown) {
            self.line(indent);
            self.out.push_str("- ");
            match value {
                ValueRef::String(text) => self.item(&truncated(text, self.options.truncate), indent),
                value => self.value(value, indent + 2),
            }
        }
        if shown < array.len() {
            self.line(indent);
            self.out.push_str("- '...'");
        }
        self.options = options;
    }

    /// A text that is an element; it may go over several lines.
    fn item(&mut self, text: &str, indent: usize) {
        for (index, line) in item_text(text).lines().enumerate() {
            if index > 0 {
                self.line(indent);
            }
            self.out.push_str(line);
        }
    }

    /// Numbers on one line.
    fn flow(&mut self, array: &Array) {
        let shown = self.shown(array);
        for (index, value) in array.iter().take(shown).enumerate() {
            self.out.push_str(if index == 0 { "[" } else { ", " });
            self.number(value);
        }
        self.out.push_str(match (shown < array.len(), shown) {
            (false, _) => "]",
            (true, 0) => "['...']",
            (true, _) => ", '...']",
        });
    }

    fn shown(&self, array: &Array) -> usize {
        self.options.truncate.unwrap_or(usize::MAX).min(array.len())
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.indent(indent);
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(arguments);
    }
}

/// A number with this width, or the width of its integer part if that is longer.
fn fixed(value: f64, width: usize) -> String {
    let text = if value.is_finite() { format!("{value:.width$}") } else { number_text(ValueRef::F64(value)) };
    let whole = text.find('.').unwrap_or(0);
    text.chars().take(whole.max(width)).collect()
}

/// A number or truth value; empty for anything else.
pub(super) fn number_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Bool(value) => python_bool(value).into(),
        ValueRef::Int(value) => value.to_string(),
        ValueRef::UInt(value) => value.to_string(),
        ValueRef::F32(value) => python_float(value.into()),
        ValueRef::F64(value) => python_float(value),
        _ => String::new(),
    }
}

/// The placeholder of a field that is not printed; `None` for other fields.
pub(super) fn abbreviated(field: &Field, value: &Value, options: &EchoOptions) -> Option<String> {
    let text = field.element.is_text();
    match (field.arity, value) {
        (Arity::One, Value::String(value)) if options.no_str => {
            Some(format!("<string length: {}>", value.chars().count()))
        }
        (arity, Value::Array(array))
            if options.no_arr || (options.no_str && text && arity == Arity::Unbounded) =>
        {
            Some(format!("<array type: {}, length: {}>", array_type(field), array.len()))
        }
        _ => None,
    }
}

/// The type of an array field without the brackets at its end, which rostopic strips one by one.
fn array_type(field: &Field) -> String {
    let spelled = match (&field.element, field.arity) {
        (Element::Message(name), Arity::Fixed(len)) => format!("{name}[{len}]"),
        (Element::Message(name), _) => name.to_string(),
        (Element::Primitive(_), _) => field.spelling.clone(),
    };
    spelled.trim_end_matches(['[', ']']).to_owned()
}

/// A text cut after `most` characters.
pub(super) fn truncated(text: &str, most: Option<usize>) -> std::borrow::Cow<'_, str> {
    match most.and_then(|most| text.char_indices().nth(most)) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// Seconds, rounded down, and nanoseconds of a time, or of its difference to an earlier one.
pub(super) fn time_since(value: Time, earlier: Option<Time>, generation: Generation) -> (i64, i64) {
    let Some(earlier) = earlier else { return time(value, generation) };
    let between = nanoseconds(time(value, generation)) - nanoseconds(time(earlier, generation));
    (between.div_euclid(1_000_000_000), between.rem_euclid(1_000_000_000))
}

/// Both as nanoseconds; they fit in 64 bits since both come from 32-bit numbers.
pub(super) fn nanoseconds((sec, nanosec): (i64, i64)) -> i64 {
    sec * 1_000_000_000 + nanosec
}

/// A truth value as Python writes it.
fn python_bool(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
