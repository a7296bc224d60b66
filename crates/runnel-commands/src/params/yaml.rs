//! Parameters as YAML and JSON.

use std::collections::BTreeMap;

use runnel::XmlRpcValue;
use runnel::core::sanitize;
use runnel::core::yaml::place_of;
use serde_json::{Value as Json, json};

use super::read::{self, Yaml};
use super::{block_style, pyyaml};
use crate::error::CliError;

/// What to type in place of nothing.
const EMPTY_TEXT: &str = ". Try: '' in YAML for an empty text";

/// Most bytes of YAML text.
const MAX_TEXT: usize = 16 << 20;

/// The value of a text.
///
/// # Errors
/// When it is not one YAML document, or holds a value that no parameter can have.
pub fn from_text(text: &str) -> Result<XmlRpcValue, CliError> {
    let documents = <[XmlRpcValue; 1]>::try_from(documents(text)?);
    let [value] = documents
        .map_err(|other| CliError::Usage(format!("expected one YAML document, found {}", other.len())))?;
    Ok(value)
}

/// The values of all documents of a text.
///
/// # Errors
/// As [`from_text`].
pub fn documents(text: &str) -> Result<Vec<XmlRpcValue>, CliError> {
    if text.len() > MAX_TEXT {
        return Err(CliError::Usage(format!("the YAML text exceeds {MAX_TEXT} bytes")));
    }
    let documents = read::documents(text).map_err(|error| CliError::Usage(format!("not YAML: {error}")))?;
    let value = |(number, yaml)| {
        from_yaml(yaml, &mut Vec::new()).map_err(|error| CliError::Usage(error.within(text, number)))
    };
    documents.into_iter().enumerate().map(value).collect()
}

/// Why a value cannot be that of a parameter.
struct ValueError {
    /// The names and indices that lead to it.
    path: Vec<String>,
    why: String,
}

impl ValueError {
    /// The error in a document of a text, which is named by its line if there are several.
    fn within(&self, text: &str, document: usize) -> String {
        let Self { path, why } = self;
        let is_file = text.trim_end().contains('\n');
        let place = if is_file { place_of(text, document, path) } else { None };
        let line = place.map_or_else(String::new, |(line, _)| format!("line {line}: "));
        let mut name = String::new();
        for step in path {
            match step.parse::<usize>() {
                Ok(index) => name += &format!("[{index}]"),
                Err(_) if name.is_empty() => name += step,
                Err(_) => name += &format!(".{step}"),
            }
        }
        if name.is_empty() { format!("{line}{why}") } else { format!("{line}{name}: {why}") }
    }
}

fn from_yaml(yaml: Yaml, path: &mut Vec<String>) -> Result<XmlRpcValue, ValueError> {
    let error = |path: &[String], why: String| ValueError { path: path.to_vec(), why };
    Ok(match yaml {
        Yaml::Null => return Err(error(path, format!("a parameter cannot be null{EMPTY_TEXT}"))),
        Yaml::Bool(truth) => truth.into(),
        Yaml::Int(number) => i32::try_from(number)
            .map_err(|_| {
                let why = format!("{number} does not fit into 32 bits, the size of an integer parameter");
                error(path, why)
            })?
            .into(),
        Yaml::Float(number) => number.into(),
        Yaml::Text(text) => text.into(),
        Yaml::List(elements) => {
            let mut values = Vec::with_capacity(elements.len());
            for (index, element) in elements.into_iter().enumerate() {
                values.push(below(path, index.to_string(), element)?);
            }
            XmlRpcValue::Array(values)
        }
        Yaml::Mapping(members) => {
            let mut map = BTreeMap::new();
            for (key, value) in members {
                let key =
                    key_text(&key).ok_or_else(|| error(path, format!("{key:?} is not a valid name")))?;
                let value = below(path, key.clone(), value)?;
                map.insert(key, value);
            }
            XmlRpcValue::Struct(map)
        }
        Yaml::Tagged(tag) => return Err(error(path, format!("unknown tag {tag}"))),
    })
}

/// The value of a member or an element.
fn below(path: &mut Vec<String>, step: String, yaml: Yaml) -> Result<XmlRpcValue, ValueError> {
    path.push(step);
    let value = from_yaml(yaml, path)?;
    path.pop();
    Ok(value)
}

