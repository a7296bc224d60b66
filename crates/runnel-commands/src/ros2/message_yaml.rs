//! Messages as ros2 prints them: what rosidl makes of a message, as PyYAML writes it in block style.

use runnel::core::dynamic::{Array, DynamicMessage, Value, ValueRef};
use runnel::core::schema::{Arity, Field};
use runnel::core::yaml::{EchoOptions, block_text, yaml_float};

/// The message as `message_to_yaml` of rosidl_runtime_py gives it, with a newline at the end. Of the options, those
/// count that ros2 has: no arrays, no strings, and the length at which both are truncated.
pub fn message_yaml(message: &DynamicMessage, options: &EchoOptions) -> String {
    let mut writer = Writer { options: *options, out: String::new() };
    match message.fields().next() {
        None => writer.out.push_str("{}\n"),
        Some(_) => writer.members(message, 0),
    }
    writer.out
}

struct Writer {
    options: EchoOptions,
    out: String,
}

impl Writer {
    /// The fields of a message, the first at the current position.
    fn members(&mut self, message: &DynamicMessage, indent: usize) {
        for (index, (field, value)) in message.fields().enumerate() {
            if index > 0 {
                self.pad(indent);
            }
            self.member(&field.name, field, value, indent);
        }
    }

    fn member(&mut self, name: &str, field: &Field, value: &Value, indent: usize) {
        self.out.push_str(name);
        self.out.push(':');
        match value.view() {
            ValueRef::Array(array) => self.array(field, array, indent),
            ValueRef::Message(inner) if inner.fields().next().is_some() => {
                self.out.push('\n');
                self.pad(indent + 2);
                self.members(inner, indent + 2);
            }
            ValueRef::Time(time) => self.stamp([i64::from(time.sec), i64::from(time.nanosec)], indent),
            ValueRef::Duration(time) => self.stamp([i64::from(time.sec), i64::from(time.nanosec)], indent),
            scalar => self.out.push_str(&format!(" {}\n", self.scalar(field, scalar, indent))),
        }
    }

    fn stamp(&mut self, [seconds, nanoseconds]: [i64; 2], indent: usize) {
        let pad = " ".repeat(indent + 2);
        self.out.push_str(&format!("\n{pad}sec: {seconds}\n{pad}nanosec: {nanoseconds}\n"));
    }

    /// The elements after a name: each at the name's own indentation.
    fn array(&mut self, field: &Field, array: &Array, indent: usize) {
        if self.options.no_arr {
            let text = abbreviated(field, array);
            self.out.push_str(&format!(" {text}\n"));
            return;
        }
        if array.is_empty() {
            self.out.push_str(" []\n");
            return;
        }
        self.out.push('\n');
        let shown = self.options.truncate.unwrap_or(usize::MAX);
        for item in array.iter().take(shown) {
            self.pad(indent);
            self.out.push_str("- ");
            match item {
                ValueRef::Message(inner) if inner.fields().next().is_some() => {
                    self.members(inner, indent + 2)
                }
                scalar => self.out.push_str(&format!("{}\n", self.scalar(field, scalar, indent))),
            }
        }
        if array.len() > shown {
            self.pad(indent);
            self.out.push_str("- '...'\n");
        }
    }

    /// A value on the line of its name, which is at this indentation.
    fn scalar(&self, field: &Field, value: ValueRef<'_>, indent: usize) -> String {
        match value {
            ValueRef::Bool(truth) => truth.to_string(),
            // Python has a byte as a text of one character.
            ValueRef::Int(number) if field.spelling.starts_with("byte") => {
                string_text(&char::from(number.to_le_bytes()[0]).to_string(), indent)
            }
            ValueRef::Int(number) => number.to_string(),
            ValueRef::UInt(number) => number.to_string(),
            ValueRef::F32(number) => yaml_float(f64::from(number)),
            ValueRef::F64(number) => yaml_float(number),
            ValueRef::String(text) if self.options.no_str => {
                format!("'<string length: <{}>>'", text.chars().count())
            }
            ValueRef::String(text) => string_text(&self.truncated(text), indent),
            ValueRef::Time(time) => format!("{{sec: {}, nanosec: {}}}", time.sec, time.nanosec),
            ValueRef::Duration(time) => format!("{{sec: {}, nanosec: {}}}", time.sec, time.nanosec),
            ValueRef::Message(_) | ValueRef::Array(_) => "{}".to_owned(),
        }
    }

    fn truncated(&self, text: &str) -> String {
        match self.options.truncate {
            Some(length) if text.chars().count() > length => {
                text.chars().take(length).collect::<String>() + "..."
            }
            _ => text.to_owned(),
        }
    }

