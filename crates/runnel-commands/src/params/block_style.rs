//! Parameters as YAML in block style, as `runnel param get` and `dump` print them. Unlike PyYAML's form it keeps
//! non-ASCII text and multi-line text readable.

use runnel::XmlRpcValue;

use super::read::{Yaml, unquoted};

/// Longest name before a colon on the same line, in bytes: parsers search at most 1024 characters for the colon, and
/// other writers stop at 128.
const LONGEST_NAME: usize = 128;

/// The value as a document.
pub fn dump(value: &XmlRpcValue) -> String {
    let mut text = String::new();
    node(value, 0, 0, &mut text);
    text
}

/// Appends a value. Its first line continues the current line, and further lines are indented by `indent`. `parent`
/// is the column of the dash or name before it.
fn node(value: &XmlRpcValue, parent: usize, indent: usize, text: &mut String) {
    match value {
        XmlRpcValue::Array(elements) if !elements.is_empty() => {
            list(elements.iter(), indent, text, |element, text| node(element, indent, indent + 2, text));
        }
        XmlRpcValue::Binary(bytes) if !bytes.is_empty() => {
            list(bytes.iter(), indent, text, |byte, text| *text += &format!("{byte}\n"));
        }
        XmlRpcValue::Struct(members) if !members.is_empty() => {
            for (index, (name, member)) in members.iter().enumerate() {
                begin_line(index, indent, text);
                *text += &name_text(name, indent);
                below(member, indent, text);
            }
        }
        scalar => *text += &(scalar_text(scalar, parent) + "\n"),
    }
}

fn list<T>(
    elements: impl Iterator<Item = T>,
    indent: usize,
    text: &mut String,
    write: impl Fn(T, &mut String),
) {
    for (index, element) in elements.enumerate() {
        begin_line(index, indent, text);
        text.push_str("- ");
        write(element, text);
    }
}

/// The first item continues the current line.
fn begin_line(index: usize, indent: usize, text: &mut String) {
    if index > 0 {
        pad(indent, text);
    }
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// The value after a name: on the same line, or on lines of its own. A list is not indented.
fn below(value: &XmlRpcValue, parent: usize, text: &mut String) {
    let (lines, indent) = match value {
        XmlRpcValue::Array(elements) => (!elements.is_empty(), parent),
        XmlRpcValue::Binary(bytes) => (!bytes.is_empty(), parent),
        XmlRpcValue::Struct(members) => (!members.is_empty(), parent + 2),
        _ => (false, parent),
    };
    if lines {
        text.push('\n');
        pad(indent, text);
    } else {
        text.push(' ');
    }
    node(value, parent, indent, text);
}

fn name_text(name: &str, indent: usize) -> String {
    let quoted = if name.contains('\n') { double_quoted(name) } else { line_text(name) };
    if name.len() > LONGEST_NAME { format!("? {quoted}\n{:indent$}:", "") } else { quoted + ":" }
}

fn scalar_text(value: &XmlRpcValue, parent: usize) -> String {
    match value {
        XmlRpcValue::Int(number) => number.to_string(),
        XmlRpcValue::Bool(truth) => truth.to_string(),
        XmlRpcValue::Double(number) => float(*number),
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) if text.contains('\n') => {
            lines_text(text, parent)
        }
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => line_text(text),
        XmlRpcValue::Binary(_) | XmlRpcValue::Array(_) => "[]".to_owned(),
        XmlRpcValue::Struct(_) => "{}".to_owned(),
    }
}

/// A number that reads back unchanged, with a point or an exponent.
pub fn float(number: f64) -> String {
    match number {
        _ if number.is_nan() => ".nan".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { ".inf" } else { "-.inf" }.to_owned(),
        // Rust prints these with an exponent.
        _ if (1e-5..1e-4).contains(&number.abs()) => number.to_string(),
        _ => format!("{number:?}"),
    }
}

