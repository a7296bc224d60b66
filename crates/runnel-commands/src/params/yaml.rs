//! Parameters as YAML and JSON.

use std::collections::BTreeMap;

use runnel::XmlRpcValue;
use runnel::core::sanitize;
use serde_json::{Value as Json, json};
use serde_yaml_ng::Value as Yaml;

use super::{pyyaml, read};
use crate::error::CliError;

/// Most bytes of a text that is read.
const MAX_TEXT: usize = 16 << 20;

/// The value that a text stands for.
///
/// # Errors
/// When it is not one YAML document, or holds what no parameter can.
pub fn from_text(text: &str) -> Result<XmlRpcValue, CliError> {
    let documents = <[XmlRpcValue; 1]>::try_from(documents(text)?);
    let [value] =
        documents.map_err(|other| CliError::Usage(format!("not one YAML document, but {}", other.len())))?;
    Ok(value)
}

/// The values of all documents of a text.
///
/// # Errors
/// As [`from_text`].
pub fn documents(text: &str) -> Result<Vec<XmlRpcValue>, CliError> {
    if text.len() > MAX_TEXT {
        return Err(CliError::Usage(format!("more than {MAX_TEXT} bytes of YAML")));
    }
    let documents = read::documents(text).map_err(|error| CliError::Usage(format!("not YAML: {error}")))?;
    documents.into_iter().map(|yaml| from_yaml(yaml, "").map_err(CliError::Usage)).collect()
}

fn from_yaml(yaml: Yaml, at: &str) -> Result<XmlRpcValue, String> {
    let here = || if at.is_empty() { String::new() } else { format!("{at}: ") };
    Ok(match yaml {
        Yaml::Null => return Err(format!("{}a parameter cannot be null", here())),
        Yaml::Bool(truth) => truth.into(),
        Yaml::Number(number) => match (number.as_i64().map(i32::try_from), number.as_f64()) {
            (Some(Ok(whole)), _) => whole.into(),
            (None, Some(float)) if number.is_f64() => float.into(),
            _ => return Err(format!("{}{number} has more than 32 bits, which no parameter can", here())),
        },
        Yaml::String(text) => text.into(),
        Yaml::Sequence(elements) => {
            let element = |(index, element)| from_yaml(element, &format!("{at}[{index}]"));
            XmlRpcValue::Array(elements.into_iter().enumerate().map(element).collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(members) => {
            let mut map = BTreeMap::new();
            for (key, value) in members {
                let key = key_text(&key).ok_or_else(|| format!("{}{key:?} cannot be a name", here()))?;
                let below = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                map.insert(key, from_yaml(value, &below)?);
            }
            XmlRpcValue::Struct(map)
        }
        Yaml::Tagged(tagged) => return Err(format!("{}the tag {} is not known", here(), tagged.tag)),
    })
}

/// The name that a key stands for.
fn key_text(key: &Yaml) -> Option<String> {
    match key {
        Yaml::String(text) => Some(text.clone()),
        Yaml::Number(number) => Some(number.to_string()),
        Yaml::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The value as YAML.
///
/// # Errors
/// None that a value of a parameter server can cause.
pub fn to_text(value: &XmlRpcValue) -> Result<String, CliError> {
    let text = serde_yaml_ng::to_string(&to_yaml(value)).map_err(CliError::failed)?;
    // That writer leaves some of them unescaped, and would have what is shown of them read back as something else.
    let is_unsafe = |character: char| sanitize::is_unsafe(character) && character != '\n';
    Ok(if text.contains(is_unsafe) { pyyaml::dump(&without_bytes(value)) } else { text })
}

/// The value with bytes as a list of numbers, as [`to_yaml`] has them.
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

fn to_yaml(value: &XmlRpcValue) -> Yaml {
    match value {
        XmlRpcValue::Int(number) => Yaml::Number((*number).into()),
        XmlRpcValue::Bool(truth) => Yaml::Bool(*truth),
        XmlRpcValue::String(text) | XmlRpcValue::DateTime(text) => Yaml::String(text.clone()),
        XmlRpcValue::Double(number) => Yaml::Number((*number).into()),
        XmlRpcValue::Binary(bytes) => Yaml::Sequence(bytes.iter().map(|byte| Yaml::from(*byte)).collect()),
        XmlRpcValue::Array(elements) => Yaml::Sequence(elements.iter().map(to_yaml).collect()),
        XmlRpcValue::Struct(members) => {
            let member =
                |(name, value): (&String, &XmlRpcValue)| (Yaml::String(name.clone()), to_yaml(value));
            Yaml::Mapping(members.iter().map(member).collect())
        }
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

/// What a file sets, each with its full name, so that nothing else below the names between is touched.
///
/// # Errors
/// When the file has no names.
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
    fn yaml_of_control_characters_reads_back_and_holds_none() {
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
    fn values_are_read_and_written_as_they_are() {
        for text in ["5\n", "0.5\n", "true\n", "adam\n", "- 1\n- two\n", "a:\n  b: 1\nc: ''\n", "'5'\n"] {
            let value = from_text(text).expect("a value");
            assert_eq!(to_text(&value).expect("YAML"), text);
        }
    }

    #[test]
    fn what_no_parameter_can_be_is_named() {
        for (text, told) in [
            ("a: {b: null}", "a.b: a parameter cannot be null"),
            ("[1, 3000000000]", "[1]: 3000000000 has more than 32 bits"),
            ("9223372036854775808", "9223372036854775808 has more than 32 bits"),
            ("? [1]\n: 2", "cannot be a name"),
            ("!odd 1", "the tag !odd is not known"),
            ("a: [", "not YAML"),
        ] {
            let error = from_text(text).expect_err("refused").to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn a_file_sets_leaves_only() {
        let value = from_text("a: {b: 1, c: {}}\n/d: 2").expect("a value");
        let leaves = leaves("/robot", value).expect("names");
        let names: Vec<&str> = leaves.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["/d", "/robot/a/b", "/robot/a/c"]);
    }
}
