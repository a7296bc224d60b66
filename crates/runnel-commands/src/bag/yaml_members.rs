//! Values of a YAML mapping.

use runnel::core::yaml::{Plain, YamlNode, YamlValue, parse_yaml_bool, plain_value};

/// A key and its value.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    pub key: &'a str,
    value: &'a YamlNode,
}

/// The members of a mapping.
///
/// # Errors
/// What is expected, for another value, and for a key that is no text. The same holds for all methods.
pub fn members(node: &YamlNode) -> Result<Vec<Member<'_>>, String> {
    let YamlValue::Mapping(members) = &node.value else { return Err("expected a mapping".to_owned()) };
    let key = |key| text(key).ok_or_else(|| "expected text as key".to_owned());
    members.iter().map(|(name, value)| Ok(Member { key: key(name)?, value })).collect()
}

impl<'a> Member<'a> {
    /// Whether nothing is written behind the key: the default counts.
    pub fn is_null(self) -> bool {
        matches!(&self.value.value, YamlValue::Plain(text) if plain_value(text) == Plain::Null)
    }

    pub fn text(self) -> Result<&'a str, String> {
        text(self.value).ok_or_else(|| self.expected("text"))
    }

    pub fn truth(self) -> Result<bool, String> {
        text(self.value).and_then(parse_yaml_bool).ok_or_else(|| self.expected("true or false"))
    }

    pub fn number(self) -> Result<u64, String> {
        let number = match text(self.value).map(plain_value) {
            Some(Plain::Int(number)) => u64::try_from(number).ok(),
            _ => None,
        };
        number.ok_or_else(|| self.expected("a whole number, from 0 on"))
    }

    pub fn list(self) -> Result<&'a [YamlNode], String> {
        match &self.value.value {
            YamlValue::List(elements) => Ok(elements),
            _ => Err(self.expected("a list")),
        }
    }

    pub fn texts(self) -> Result<Vec<String>, String> {
        let texts = texts(self.value).ok_or_else(|| self.expected("a list of texts"))?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    }

    /// The members of a mapping whose values are texts.
    pub fn mapping<T: FromIterator<(String, String)>>(self) -> Result<T, String> {
        let members = members(self.value).map_err(|_| self.expected("a mapping of texts"))?;
        members.iter().map(|member| Ok((member.key.to_owned(), member.text()?.to_owned()))).collect()
    }

    fn expected(self, what: &str) -> String {
        format!("{}: expected {what}", self.key)
    }
}

/// The elements of a list of texts.
pub fn texts(node: &YamlNode) -> Option<Vec<&str>> {
    match &node.value {
        YamlValue::List(elements) => elements.iter().map(text).collect(),
        _ => None,
    }
}

fn text(node: &YamlNode) -> Option<&str> {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => Some(text),
        _ => None,
    }
}
