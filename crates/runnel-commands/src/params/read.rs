//! YAML as ROS reads parameters: by the rules of YAML 1.1, where `yes` is a boolean, with merged mappings and angles.
//!
//! Source: the tag repository of YAML 1.1 (bool, int, merge), as PyYAML applies it; `rosparam`'s angles.

use std::f64::consts::PI;

use runnel::core::yaml::{
    Plain, YamlError, YamlNode, YamlValue, parse_documents, parse_yaml_bool, parse_yaml_int, plain_value,
};

/// A value as ROS reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number with a point.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Yaml>),
    /// A mapping. If a name occurs twice, the later member counts.
    Mapping(Vec<(Yaml, Yaml)>),
    /// A value with an unknown or unsuitable tag.
    Tagged(String),
}

/// The documents of a text.
///
/// # Errors
/// When it is not YAML, or exceeds the limits.
pub fn documents(text: &str) -> Result<Vec<Yaml>, YamlError> {
    Ok(parse_documents(text)?.into_iter().map(value).collect())
}

fn value(node: YamlNode) -> Yaml {
    if let Some(tag) = node.tag {
        return tagged(tag, node.value);
    }
    match node.value {
        YamlValue::Plain(text) => unquoted(&text),
        YamlValue::Quoted(text) => Yaml::Text(text),
        YamlValue::List(elements) => Yaml::List(elements.into_iter().map(value).collect()),
        YamlValue::Mapping(members) => mapping(members),
    }
}

fn tagged(tag: String, node: YamlValue) -> Yaml {
    match (tag.as_str(), node) {
        ("!degrees", YamlValue::Plain(text) | YamlValue::Quoted(text)) => degrees(&text).map(Yaml::Float),
        ("!radians", YamlValue::Plain(text) | YamlValue::Quoted(text)) => radians(&text).map(Yaml::Float),
        ("!" | "!!str", YamlValue::Plain(text) | YamlValue::Quoted(text)) => Some(Yaml::Text(text)),
        ("!!null" | "!!bool" | "!!int" | "!!float", YamlValue::Plain(text) | YamlValue::Quoted(text)) => {
            Some(unquoted(&text)).filter(|value| value.tag() == tag)
        }
        ("!" | "!!seq", node @ YamlValue::List(_)) | ("!" | "!!map", node @ YamlValue::Mapping(_)) => {
            Some(value(YamlNode { tag: None, value: node }))
        }
        _ => None,
    }
    .unwrap_or(Yaml::Tagged(tag))
}

impl Yaml {
    /// The tag of the value's type.
    fn tag(&self) -> &str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Int(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Text(_) => "!!str",
            Self::List(_) => "!!seq",
            Self::Mapping(_) => "!!map",
            Self::Tagged(tag) => tag,
        }
    }
}

/// A mapping. Members of mappings at the key `<<` come first, so that its own override them.
fn mapping(members: Vec<(YamlNode, YamlNode)>) -> Yaml {
    let is_merge = |key: &YamlNode| key.tag.is_none() && key.value == YamlValue::Plain("<<".into());
    let (merges, own): (Vec<_>, Vec<_>) = members.into_iter().partition(|(key, _)| is_merge(key));
    let mut all = Vec::new();
    for (key, merged) in merges {
        let merged = match value(merged) {
            Yaml::List(mappings) => mappings,
            other => vec![other],
        };
        // The first mapping of a list overrides the others.
        for mapping in merged.into_iter().rev() {
            match mapping {
                Yaml::Mapping(members) => all.extend(members),
                other => all.push((value(key.clone()), other)),
            }
        }
    }
    all.extend(own.into_iter().map(|(key, member)| (value(key), value(member))));
    Yaml::Mapping(all)
}

/// The value of unquoted text.
pub fn unquoted(text: &str) -> Yaml {
    match plain_value(text) {
        Plain::Null => Yaml::Null,
        Plain::Bool(truth) => Yaml::Bool(truth),
        Plain::Int(number) => Yaml::Int(number),
        Plain::Float(number) => Yaml::Float(number),
        Plain::Text(text) => of_yaml_1_1(text),
    }
}

