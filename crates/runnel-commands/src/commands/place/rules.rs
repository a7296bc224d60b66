//! The file of rules.

use std::ops::Range;
use std::time::Duration;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::condition::{self, Comparison, Condition, Kind};
use super::duration;
use super::quantity::{Quantity, Value};

/// Conditions that a list may have, and rules, and nodes: a file is written by hand.
const MOST: usize = 100;

/// Which nodes run where.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// After how long a measured value is no longer known.
    #[serde(default = "default_stale", deserialize_with = "duration_of")]
    pub stale: Duration,
    /// The nodes.
    #[serde(rename = "node")]
    pub nodes: Vec<NodeRules>,
}

/// The rules of one node.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeRules {
    /// Its full name.
    #[serde(deserialize_with = "node_name")]
    pub name: Spanned<String>,
    /// The host where it runs when no rule applies.
    #[serde(deserialize_with = "address")]
    pub home: String,
    /// The least time between two moves.
    #[serde(default = "default_rest", deserialize_with = "duration_of")]
    pub rest: Duration,
    /// The rules. The first one that applies decides.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// When a node runs on another host.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name, which messages show.
    pub name: String,
    /// The host where the node runs while the rule applies.
    #[serde(deserialize_with = "address")]
    pub to: String,
    /// The rule begins to apply when all of these have held for some time.
    pub when: Conditions,
    /// It ends to apply when all of these have held for that time. Without any, when those of `when` do not all hold.
    pub until: Option<Spanned<Conditions>>,
    /// It does not begin to apply while all of these hold.
    pub unless: Option<Conditions>,
    /// For how long conditions must have held.
    #[serde(rename = "for", default = "default_hold", deserialize_with = "duration_of")]
    pub hold: Duration,
}

/// Conditions that must all hold: one text, or a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions(pub Vec<Condition>);

fn default_stale() -> Duration {
    Duration::from_secs(60)
}

fn default_rest() -> Duration {
    Duration::from_secs(60)
}

fn default_hold() -> Duration {
    Duration::from_secs(10)
}

impl Rules {
    /// Parses a file.
    ///
    /// # Errors
    /// The line, the key, and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules: Self = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let at = |span: Range<usize>| text[..span.start.min(text.len())].matches('\n').count() + 1;
        if rules.nodes.is_empty() {
            return Err("it has no node: begin one by [[node]]".to_owned());
        }
        for (index, node) in rules.nodes.iter().enumerate() {
            let (name, line) = (node.name.get_ref(), at(node.name.span()));
            if rules.nodes[..index].iter().any(|other| other.name.get_ref() == name) {
                return Err(format!("line {line}, name: {name} has rules before: a node has one [[node]]"));
            }
            if node.rules.is_empty() {
                return Err(format!("line {line}: {name} has no rule: begin one by [[node.rule]]"));
            }
            for rule in &node.rules {
                if let Some((until, why)) = rule.until.as_ref().zip(rule.overlap()) {
                    return Err(format!(
                        "line {}, until: rule {:?} of {name}: {why}",
                        at(until.span()),
                        rule.name
                    ));
                }
            }
        }
        Ok(rules)
    }

    /// All that is measured, each once.
    pub fn quantities(&self) -> Vec<Quantity> {
        let rules = self.nodes.iter().flat_map(|node| &node.rules);
        let conditions = rules.flat_map(Rule::conditions).flat_map(|conditions| &conditions.0);
        let mut quantities: Vec<Quantity> = conditions
            .filter_map(|condition| match &condition.kind {
                Kind::Measured { quantity, .. } => Some(quantity.clone()),
                Kind::During(_) => None,
            })
            .collect();
        quantities.sort();
        quantities.dedup();
        quantities
    }
}

impl Rule {
    /// The conditions that end the rule, if it has any.
    pub fn until(&self) -> Option<&Conditions> {
        self.until.as_ref().map(Spanned::get_ref)
    }

    fn conditions(&self) -> impl Iterator<Item = &Conditions> {
        [Some(&self.when), self.until(), self.unless.as_ref()].into_iter().flatten()
    }

    /// Why the rule would begin and end to apply with the same value, so that its node would move to and fro. Only rules with
    /// one condition each are examined.
    fn overlap(&self) -> Option<String> {
        let ([when], [until]) = (self.when.0.as_slice(), self.until()?.0.as_slice()) else { return None };
        let (of_when, below, begins) = bound(when)?;
        let (of_until, is_below, ends) = bound(until)?;
        let overlaps =
            of_when == of_until && (below == is_below || if below { ends < begins } else { ends > begins });
        overlaps.then(|| {
            format!(
                "{:?} can hold together with {:?}: choose values that leave a gap between them",
                until.text, when.text
            )
        })
    }
}

/// The quantity of a condition that is a limit, whether it is an upper one, and the limit.
fn bound(condition: &Condition) -> Option<(&Quantity, bool, f64)> {
    match &condition.kind {
        Kind::Measured { quantity, comparison, limit: Value::Number(limit) } => match comparison {
            Comparison::Below | Comparison::AtMost => Some((quantity, true, *limit)),
            Comparison::Above | Comparison::AtLeast => Some((quantity, false, *limit)),
            Comparison::Equal | Comparison::Different => None,
        },
        _ => None,
    }
}

