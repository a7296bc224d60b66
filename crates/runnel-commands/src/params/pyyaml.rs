//! Parameters as PyYAML's `dump` writes them, which `rosparam` prints.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use runnel::XmlRpcValue;
use runnel::core::sanitize::one_line as shown;
use runnel::core::yaml::{block_text, python_float, yaml_float};

/// PyYAML writes a name of this many characters after a question mark.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The value as `yaml.dump` writes it, without the marker `...` after an unquoted scalar.
pub fn dump(value: &XmlRpcValue) -> String {
    let mut text = String::new();
    match value {
        XmlRpcValue::Array(elements) if !elements.is_empty() => sequence(elements, 0, &mut text),
        XmlRpcValue::Struct(members) if !members.is_empty() => mapping(members, 0, &mut text),
        scalar => text = scalar_text(scalar, 0, 2) + "\n",
    }
    text
}

/// True if `yaml.dump` writes `...` after the value.
pub fn is_plain_scalar(value: &XmlRpcValue) -> bool {
    match value {
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => {
            !block_text(text, 0, 2).starts_with(['\'', '"'])
        }
        XmlRpcValue::Int(_) | XmlRpcValue::Bool(_) | XmlRpcValue::Double(_) => true,
        XmlRpcValue::Binary(_) | XmlRpcValue::Array(_) | XmlRpcValue::Struct(_) => false,
    }
}

/// Elements. The first continues the current line.
fn sequence(elements: &[XmlRpcValue], indent: usize, text: &mut String) {
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            pad(indent, text);
        }
        text.push_str("- ");
        value_in_place(element, indent + 2, text);
    }
}

/// Members. The first continues the current line. A sequence in a mapping is not indented.
fn mapping(members: &BTreeMap<String, XmlRpcValue>, indent: usize, text: &mut String) {
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            pad(indent, text);
        }
        let key = block_text(name, indent, indent + 2);
        if is_simple_key(name, &key) {
            *text += &format!("{key}:");
            value_after_simple_key(value, indent, indent + key.chars().count() + 2, text);
        } else {
            let key = block_text(name, indent + 2, indent + 2);
            *text += &format!("? {key}\n{:indent$}: ", "");
            value_in_place(value, indent + 2, text);
        }
    }
}

/// True if a name can stand before its colon on one line. Other names stand after a question mark.
fn is_simple_key(name: &str, key: &str) -> bool {
    !name.is_empty() && name.chars().count() < LONGEST_SIMPLE_KEY && !key.contains('\n')
}

/// A value after `name:`. A scalar begins at `column`; a sequence is not indented.
fn value_after_simple_key(value: &XmlRpcValue, indent: usize, column: usize, text: &mut String) {
    match value {
        XmlRpcValue::Array(inner) if !inner.is_empty() => {
            text.push('\n');
            pad(indent, text);
            sequence(inner, indent, text);
        }
        XmlRpcValue::Struct(inner) if !inner.is_empty() => {
            text.push('\n');
            pad(indent + 2, text);
            mapping(inner, indent + 2, text);
        }
        scalar => *text += &format!(" {}\n", scalar_text(scalar, column, indent + 2)),
    }
}

