//! Parameters of ROS 2 nodes as text: as ros2 param prints them, and as parameter files.

use std::collections::BTreeMap;

use runnel::core::sanitize;
use runnel::{ParameterValue, XmlRpcValue};
use serde_json::{Value as Json, json};

use super::read::{self, Yaml};
use super::{block_style, pyyaml, yaml};

/// The words before a value in the output of `ros2 param get`.
pub fn label(value: &ParameterValue) -> &'static str {
    match value {
        ParameterValue::Bool(_) => "Boolean value is:",
        ParameterValue::Integer(_) => "Integer value is:",
        ParameterValue::Double(_) => "Double value is:",
        ParameterValue::String(_) => "String value is:",
        ParameterValue::ByteArray(_) => "Byte values are:",
        ParameterValue::BoolArray(_) => "Boolean values are:",
        ParameterValue::IntegerArray(_) => "Integer values are:",
        ParameterValue::DoubleArray(_) => "Double values are:",
        ParameterValue::StringArray(_) => "String values are:",
        _ => "Value is:",
    }
}

/// The value as Python prints it.
pub fn python_text(value: &ParameterValue) -> String {
    let listed = |items: Vec<String>| format!("[{}]", items.join(", "));
    let single = |value: XmlRpcValue| pyyaml::python_text(&value);
    match value {
        ParameterValue::Bool(truth) => single((*truth).into()),
        ParameterValue::Integer(number) => number.to_string(),
        ParameterValue::Double(number) => single((*number).into()),
        ParameterValue::String(text) => text.clone(),
        ParameterValue::ByteArray(bytes) => {
            listed(bytes.iter().map(|byte| format!("b'{}'", byte.escape_ascii())).collect())
        }
        ParameterValue::BoolArray(truths) => {
            listed(truths.iter().map(|truth| single((*truth).into())).collect())
        }
        ParameterValue::IntegerArray(numbers) => {
            format!("array('q', {})", listed(numbers.iter().map(ToString::to_string).collect()))
        }
        ParameterValue::DoubleArray(numbers) => {
            let numbers = numbers.iter().map(|number| single((*number).into())).collect();
            format!("array('d', {})", listed(numbers))
        }
        ParameterValue::StringArray(texts) => {
            let texts: Vec<XmlRpcValue> = texts.iter().map(|text| text.as_str().into()).collect();
            single(texts.into())
        }
        _ => String::new(),
    }
}

/// The value as JSON.
pub fn to_json(value: &ParameterValue) -> Json {
    let number = |number: f64| if number.is_finite() { json!(number) } else { json!(number.to_string()) };
    match value {
        ParameterValue::Bool(truth) => json!(truth),
        ParameterValue::Integer(integer) => json!(integer),
        ParameterValue::Double(double) => number(*double),
        ParameterValue::String(text) => json!(text),
        ParameterValue::ByteArray(bytes) => json!(bytes),
        ParameterValue::BoolArray(truths) => json!(truths),
        ParameterValue::IntegerArray(integers) => json!(integers),
        ParameterValue::DoubleArray(doubles) => doubles.iter().copied().map(number).collect(),
        ParameterValue::StringArray(texts) => json!(texts),
        _ => Json::Null,
    }
}

/// The value of a text, by the rules of `ros2 param set`: YAML, or a string where that gives no value.
pub fn from_text(text: &str) -> ParameterValue {
    let documents = read::documents(text).unwrap_or_default();
    let [document] = documents.as_slice() else { return text.into() };
    from_yaml(document).unwrap_or_else(|| text.into())
}

/// The value of YAML; `None` if no parameter can have it.
fn from_yaml(document: &Yaml) -> Option<ParameterValue> {
    Some(match document {
        Yaml::Bool(truth) => (*truth).into(),
        Yaml::Int(number) => i64::try_from(*number).ok()?.into(),
        Yaml::Float(number) => (*number).into(),
        Yaml::Text(text) => text.as_str().into(),
        Yaml::List(items) if items.is_empty() => ParameterValue::BoolArray(Vec::new()),
        Yaml::List(items) => {
            let items: Vec<ParameterValue> = items.iter().map(from_yaml).collect::<Option<_>>()?;
            match items.into() {
                ParameterValue::List(_) => return None,
                array => array,
            }
        }
        Yaml::Null | Yaml::Mapping(_) | Yaml::Tagged(_) => return None,
    })
}

/// A part of a parameter file.
enum Part<'a> {
    Value(&'a ParameterValue),
    Below(BTreeMap<&'a str, Part<'a>>),
}

/// The parameters of a node as a parameter file.
pub fn file_text(node: &str, parameters: &[(String, ParameterValue)]) -> String {
    let mut parts = BTreeMap::new();
    for (name, value) in parameters {
        insert(&mut parts, name, value);
    }
    let mut text = format!("{}:\n  ros__parameters:", name_text(node));
    if parts.is_empty() {
        return text + " {}\n";
    }
    text.push('\n');
    write(&parts, 4, &mut text);
    text
}

fn insert<'a>(parts: &mut BTreeMap<&'a str, Part<'a>>, name: &'a str, value: &'a ParameterValue) {
    if let Some((first, rest)) = name.split_once('.')
        && let Part::Below(below) = parts.entry(first).or_insert_with(|| Part::Below(BTreeMap::new()))
    {
        return insert(below, rest, value);
    }
    // Where `a` and `a.b` are both parameters, the second stays a name with a point.
    parts.insert(name, Part::Value(value));
}