fn duration_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    duration::parse(&String::deserialize(deserializer)?).map_err(Error::custom)
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let address = String::deserialize(deserializer)?;
    condition::check_address(&address).map_err(Error::custom)?;
    Ok(address)
}

fn node_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Spanned<String>, D::Error> {
    let name = Spanned::<String>::deserialize(deserializer)?;
    if !name.get_ref().starts_with('/') || name.get_ref().len() < 2 {
        return Err(Error::custom(format!(
            "{:?} is no full name of a node, such as \"/tracer\"",
            name.get_ref()
        )));
    }
    Ok(name)
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Conditions;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a condition, such as \"/battery percentage < 0.3\", or a list of conditions")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Conditions, E> {
                Ok(Conditions(vec![Condition::parse(text).map_err(E::custom)?]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut texts: A) -> Result<Conditions, A::Error> {
                let mut conditions = Vec::new();
                while let Some(text) = texts.next_element::<String>()? {
                    conditions.push(Condition::parse(&text).map_err(A::Error::custom)?);
                }
                if conditions.is_empty() || conditions.len() > MOST {
                    return Err(A::Error::custom(format!("a list has 1 to {MOST} conditions")));
                }
                Ok(Conditions(conditions))
            }
        }

        deserializer.deserialize_any(Texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
[[node]]
name = "/tracer"
home = "robot:7411"

[[node.rule]]
name = "battery"
to = "station:7411"
when = "/battery percentage < 0.3"
until = "/battery percentage > 0.5"
unless = ["loss station:7411 > 10 %", "time 22:00-06:00"]
for = "20 s"

[[node.rule]]
name = "load"
to = "station:7411"
when = ["cpu > 80 %"]
"#;

    #[test]
    fn file_has_rules_of_nodes() {
        let rules = Rules::parse(RULES).unwrap();
        assert_eq!(rules.stale, Duration::from_secs(60));
        let [node] = &rules.nodes[..] else { panic!("one node") };
        assert_eq!((node.name.get_ref().as_str(), node.rest), ("/tracer", Duration::from_secs(60)));
        let [battery, load] = &node.rules[..] else { panic!("two rules") };
        assert_eq!((battery.hold, load.hold), (Duration::from_secs(20), Duration::from_secs(10)));
        assert_eq!(battery.unless.as_ref().unwrap().0.len(), 2);
        assert_eq!(load.until(), None);
        let quantities: Vec<String> = rules.quantities().iter().map(Quantity::to_string).collect();
        assert_eq!(quantities, ["cpu", "loss station:7411", "/battery percentage"]);
    }

    #[test]
    fn errors_name_the_line_the_key_and_what_is_allowed() {
        for (from, to, parts) in [
            ("home = ", "hom = ", &["line 4", "hom", "expected one of", "`home`"][..]),
            ("home = \"robot:7411\"", "", &["line 2", "missing field `home`"]),
            ("\"robot:7411\"", "\"robot\"", &["line 4", "home", "such as \"station:7411\""]),
            ("\"/tracer\"", "\"tracer\"", &["line 3", "name", "such as \"/tracer\""]),
            ("\"20 s\"", "20", &["line 12", "for = 20", "expected a string"]),
            ("\"20 s\"", "\"20\"", &["line 12", "for", "such as \"500 ms\""]),
            ("percentage < 0.3", "percentage", &["line 9", "when", "it needs one of"]),
            ("\"cpu > 80 %\"", "\"gpu > 80 %\"", &["line 17", "when", "did you mean cpu?"]),
            ("[\"cpu > 80 %\"]", "[]", &["line 17", "when", "1 to 100 conditions"]),
            ("[\"cpu > 80 %\"]", "3", &["line 17", "when", "expected a condition, such as"]),
            (
                "percentage > 0.5",
                "percentage > 0.2",
                &["line 10, until: rule \"battery\" of /tracer", "leave a gap"],
            ),
            ("percentage > 0.5", "percentage < 0.5", &["line 10, until", "leave a gap"]),
            ("[[node.rule]]", "[[node.rules]]", &["line 6", "unknown field `rules`", "`rule`"]),
        ] {
            let error = Rules::parse(&RULES.replacen(from, to, 1)).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{from} -> {to}: {error}");
        }
        let twice = format!("{RULES}{RULES}");
        let error = Rules::parse(&twice).unwrap_err();
        assert!(error.starts_with("line 20, name: /tracer has rules before"), "{error}");
        assert!(Rules::parse("").unwrap_err().contains("missing field `node`"));
        assert!(Rules::parse("node = []").unwrap_err().contains("begin one by [[node]]"));
        let error = Rules::parse("[[node]]\nname = \"/a\"\nhome = \"h:1\"\nrule = []").unwrap_err();
        assert_eq!(error, "line 2: /a has no rule: begin one by [[node.rule]]");
    }
}