/// The name of a key.
fn key_text(key: &Yaml) -> Option<String> {
    match key {
        Yaml::Text(text) => Some(text.clone()),
        Yaml::Int(number) => Some(number.to_string()),
        Yaml::Float(number) => Some(block_style::float(*number)),
        Yaml::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The value as YAML.
///
/// # Errors
/// None for values of a parameter server.
pub fn to_text(value: &XmlRpcValue) -> Result<String, CliError> {
    let text = block_style::dump(value);
    // Text blocks have no escapes, so other unsafe characters need PyYAML's form.
    let is_unsafe = |character: char| sanitize::is_unsafe(character) && character != '\n';
    Ok(if text.contains(is_unsafe) { pyyaml::dump(&without_bytes(value)) } else { text })
}

/// The value with bytes as a list of numbers, as in [`block_style`].
fn without_bytes(value: &XmlRpcValue) -> XmlRpcValue {
    match value {
        XmlRpcValue::Binary(bytes) => {
            bytes.iter().map(|byte| i32::from(*byte).into()).collect::<Vec<_>>().into()
        }
        XmlRpcValue::Array(elements) => XmlRpcValue::Array(elements.iter().map(without_bytes).collect()),
        XmlRpcValue::Struct(members) => {
            let member = |(name, value): (&String, &XmlRpcValue)| (name.clone(), without_bytes(value));
            XmlRpcValue::Struct(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

/// The value as JSON.
pub fn to_json(value: &XmlRpcValue) -> Json {
    match value {
        XmlRpcValue::Int(number) => json!(number),
        XmlRpcValue::Bool(truth) => json!(truth),
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => json!(text),
        // JSON has no number for these.
        XmlRpcValue::Double(number) if !number.is_finite() => json!(number.to_string()),
        XmlRpcValue::Double(number) => json!(number),
        XmlRpcValue::Binary(bytes) => json!(bytes),
        XmlRpcValue::Array(elements) => elements.iter().map(to_json).collect(),
        XmlRpcValue::Struct(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), to_json(value))).collect())
        }
    }
}

/// The leaves that a file sets, with full names, so that other parameters in between stay.
///
/// # Errors
/// When the value has no names.
pub fn leaves(namespace: &str, value: XmlRpcValue) -> Result<Vec<(String, XmlRpcValue)>, String> {
    let XmlRpcValue::Struct(members) = value else { return Err("it holds no names with values".into()) };
    let mut leaves = Vec::new();
    for (name, value) in members {
        let name = match name.strip_prefix('/') {
            Some(absolute) => format!("/{absolute}"),
            None => format!("{}/{name}", namespace.trim_end_matches('/')),
        };
        match value {
            XmlRpcValue::Struct(members) if !members.is_empty() => {
                leaves.extend(self::leaves(&name, XmlRpcValue::Struct(members))?);
            }
            value => leaves.push((name, value)),
        }
    }
    Ok(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_read_back() {
        for one in ('\0'..='\u{2100}').filter(|one| sanitize::is_unsafe(*one)) {
            let texts = [format!("{one}"), format!("a: {one}b"), format!("a\n{one}b"), format!("- '{one}")];
            let list: Vec<XmlRpcValue> = texts.iter().map(|text| text.as_str().into()).collect();
            let members = [(format!("k{one}"), XmlRpcValue::Array(list)), ("b".to_owned(), 1.into())];
            let value = XmlRpcValue::Struct(members.into());
            let text = to_text(&value).expect("YAML");
            let is_raw = |one| sanitize::is_unsafe(one) && one != '\n';
            assert!(!text.contains(is_raw), "{text:?}");
            assert_eq!(from_text(&text).expect("YAML"), value, "{text}");
        }
    }

    #[test]
    fn text_of_every_kind_reads_back() {
        let texts = [
            "yes",
            "a\nb",
            "a\nb\n",
            "a\n\n",
            "\n",
            "\n\n",
            " a\nb",
            "\na",
            "a \nb ",
            "- a\n  b",
            "a: b\n# c",
            "? a",
            "é\nü",
            "'",
            "\"",
            "\\",
            "#",
            "key: [",
            "{",
            "...",
            "---\na",
            "<<",
            "=",
            "1:30",
            "2020-01-01",
            "!a",
            "&a",
            "*a",
        ];
        let list = XmlRpcValue::Array(texts.map(XmlRpcValue::from).into());
        let members = texts.map(|text| (text.to_owned(), list.clone()));
        let value = XmlRpcValue::Struct(members.into());
        let text = to_text(&value).expect("YAML");
        assert_eq!(from_text(&text).expect("YAML"), value, "{text}");
        let long = XmlRpcValue::Struct([("k".repeat(2000), 1.into())].into());
        assert_eq!(from_text(&to_text(&long).expect("YAML")).expect("YAML"), long);
    }

    #[test]
    fn values_are_read_and_written_unchanged() {
        for text in ["5\n", "0.5\n", "true\n", "adam\n", "- 1\n- two\n", "a:\n  b: 1\nc: ''\n", "'5'\n"] {
            let value = from_text(text).expect("a value");
            assert_eq!(to_text(&value).expect("YAML"), text);
        }
    }

    #[test]
    fn invalid_parameter_value_is_named() {
        for (text, expected) in [
            ("a: {b: null}", "a.b: a parameter cannot be null"),
            ("rate: 5\nlimits:\n  left:\n  right: 1\n", "line 3: limits.left: a parameter cannot be null"),
            ("a: 1\nb: [1,\n  3000000000]\n", "line 3: b[1]: 3000000000 does not fit"),
            ("[1, 3000000000]", "[1]: 3000000000 does not fit into 32 bits"),
            ("9223372036854775808", "9223372036854775808 does not fit into 32 bits"),
            ("? [1]\n: 2", "is not a valid name"),
            ("!odd 1", "unknown tag !odd"),
            ("a: [", "not YAML"),
        ] {
            let error = from_text(text).expect_err("refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn file_sets_only_leaves() {
        let value = from_text("a: {b: 1, c: {}}\n/d: 2").expect("a value");
        let leaves = leaves("/robot", value).expect("names");
        let names: Vec<&str> = leaves.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["/d", "/robot/a/b", "/robot/a/c"]);
    }
}