/// A value that begins on the current line, at column `indent`.
fn value_in_place(value: &XmlRpcValue, indent: usize, text: &mut String) {
    match value {
        XmlRpcValue::Array(inner) if !inner.is_empty() => sequence(inner, indent, text),
        XmlRpcValue::Struct(inner) if !inner.is_empty() => mapping(inner, indent, text),
        scalar => *text += &(scalar_text(scalar, indent, indent) + "\n"),
    }
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn scalar_text(value: &XmlRpcValue, column: usize, indent: usize) -> String {
    match value {
        XmlRpcValue::Int(number) => number.to_string(),
        XmlRpcValue::Bool(truth) => truth.to_string(),
        XmlRpcValue::Double(number) => yaml_float(*number),
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => block_text(text, column, indent),
        XmlRpcValue::Binary(bytes) => binary_text(bytes, indent),
        XmlRpcValue::Array(_) => "[]".to_owned(),
        XmlRpcValue::Struct(_) => "{}".to_owned(),
    }
}

/// Bytes in base 64, on a line of their own.
fn binary_text(bytes: &[u8], indent: usize) -> String {
    format!("!!binary |-\n{:indent$}{}", "", BASE64_STANDARD.encode(bytes))
}

/// The value as Python's `str` prints it.
pub fn python_text(value: &XmlRpcValue) -> String {
    match value {
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => text.clone(),
        value => python_repr(value),
    }
}

fn python_repr(value: &XmlRpcValue) -> String {
    match value {
        XmlRpcValue::Int(number) => number.to_string(),
        XmlRpcValue::Bool(truth) => if *truth { "True" } else { "False" }.to_owned(),
        XmlRpcValue::Double(number) => python_float(*number),
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let escaped = text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
            let escaped = if quote == '\'' { escaped.replace('\'', "\\'") } else { escaped };
            format!("{quote}{escaped}{quote}")
        }
        XmlRpcValue::Binary(bytes) => format!("<{} bytes>", bytes.len()),
        XmlRpcValue::Array(elements) => {
            format!("[{}]", elements.iter().map(python_repr).collect::<Vec<_>>().join(", "))
        }
        XmlRpcValue::Struct(members) => {
            let member = |(name, value): (&String, &XmlRpcValue)| {
                format!("{}: {}", python_repr(&name.as_str().into()), python_repr(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The value as `rosparam get -p` prints it: a mapping without quotes, with sequences in PyYAML's form; `None` if
/// `-p` makes no difference.
pub fn pretty(value: &XmlRpcValue) -> Option<String> {
    match value {
        XmlRpcValue::Struct(members) => {
            let mut text = String::new();
            pretty_members(members, 0, &mut text);
            Some(text)
        }
        XmlRpcValue::String(value) => Some(format!("{value}\n")),
        _ => None,
    }
}

fn pretty_members(members: &BTreeMap<String, XmlRpcValue>, indent: usize, text: &mut String) {
    for (name, value) in members {
        pad(indent, text);
        let name = shown(name);
        match value {
            XmlRpcValue::Struct(inner) => {
                *text += &format!("{name}:\n");
                pretty_members(inner, indent + 2, text);
            }
            XmlRpcValue::String(value) if value.contains('\n') => {
                *text += &format!("{name}: |\n");
                for line in value.split('\n') {
                    *text += &format!("{:indent$}  {line}\n", "");
                }
            }
            XmlRpcValue::String(value) => *text += &format!("{name}: {value}\n"),
            value => *text += &format!("{name}: {}", dump(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(values: Vec<XmlRpcValue>) -> XmlRpcValue {
        XmlRpcValue::Array(values)
    }

    fn members(members: Vec<(&str, XmlRpcValue)>) -> XmlRpcValue {
        XmlRpcValue::Struct(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn sequence_in_a_mapping_is_not_indented() {
        let inner = members(vec![
            ("x", 1.into()),
            ("y", list(vec!["a".into(), list(vec![2.5.into(), true.into()])])),
        ]);
        let value = members(vec![
            ("b", inner),
            ("a", list(vec![members(vec![("k", "5".into()), ("l", "".into())])])),
        ]);
        let expected = "a:\n- k: '5'\n  l: ''\nb:\n  x: 1\n  y:\n  - a\n  - - 2.5\n    - true\n";
        assert_eq!(dump(&value), expected);
    }

    /// As PyYAML 6.0 writes these mappings.
    #[test]
    fn names_with_line_breaks_stand_after_question_marks() {
        let inner = || list(vec![1.into(), members(vec![("z", 2.into())])]);
        let cases = [
            (members(vec![("a\nb", 1.into())]), "? 'a\n\n  b'\n: 1\n"),
            (
                members(vec![("o", members(vec![("a\nb", inner())]))]),
                "o:\n  ? 'a\n\n    b'\n  : - 1\n    - z: 2\n",
            ),
            (
                members(vec![("o", members(vec![("a\nb", "x\ny".into())]))]),
                "o:\n  ? 'a\n\n    b'\n  : 'x\n\n    y'\n",
            ),
            (members(vec![("", members(vec![("x", 1.into())]))]), "? ''\n: x: 1\n"),
            (
                list(vec![members(vec![("a\nb", 1.into()), ("c", 2.into())])]),
                "- ? 'a\n\n    b'\n  : 1\n  c: 2\n",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(dump(&value), expected);
            assert_eq!(crate::params::yaml::from_text(expected).expect("YAML"), value);
        }
        for name in ["x".repeat(200), "w ".repeat(60), "\u{e9}\nb".into()] {
            let value = members(vec![(name.as_str(), inner())]);
            assert_eq!(crate::params::yaml::from_text(&dump(&value)).expect("YAML"), value);
        }
    }

    #[test]
    fn scalars_read_back_unchanged() {
        for (value, text, plain) in [
            (XmlRpcValue::from(5), "5\n", true),
            ("five".into(), "five\n", true),
            ("5".into(), "'5'\n", false),
            ("".into(), "''\n", false),
            ("a: b".into(), "'a: b'\n", false),
            ("é".into(), "\"\\xE9\"\n", false),
            (1e16.into(), "1.0e+16\n", true),
            (f64::NAN.into(), ".nan\n", true),
            (list(vec![]), "[]\n", false),
            (members(vec![]), "{}\n", false),
        ] {
            assert_eq!((dump(&value).as_str(), is_plain_scalar(&value)), (text, plain));
        }
    }

    #[test]
    fn bytes_are_written_in_base_64() {
        assert_eq!(dump(&XmlRpcValue::Binary(vec![0xfb, 0xff])), "!!binary |-\n  +/8=\n");
    }

    #[test]
    fn python_quotes_text_in_lists() {
        let value =
            list(vec!["a".into(), "it's".into(), true.into(), 1.0.into(), members(vec![("k", 2.into())])]);
        assert_eq!(python_text(&value), "['a', \"it's\", True, 1.0, {'k': 2}]");
        assert_eq!(python_text(&"a".into()), "a");
    }

    #[test]
    fn pretty_text_has_no_quotes() {
        let value = members(vec![
            ("a", members(vec![("s", "5".into()), ("t", "x\ny".into())])),
            ("l", list(vec![1.into()])),
        ]);
        assert_eq!(pretty(&value).as_deref(), Some("a:\n  s: 5\n  t: |\n    x\n    y\nl: - 1\n"));
        assert_eq!(pretty(&5.into()), None);
    }
}