/// Text of one line, quoted if it would read back as something else.
fn line_text(text: &str) -> String {
    if text.contains('\u{feff}') {
        return double_quoted(text);
    }
    let is_read_as_text = matches!(unquoted(text), Yaml::Text(_)) && text != "<<";
    if is_read_as_text && can_be_plain(text) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// True if text of one line has no special meaning in block style.
///
/// Source: YAML 1.2.2, 7.3.3.
fn can_be_plain(text: &str) -> bool {
    let is_blank = |c: char| matches!(c, ' ' | '\t');
    let mut rest = text.chars();
    let (Some(first), second) = (rest.next(), rest.next()) else { return false };
    let begins = match first {
        '-' | '?' | ':' => !second.is_none_or(is_blank),
        _ => !"#,[]{}&*!|>'\"%@`".contains(first),
    };
    begins
        && !["---", "..."].iter().any(|mark| text.starts_with(mark))
        && !text.starts_with(is_blank)
        && !text.ends_with(is_blank)
        && !text.ends_with(':')
        && ![": ", ":\t", " #", "\t#"].iter().any(|mark| text.contains(mark))
}

/// Text of several lines as a block, or quoted if spaces would get lost. Its lines are indented two columns more than
/// the parent.
fn lines_text(text: &str, parent: usize) -> String {
    if text.ends_with(' ') || text.contains(" \n") || text.contains('\u{feff}') {
        return double_quoted(text);
    }
    let explicit = if text.starts_with([' ', '\n']) { "2" } else { "" };
    let end = match text.strip_suffix('\n') {
        None => "-",
        Some(rest) if rest.is_empty() || rest.ends_with('\n') => "+",
        Some(_) => "",
    };
    let mut block = format!("|{explicit}{end}");
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        block.push('\n');
        if !line.is_empty() {
            pad(parent + 2, &mut block);
            block.push_str(line);
        }
    }
    block
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\u{feff}' => quoted.push_str("\\uFEFF"),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list_of<const N: usize>(values: [XmlRpcValue; N]) -> XmlRpcValue {
        XmlRpcValue::Array(values.into())
    }

    fn members<const N: usize>(members: [(&str, XmlRpcValue); N]) -> XmlRpcValue {
        XmlRpcValue::Struct(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn lists_and_mappings_are_blocks() {
        let value = members([
            (
                "a",
                list_of([
                    1.into(),
                    list_of([2.5.into(), "x".into()]),
                    members([("k", 1.into()), ("l", true.into())]),
                ]),
            ),
            ("b", members([("c", members([])), ("d", list_of([]))])),
            ("e", XmlRpcValue::Binary(vec![7, 8])),
        ]);
        let expected = "a:\n- 1\n- - 2.5\n  - x\n- k: 1\n  l: true\nb:\n  c: {}\n  d: []\ne:\n- 7\n- 8\n";
        assert_eq!(dump(&value), expected);
        let lines = members([("a", list_of(["x\ny".into()])), ("b", " x\ny".into())]);
        assert_eq!(dump(&lines), "a:\n- |-\n  x\n  y\nb: |2-\n   x\n  y\n");
    }

    #[test]
    fn ambiguous_text_is_quoted() {
        for plain in ["a", "a b", "é", "a:b", "a#b", "-a", "?a", "it's", "1.2.3", "x, y"] {
            assert_eq!(line_text(plain), plain);
        }
        let others = [
            "", "5", "1e5", "true", "yes", "017", "~", "a: b", "a #b", "- a", "-", "[a", " a", "a ", "'a",
            "a:", "---", "<<", "deg(90)",
        ];
        for other in others {
            assert_eq!(line_text(other), format!("'{}'", other.replace('\'', "''")));
        }
    }

    #[test]
    fn multiline_text_is_a_block() {
        for (text, expected) in [
            ("a\nb", "|-\n  a\n  b"),
            ("a\n\nb\n", "|\n  a\n\n  b"),
            ("a\n\n", "|+\n  a\n"),
            (" a\nb", "|2-\n   a\n  b"),
            ("a \nb", "\"a \\nb\""),
        ] {
            assert_eq!(lines_text(text, 0), expected);
        }
    }

    #[test]
    fn floats_have_a_point_or_an_exponent() {
        let table = [(1.0, "1.0"), (1e-5, "0.00001"), (1e16, "1e16"), (1.5e-7, "1.5e-7"), (f64::NAN, ".nan")];
        for (number, expected) in table {
            assert_eq!(float(number), expected);
        }
    }
}