    fn pad(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// An array without its elements.
fn abbreviated(field: &Field, array: &Array) -> String {
    let element = field.spelling.split('[').next().unwrap_or_default();
    match field.arity {
        Arity::Fixed(length) => format!("'<array type: {element}[{length}]>'"),
        _ => format!("'<sequence type: {element}, length: {}>'", array.len()),
    }
}

/// A text as PyYAML writes it on lines of any width, with letters of all languages. Its other lines are indented more
/// than the name.
fn string_text(text: &str, indent: usize) -> String {
    let plain: String = text.chars().map(|letter| if is_foreign(letter) { 'a' } else { letter }).collect();
    let written = block_text(&plain, 0, indent + 2);
    let is_wrapped = written.contains('\n') && !text.contains('\n');
    match written.chars().next() {
        Some('\'') if is_wrapped || plain != text => format!("'{}'", text.replace('\'', "''")),
        // Escapes concern only the other characters, which are the same in both texts.
        Some('"') if plain != text => block_text(text, 0, indent + 2),
        Some('"' | '\'') => written,
        _ if is_wrapped || plain != text => text.to_owned(),
        _ => written,
    }
}

/// A letter that is printed as it is, and is not ASCII.
fn is_foreign(letter: char) -> bool {
    !letter.is_ascii()
        && (letter.is_alphanumeric() || letter > '\u{a0}' && !letter.is_control())
        && !matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::typed_message;
    use runnel::core::schema::{Generation, Kind, Library, TypeName};

    const TEXT: &str = "bool a\nbyte b\nfloat32 c\nstring d\nint32[] e\np/Part[] f\np/Part g\np/Empty h\n\
                        builtin_interfaces/Time i\nuint8[2] j\nstring[] k\n";

    fn message(values: &str) -> DynamicMessage {
        let mut library = Library::new();
        for (name, text) in [("Whole", TEXT), ("Part", "int8 x\nstring y\n"), ("Empty", "")] {
            library.add_text(Kind::Message, TypeName::new("p", name), text, name);
        }
        let schema = library.message_in(Generation::Ros2, &TypeName::new("p", "Whole")).expect("a good text");
        typed_message(&schema, &[values.to_owned()]).expect("good values")
    }

    /// As printed by rosidl_runtime_py of Kilted.
    #[test]
    fn message_is_written_as_by_pyyaml() {
        let whole = message(
            "{a: true, b: 65, c: 0.1, d: '5', e: [1, 2], f: [{x: 1, y: z}, {}], g: {y: 'a: b'}, i: {sec: 1, nanosec: 2}, \
             k: ['', é]}",
        );
        let expected = "a: true\nb: A\nc: 0.10000000149011612\nd: '5'\ne:\n- 1\n- 2\nf:\n- x: 1\n  y: z\n- x: 0\n  y: ''\n\
                        g:\n  x: 0\n  y: 'a: b'\nh: {}\ni:\n  sec: 1\n  nanosec: 2\nj:\n- 0\n- 0\nk:\n- ''\n- é\n";
        assert_eq!(message_yaml(&whole, &EchoOptions::default()), expected);
    }

    #[test]
    fn arrays_and_strings_are_abbreviated() {
        let whole = message("{d: abcdef, e: [1, 2, 3]}");
        let text = |options| message_yaml(&whole, &options);
        let truncated = text(EchoOptions { truncate: Some(2), ..EchoOptions::default() });
        assert!(truncated.contains("d: ab...\ne:\n- 1\n- 2\n- '...'\nf: []\n"), "{truncated}");
        let short = text(EchoOptions { no_arr: true, no_str: true, ..EchoOptions::default() });
        let expected = "d: '<string length: <6>>'\ne: '<sequence type: int32, length: 3>'\n";
        assert!(short.contains(expected) && short.contains("j: '<array type: uint8[2]>'\n"), "{short}");
    }

    /// As printed by PyYAML 6.0 with `allow_unicode`.
    #[test]
    fn text_is_written_as_by_pyyaml() {
        for (text, expected) in [
            ("a", "a"),
            ("yes", "'yes'"),
            ("y", "y"),
            ("x\ny", "'x\n\n  y'"),
            ("it's", "it's"),
            ("-1", "'-1'"),
            ("null", "'null'"),
            (" lead", "' lead'"),
            ("a#b", "a#b"),
            ("a #b", "'a #b'"),
            ("tab\tx", "\"tab\\tx\""),
            ("\0", "\"\\0\""),
            ("1e3", "1e3"),
            ("0x1F", "'0x1F'"),
            ("é: x", "'é: x'"),
            ("é's: x", "'é''s: x'"),
        ] {
            assert_eq!(string_text(text, 0), expected);
        }
        assert_eq!(string_text("x\ny", 2), "'x\n\n    y'");
    }

    #[test]
    fn long_text_stays_on_its_line() {
        let words = "word ".repeat(30);
        for text in [format!("{words}end"), format!("{words}: end"), format!("é {words}end")] {
            let written = string_text(&text, 0);
            assert!(!written.contains('\n') && written.contains(&text), "{written}");
        }
    }
}