/// The value of unquoted text that is text in YAML 1.2.
fn of_yaml_1_1(text: &str) -> Yaml {
    if let Some(truth) = parse_yaml_bool(text) {
        return Yaml::Bool(truth);
    }
    if let Some(number) = parse_yaml_int(text) {
        return Yaml::Int(number);
    }
    let within = |word: &str| text.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    let angle = within("deg").and_then(degrees).or_else(|| within("rad").and_then(radians));
    angle.map_or_else(|| Yaml::Text(text.to_owned()), Yaml::Float)
}

/// An angle in degrees, converted to radians.
fn degrees(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().map(|degrees| degrees * PI / 180.0)
}

/// Numbers and `pi`, multiplied and divided: `2*pi`, `-pi/2`.
fn radians(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |text| (-1.0, text));
    let mut product = sign;
    let mut divides = false;
    for factor in text.split_inclusive(['*', '/']) {
        let (number, operator) = match factor.strip_suffix(['*', '/']) {
            Some(number) => (number, factor.chars().last()),
            None => (factor, None),
        };
        let number = if number.trim() == "pi" { PI } else { number.trim().parse().ok()? };
        product = if divides { product / number } else { product * number };
        divides = operator == Some('/');
    }
    let complete = !text.is_empty() && !text.ends_with(['*', '/']);
    Some(product).filter(|_| complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Yaml {
        documents(text).expect("YAML").remove(0)
    }

    fn text(text: &str) -> Yaml {
        Yaml::Text(text.to_owned())
    }

    #[test]
    fn unquoted_words_follow_yaml_1_1() {
        let words =
            "{a: yes, b: 'yes', c: \"no\", d: [off, 'off'], e: 017, f: 1_000, g: text, h: '017', i: true}";
        let expected =
            "{a: true, b: 'yes', c: 'no', d: [false, 'off'], e: 15, f: 1000, g: text, h: '017', i: true}";
        assert_eq!(one(words), one(expected));
        assert_eq!(one("on"), Yaml::Bool(true));
        assert_eq!(one("'on'"), text("on"));
        assert_eq!(one("a: |\n  yes\n"), Yaml::Mapping(vec![(text("a"), text("yes\n"))]));
        assert_eq!(one("- &x yes\n- *x\n"), Yaml::List(vec![Yaml::Bool(true), Yaml::Bool(true)]));
    }

    #[test]
    fn angles_are_numbers() {
        assert_eq!(one("deg(180)"), Yaml::Float(PI));
        assert_eq!(one("!degrees 90"), Yaml::Float(PI / 2.0));
        assert_eq!(one("rad(2*pi)"), Yaml::Float(2.0 * PI));
        assert_eq!(one("!radians -pi/2"), Yaml::Float(-PI / 2.0));
        assert_eq!(one("'deg(180)'"), text("deg(180)"));
        for word in ["rad(pi+1)", "rad(2*)", "deg(x)", "rad()", "rad(__import__)"] {
            assert_eq!(one(word), text(word), "nothing is evaluated");
        }
    }

    #[test]
    fn documents_are_separated_by_rules() {
        assert_eq!(documents("a: 1\n---\nb: 2\n").expect("YAML").len(), 2);
        assert!(documents("a: [").is_err());
    }

    #[test]
    fn merged_members_have_the_right_precedence() {
        let members = |document: &str| {
            let Yaml::Mapping(members) = one(document) else { panic!("no mapping") };
            members.into_iter().collect::<Vec<_>>()
        };
        let of_two = members("{<<: [{x: 1, y: 1}, {x: 2, z: 2}], z: 3}");
        let last = |name: &str| of_two.iter().rfind(|(key, _)| *key == text(name)).map(|(_, value)| value);
        assert_eq!(last("x"), Some(&Yaml::Int(1)));
        assert_eq!(last("y"), Some(&Yaml::Int(1)));
        assert_eq!(last("z"), Some(&Yaml::Int(3)));
        let alias = one("- &base {x: 1}\n- <<: *base\n  y: 2\n");
        let Yaml::List(elements) = alias else { panic!("no list") };
        assert_eq!(elements[1], one("{x: 1, y: 2}"));
        assert_eq!(members("{'<<': {x: 1}}"), [(text("<<"), one("{x: 1}"))]);
    }

    #[test]
    fn tags_select_the_value_of_text() {
        assert_eq!(one("!!str 5"), text("5"));
        assert_eq!(one("!!int '5'"), Yaml::Int(5));
        assert_eq!(one("!!int five"), Yaml::Tagged("!!int".into()));
        assert_eq!(one("!odd [1]"), Yaml::Tagged("!odd".into()));
    }
}
