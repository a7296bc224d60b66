//! Files with the QoS of topics, as `--qos-profile-overrides-path` of `ros2 bag` takes them: a mapping from topics to
//! profiles.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use runnel::core::yaml::{Plain, YamlNode, YamlValue, parse_documents, plain_value};
use runnel::{History, Liveliness, QoS};

use crate::error::CliError;

/// Profiles by topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QosOverrides(BTreeMap<String, QoS>);

impl QosOverrides {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or has anything but profiles; the error names file, line and key.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let failed = |why: String| CliError::Failed(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&text).map_err(failed)
    }

    /// The QoS for a topic, if the file has it.
    pub fn of(&self, topic: &str) -> Option<QoS> {
        self.0.get(topic).copied()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let documents = parse_documents(text).map_err(|error| error.to_string())?;
        let topics = match documents.first().map(|document| &document.value) {
            Some(YamlValue::Mapping(topics)) => topics,
            _ => return Err("not a mapping from topics to QoS profiles".into()),
        };
        let mut profiles = BTreeMap::new();
        for (topic, policies) in topics {
            let topic = scalar(topic);
            let at = |key: &str, why: String| match line_of(text, topic, key) {
                Some(line) => format!("line {line}: topic {topic}: {why}"),
                None => format!("topic {topic}: {why}"),
            };
            let YamlValue::Mapping(policies) = &policies.value else {
                return Err(at("", "its QoS is not a mapping from policies to values".into()));
            };
            let mut profile = Profile::default();
            for (key, value) in policies {
                let key = scalar(key);
                profile.set(key, value).map_err(|why| at(key, format!("{key}: {why}")))?;
            }
            profiles.insert(absolute(topic), profile.qos);
        }
        Ok(Self(profiles))
    }
}

/// A profile while it is read.
#[derive(Default)]
struct Profile {
    qos: QoS,
}

impl Profile {
    fn set(&mut self, key: &str, value: &YamlNode) -> Result<(), String> {
        let qos = self.qos;
        self.qos = match key {
            "history" => match word(value, &["keep_last", "keep_all", "system_default"])? {
                1 => QoS { history: History::KeepAll, ..qos },
                _ => QoS { history: History::KeepLast, ..qos },
            },
            "depth" => match usize::try_from(number(value)?) {
                Ok(0) => qos,
                Ok(depth) => QoS { depth, ..qos },
                Err(_) => return Err("must be a whole number".into()),
            },
            "reliability" => match word(value, &["reliable", "best_effort", "system_default"])? {
                1 => qos.best_effort(),
                _ => qos.reliable(),
            },
            "durability" => match word(value, &["volatile", "transient_local", "system_default"])? {
                1 => qos.transient_local(),
                _ => qos,
            },
            "liveliness" => match word(value, &["automatic", "manual_by_topic", "system_default"])? {
                1 => qos.liveliness(Liveliness::ManualByTopic, qos.liveliness_lease),
                _ => qos,
            },
            "deadline" => qos.deadline(duration(value)?),
            "lifespan" => qos.lifespan(duration(value)?),
            "liveliness_lease_duration" => {
                qos.liveliness(qos.liveliness, QoS::default().lifespan(duration(value)?).lifespan)
            }
            "avoid_ros_namespace_conventions" => match scalar(value) {
                "false" | "False" => qos,
                _ => return Err("topics outside of ROS are not supported. Try: false".into()),
            },
            _ => {
                return Err("is not a QoS policy. Try: history, depth, reliability, durability, deadline, \
                            lifespan, liveliness or liveliness_lease_duration"
                    .into());
            }
        };
        Ok(())
    }
}

/// The position of a value among these words.
fn word(value: &YamlNode, words: &[&str]) -> Result<usize, String> {
    let typed = scalar(value);
    let found = words.iter().position(|word| *word == typed);
    found.ok_or_else(|| format!("{typed:?} is not known. Try: {}", words.join(", ")))
}

fn number(value: &YamlNode) -> Result<u64, String> {
    let number = match plain_value(scalar(value)) {
        Plain::Int(number) => u64::try_from(number).ok(),
        _ => None,
    };
    number.ok_or_else(|| "must be a whole number that is not negative".to_owned())
}

/// A duration of members `sec` and `nsec`.
fn duration(value: &YamlNode) -> Result<Duration, String> {
    let expected = || "must have sec and nsec, whole numbers that are not negative".to_owned();
    let YamlValue::Mapping(members) = &value.value else { return Err(expected()) };
    let member = |name: &str| {
        let found = members.iter().find(|(key, _)| scalar(key) == name);
        found.ok_or_else(expected).and_then(|(_, value)| number(value).map_err(|_| expected()))
    };
    if members.len() > 2 {
        return Err(expected());
    }
    Ok(Duration::from_secs(member("sec")?).saturating_add(Duration::from_nanos(member("nsec")?)))
}

/// The text of a scalar; empty for lists and mappings.
fn scalar(node: &YamlNode) -> &str {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => text,
        _ => "",
    }
}

fn absolute(topic: &str) -> String {
    if topic.starts_with('/') { topic.to_owned() } else { format!("/{topic}") }
}

/// The line of a topic's policy, or of the topic if `policy` is empty: the first one that names it.
fn line_of(text: &str, topic: &str, policy: &str) -> Option<usize> {
    let names = |line: &str, key: &str| {
        let key_of = |part: &str| part.trim().trim_matches(['"', '\'', '{']).trim() == key;
        line.split(',').any(|part| part.split(':').any(key_of))
    };
    let mut lines = text.lines().zip(1..).skip_while(|(line, _)| !names(line, topic));
    let first = lines.next()?;
    if policy.is_empty() || names(first.0, policy) {
        return Some(first.1);
    }
    lines.find(|(line, _)| names(line, policy)).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_those_of_ros2_bag() {
        let text = "/scan:\n  reliability: best_effort\n  depth: 7\n  deadline: {sec: 1, nsec: 500000000}\n\
                    map:\n  durability: transient_local\n  history: keep_all\n";
        let overrides = QosOverrides::parse(text).expect("sound");
        let scan = QoS::keep_last(7).best_effort().deadline(Duration::from_millis(1500));
        assert_eq!(overrides.of("/scan"), Some(scan));
        let map = overrides.of("/map").expect("with a slash");
        assert!(map.is_latching() && map.history == History::KeepAll);
        assert_eq!(overrides.of("/odom"), None);
    }

    #[test]
    fn errors_name_line_and_key() {
        let why = |text: &str| QosOverrides::parse(text).expect_err(text);
        let cases = [
            ("/a:\n  depth: 1\n/b:\n  depth: x\n", "line 4: topic /b: depth: must be a whole number"),
            (
                "/a:\n  reliability: best\n",
                "line 2: topic /a: reliability: \"best\" is not known. Try: reliable",
            ),
            ("/a:\n  lifespan: 3\n", "line 2: topic /a: lifespan: must have sec and nsec"),
            ("/a:\n  deadline:\n    sec: 1\n", "line 2: topic /a: deadline: must have sec and nsec"),
            ("\n'/a': {deph: 1}\n", "line 2: topic /a: deph: is not a QoS policy"),
            ("/a: 1\n", "line 1: topic /a: its QoS is not a mapping"),
            ("- a\n", "not a mapping from topics"),
        ];
        for (text, expected) in cases {
            assert!(why(text).starts_with(expected), "{text}: {}", why(text));
        }
        assert!(why("/a: [").contains("line"), "{}", why("/a: ["));
    }
}
