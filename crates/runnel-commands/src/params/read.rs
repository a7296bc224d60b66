//! YAML as ROS reads parameters: by the rules of YAML 1.1, where `yes` is a truth value, and with angles.

use std::f64::consts::PI;
use std::fmt;

use runnel::core::yaml::{parse_yaml_bool, parse_yaml_int};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_yaml_ng::Value as Yaml;
use serde_yaml_ng::value::{Tag, TaggedValue};

/// The documents of a text.
///
/// # Errors
/// When it is not YAML.
pub fn documents(text: &str) -> Result<Vec<Yaml>, serde_yaml_ng::Error> {
    let document = |document| Node { text }.deserialize::<serde_yaml_ng::Deserializer<'_>>(document);
    serde_yaml_ng::Deserializer::from_str(text).map(document).collect()
}

/// A value in a text. The parser says what it takes unquoted text for by YAML 1.2, where fewer words mean something.
#[derive(Clone, Copy)]
struct Node<'t> {
    text: &'t str,
}

impl Node<'_> {
    /// True if a part of the text stands in quotes.
    fn is_quoted(self, part: &str) -> bool {
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let before = start.checked_sub(1).and_then(|before| self.text.as_bytes().get(before));
        matches!(before, Some(b'\'' | b'"'))
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Yaml;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Yaml, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Yaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    /// A text with nothing in it.
    fn visit_none<E: Error>(self) -> Result<Yaml, E> {
        Ok(Yaml::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Yaml, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Yaml, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Yaml, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Yaml, E> {
        Ok(value.into())
    }

    /// Text that is not written as it is meant, so it is quoted or stands in a block.
    fn visit_str<E: Error>(self, value: &str) -> Result<Yaml, E> {
        Ok(value.into())
    }

    /// Text as it is written, in quotes or not.
    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Yaml, E> {
        Ok(if self.is_quoted(value) { value.into() } else { unquoted(value) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Yaml, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Yaml::Sequence(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Yaml, A::Error> {
        let mut members = serde_yaml_ng::Mapping::new();
        while let Some(key) = map.next_key_seed(self)? {
            members.insert(key, map.next_value_seed(self)?);
        }
        Ok(Yaml::Mapping(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Yaml, A::Error> {
        let (tag, value) = tagged.variant::<String>()?;
        let value = value.newtype_variant_seed(self)?;
        let angle = angle_text(&value).and_then(|text| match tag.as_str() {
            "degrees" | "!degrees" => degrees(&text),
            "radians" | "!radians" => radians(&text),
            _ => None,
        });
        Ok(match angle {
            Some(angle) => angle.into(),
            None => Yaml::Tagged(Box::new(TaggedValue { tag: Tag::new(tag), value })),
        })
    }
}

/// What unquoted text means that YAML 1.2 takes for text.
fn unquoted(text: &str) -> Yaml {
    if let Some(truth) = parse_yaml_bool(text) {
        return truth.into();
    }
    if let Some(whole) = parse_yaml_int(text) {
        // What is longer than a parameter can be is refused later.
        return i64::try_from(whole)
            .map_or_else(|_| u64::try_from(whole).unwrap_or(u64::MAX).into(), Yaml::from);
    }
    let within = |word: &str| text.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    let angle = within("deg").and_then(degrees).or_else(|| within("rad").and_then(radians));
    angle.map_or_else(|| text.into(), Yaml::from)
}

fn angle_text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::Number(number) => Some(number.to_string()),
        Yaml::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// An angle in degrees, in radians.
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

    #[test]
    fn unquoted_words_mean_what_they_do_in_yaml_1_1() {
        let text =
            "{a: yes, b: 'yes', c: \"no\", d: [off, 'off'], e: 017, f: 1_000, g: text, h: '017', i: true}";
        let expected =
            "{a: true, b: 'yes', c: 'no', d: [false, 'off'], e: 15, f: 1000, g: text, h: '017', i: true}";
        assert_eq!(one(text), serde_yaml_ng::from_str::<Yaml>(expected).expect("YAML"));
        assert_eq!(one("on"), Yaml::from(true));
        assert_eq!(one("'on'"), Yaml::from("on"));
        assert_eq!(one("a: |\n  yes\n"), serde_yaml_ng::from_str::<Yaml>("a: \"yes\\n\"").expect("YAML"));
        assert_eq!(one("- &x yes\n- *x\n"), Yaml::Sequence(vec![true.into(), true.into()]));
    }

    #[test]
    fn angles_are_numbers() {
        assert_eq!(one("deg(180)"), Yaml::from(PI));
        assert_eq!(one("!degrees 90"), Yaml::from(PI / 2.0));
        assert_eq!(one("rad(2*pi)"), Yaml::from(2.0 * PI));
        assert_eq!(one("!radians -pi/2"), Yaml::from(-PI / 2.0));
        assert_eq!(one("'deg(180)'"), Yaml::from("deg(180)"));
        for text in ["rad(pi+1)", "rad(2*)", "deg(x)", "rad()", "rad(__import__)"] {
            assert_eq!(one(text), Yaml::from(text), "nothing is evaluated");
        }
    }

    #[test]
    fn documents_stand_between_rules() {
        assert_eq!(documents("a: 1\n---\nb: 2\n").expect("YAML").len(), 2);
        assert!(documents("a: [").is_err());
    }
}
