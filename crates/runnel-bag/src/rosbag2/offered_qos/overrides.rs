//! Files of overrides.

use std::collections::BTreeMap;

use runnel_core::qos::QoS;
use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::super::yaml::text;
use super::profile::{policies, set_policy, text_of};
use crate::Error;

/// The profiles of a file of overrides by the absolute names of their topics. Policies that are missing are those of
/// [`QoS::default`], as in `ros2 bag`:
///
/// ```
/// # use runnel_bag::rosbag2::offered_qos::overrides_from_yaml;
/// # use runnel_core::qos::QoS;
/// let overrides = overrides_from_yaml("/scan:\n  reliability: best_effort\n  depth: 3\n")?;
/// assert_eq!(overrides["/scan"], QoS::keep_last(3).best_effort());
/// # Ok::<(), runnel_bag::Error>(())
/// ```
///
/// # Errors
/// [`Error::Metadata`], which names line, topic and policy, if the text is not a YAML mapping of topics to profiles, or if
/// a policy or its value is unknown.
pub fn overrides_from_yaml(text: &str) -> Result<BTreeMap<String, QoS>, Error> {
    let documents = parse_documents(text).map_err(|error| Error::Metadata(error.to_string()))?;
    match documents.into_iter().next().map(|document| document.value) {
        None => Ok(BTreeMap::new()),
        Some(YamlValue::Plain(text)) if text.is_empty() => Ok(BTreeMap::new()),
        Some(YamlValue::Mapping(topics)) => {
            topics.iter().map(|(topic, node)| read(text, topic, node)).collect()
        }
        Some(_) => Err(Error::Metadata("not a mapping of topics to QoS profiles".to_owned())),
    }
}

fn read(file: &str, topic: &YamlNode, node: &YamlNode) -> Result<(String, QoS), Error> {
    let topic = text_of(topic);
    let at = |policy: &str, reason: String| {
        let line = line_of(file, topic, policy).map(|line| format!("line {line}: ")).unwrap_or_default();
        Error::Metadata(format!("{line}QoS of topic {topic}: {reason}"))
    };
    if !topic.starts_with('/') {
        return Err(at("", format!("not an absolute name. Try: /{topic}")));
    }
    let mut qos = QoS::default();
    for (policy, value) in policies(node).map_err(|error| at("", error.to_string()))? {
        let policy = text_of(policy);
        set_policy(&mut qos, policy, value).ok_or_else(|| {
            let value = text(value).map_or_else(|| "this value".to_owned(), |text| format!("{text:?}"));
            at(policy, format!("policy {policy}: {value} is not supported. Try: {}", accepted(policy)))
        })?;
    }
    Ok((topic.to_owned(), qos))
}

/// What may be written for a policy, or the policies in place of an unknown one.
fn accepted(policy: &str) -> &'static str {
    match policy {
        "history" => "keep_last or keep_all",
        "reliability" => "reliable or best_effort",
        "durability" => "volatile or transient_local",
        "liveliness" => "automatic or manual_by_topic",
        "depth" => "a whole number",
        "deadline" | "lifespan" | "liveliness_lease_duration" => "{sec: 1, nsec: 0}",
        "avoid_ros_namespace_conventions" => "false",
        _ => {
            "history, depth, reliability, durability, deadline, lifespan, liveliness or liveliness_lease_duration"
        }
    }
}

/// The line of a topic's policy, or of the topic if `policy` is empty: the first one that names it.
fn line_of(file: &str, topic: &str, policy: &str) -> Option<usize> {
    let names = |line: &str, key: &str| {
        let is_key = |part: &str| part.trim().trim_matches(['"', '\'', '{']).trim() == key;
        line.split(',').any(|part| part.split(':').any(is_key))
    };
    let mut lines = file.lines().zip(1..).skip_while(|(line, _)| !names(line, topic));
    let first = lines.next()?;
    if policy.is_empty() || names(first.0, policy) {
        return Some(first.1);
    }
    lines.find(|(line, _)| names(line, policy)).map(|(_, number)| number)
}