fn write(parts: &BTreeMap<&str, Part<'_>>, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    for (name, part) in parts {
        *text += &format!("{pad}{}:", name_text(name));
        match part {
            Part::Below(below) => {
                text.push('\n');
                write(below, indent + 2, text);
            }
            Part::Value(value) => match items(value) {
                Some(items) if items.is_empty() => *text += " []\n",
                Some(items) => {
                    text.push('\n');
                    items.iter().for_each(|item| *text += &format!("{pad}- {item}\n"));
                }
                None => *text += &format!(" {}\n", scalar_text(value)),
            },
        }
    }
}

/// The elements of an array.
fn items(value: &ParameterValue) -> Option<Vec<String>> {
    Some(match value {
        ParameterValue::ByteArray(bytes) => bytes.iter().map(ToString::to_string).collect(),
        ParameterValue::BoolArray(truths) => truths.iter().map(ToString::to_string).collect(),
        ParameterValue::IntegerArray(integers) => integers.iter().map(ToString::to_string).collect(),
        ParameterValue::DoubleArray(doubles) => doubles.iter().copied().map(block_style::float).collect(),
        ParameterValue::StringArray(texts) => texts.iter().map(|text| string_text(text)).collect(),
        _ => return None,
    })
}

fn scalar_text(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Bool(truth) => truth.to_string(),
        ParameterValue::Integer(integer) => integer.to_string(),
        ParameterValue::Double(double) => block_style::float(*double),
        ParameterValue::String(text) => string_text(text),
        _ => "null".to_owned(),
    }
}

/// A string that reads back as such, on one line.
fn string_text(text: &str) -> String {
    if text.contains(sanitize::is_unsafe) {
        return json!(text).to_string();
    }
    let plain = yaml::to_text(&text.into()).unwrap_or_default().trim_end_matches('\n').to_owned();
    // rcl takes more words for booleans and numbers than YAML.
    if is_number_for_rcl(&plain) { format!("'{plain}'") } else { plain }
}

/// Whether rcl reads plain text as an integer or a double although YAML does not.
fn is_number_for_rcl(text: &str) -> bool {
    let is_hex = text.trim_start_matches(['-', '+']).to_ascii_lowercase().starts_with("0x");
    text.parse::<f64>().is_ok() || is_hex || ["y", "Y", "n", "N"].contains(&text)
}

fn name_text(name: &str) -> String {
    string_text(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_printed_as_by_python() {
        for (value, expected) in [
            (ParameterValue::from(true), "True"),
            (5.into(), "5"),
            (5.0.into(), "5.0"),
            ("a 'b'".into(), "a 'b'"),
            (vec![1_u8, 65].into(), r"[b'\x01', b'A']"),
            (vec![true, false].into(), "[True, False]"),
            (vec![1_i64 << 40].into(), "array('q', [1099511627776])"),
            (vec![1.0, 2.5].into(), "array('d', [1.0, 2.5])"),
            (vec!["a", "b"].into(), "['a', 'b']"),
        ] {
            assert_eq!(python_text(&value), expected);
        }
    }

    #[test]
    fn text_has_type_that_ros2_param_gives_it() {
        for (text, expected) in [
            ("5", ParameterValue::from(5)),
            ("5.0", 5.0.into()),
            ("true", true.into()),
            ("yes", true.into()),
            ("'5'", "5".into()),
            ("[1, 2]", vec![1, 2].into()),
            ("[a, b]", vec!["a", "b"].into()),
            ("[1, a]", "[1, a]".into()),
            ("{a: 1}", "{a: 1}".into()),
            ("null", "null".into()),
            ("", "".into()),
            ("a: [", "a: [".into()),
            ("99999999999999999999", "99999999999999999999".into()),
        ] {
            assert_eq!(from_text(text), expected, "{text}");
        }
    }

    #[test]
    fn file_has_form_of_ros2_param_dump() {
        let parameters = [
            ("use_sim_time", ParameterValue::from(false)),
            ("limits.low", 5.into()),
            ("limits.high.soft", 1.5.into()),
            ("names", vec!["a", "5"].into()),
            ("none", ParameterValue::StringArray(vec![])),
            ("text", "0x10".into()),
            ("lines", "a\nb".into()),
        ];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value));
        let expected = "/robot/arm:\n  ros__parameters:\n    limits:\n      high:\n        soft: 1.5\n      low: 5\n    \
                        lines: \"a\\nb\"\n    names:\n    - a\n    - '5'\n    none: []\n    text: '0x10'\n    \
                        use_sim_time: false\n";
        assert_eq!(file_text("/robot/arm", &parameters), expected);
        assert_eq!(file_text("/a", &[]), "/a:\n  ros__parameters: {}\n");
    }

    #[test]
    fn name_may_be_prefix_of_another() {
        let parameters = [("a".to_owned(), ParameterValue::from(1)), ("a.b".to_owned(), 2.into())];
        assert_eq!(file_text("/n", &parameters), "/n:\n  ros__parameters:\n    a: 1\n    a.b: 2\n");
    }
}
