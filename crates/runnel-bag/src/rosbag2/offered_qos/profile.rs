//! Profiles as [`QoS`].

use std::time::Duration;

use runnel_core::qos::{History, Liveliness, QoS, Reliability};
use runnel_core::yaml::{YamlNode, YamlValue, parse_documents};

use super::super::yaml::{int, member, member_int, text};
use super::spelling::{INFINITE, word};
use crate::Error;

/// Most profiles that are read of one channel.
const MOST_PROFILES: usize = 1000;

/// The text of the profiles of a topic's publishers, each with whether its history is known: RTPS does not announce it.
pub fn to_yaml(offered: &[(QoS, bool)]) -> String {
    offered.iter().map(|(qos, has_history)| profile(qos, *has_history)).collect()
}

/// The profiles of a text. Policies that are missing or unknown are those of [`QoS::default`].
///
/// # Errors
/// [`Error::Metadata`] if the text is not a YAML list of mappings.
pub fn from_yaml(text: &str) -> Result<Vec<QoS>, Error> {
    let documents = parse_documents(text).map_err(|error| Error::Metadata(error.to_string()))?;
    let profiles = match documents.into_iter().next().map(|document| document.value) {
        Some(YamlValue::List(profiles)) => profiles,
        Some(YamlValue::Plain(text)) if text.is_empty() => Vec::new(),
        _ => return Err(Error::Metadata("not a list of QoS profiles".to_owned())),
    };
    let read = |node: &YamlNode| {
        let mut qos = QoS::default();
        for (policy, value) in policies(node)? {
            // A policy that is not known here keeps its default.
            _ = set_policy(&mut qos, text_of(policy), value);
        }
        Ok(qos)
    };
    profiles.iter().take(MOST_PROFILES).map(read).collect()
}

/// The policies of a profile.
///
/// # Errors
/// [`Error::Metadata`] if it is not a mapping.
pub(super) fn policies(profile: &YamlNode) -> Result<&[(YamlNode, YamlNode)], Error> {
    match &profile.value {
        YamlValue::Mapping(policies) => Ok(policies),
        _ => Err(Error::Metadata("a QoS profile is not a mapping".to_owned())),
    }
}

/// Sets one policy; `None` if the policy or its value is unknown.
pub(super) fn set_policy(qos: &mut QoS, policy: &str, value: &YamlNode) -> Option<()> {
    match policy {
        "depth" => match usize::try_from(int(value)?).ok()? {
            // The system's default.
            0 => {}
            depth => qos.depth = depth,
        },
        "deadline" => qos.deadline = duration(value)?,
        "lifespan" => qos.lifespan = duration(value)?,
        "liveliness_lease_duration" => qos.liveliness_lease = duration(value)?,
        "avoid_ros_namespace_conventions" => (word(policy, value)? == "false").then_some(())?,
        _ => match (policy, &*word(policy, value)?) {
            ("history", "keep_all") => qos.history = History::KeepAll,
            ("history", "keep_last") => qos.history = History::KeepLast,
            ("reliability", "reliable") => *qos = qos.reliable(),
            ("reliability", "best_effort") => *qos = qos.best_effort(),
            ("durability", "transient_local") => *qos = qos.transient_local(),
            ("durability", "volatile") => *qos = qos.volatile(),
            ("liveliness", "manual_by_topic") => qos.liveliness = Liveliness::ManualByTopic,
            ("liveliness", "automatic") => qos.liveliness = Liveliness::Automatic,
            ("history" | "reliability" | "durability" | "liveliness", "system_default" | "unknown") => {}
            _ => return None,
        },
    }
    Some(())
}

/// A duration, `None` for an infinite one, in any of the spellings of infinity. The outer `None`: it is malformed.
fn duration(node: &YamlNode) -> Option<Option<Duration>> {
    let YamlValue::Mapping(_) = &node.value else { return None };
    let number = |name| match member(node, name) {
        Some(_) => member_int(node, name).and_then(|number| u64::try_from(number).ok()),
        None => Some(0),
    };
    let time = Duration::from_secs(number("sec")?).saturating_add(Duration::from_nanos(number("nsec")?));
    Some(QoS::default().lifespan(time).lifespan)
}

pub(super) fn text_of(node: &YamlNode) -> &str {
    text(node).unwrap_or_default()
}

fn profile(qos: &QoS, has_history: bool) -> String {
    let (history, depth) = match qos.history {
        _ if !has_history => ("unknown", 0),
        History::KeepLast => ("keep_last", qos.depth),
        History::KeepAll => ("keep_all", 0),
    };
    let reliability = if qos.reliability == Reliability::Reliable { "reliable" } else { "best_effort" };
    let durability = if qos.is_latching() { "transient_local" } else { "volatile" };
    let liveliness = match qos.liveliness {
        Liveliness::Automatic => "automatic",
        Liveliness::ManualByTopic => "manual_by_topic",
    };
    let [deadline, lifespan, lease] = [qos.deadline, qos.lifespan, qos.liveliness_lease].map(members);
    format!(
        "- history: {history}\n  depth: {depth}\n  reliability: {reliability}\n  durability: {durability}\n  \
         deadline:\n{deadline}  lifespan:\n{lifespan}  liveliness: {liveliness}\n  \
         liveliness_lease_duration:\n{lease}  avoid_ros_namespace_conventions: false\n"
    )
}

/// Seconds and nanoseconds of a duration.
fn members(duration: Option<Duration>) -> String {
    let members = match duration {
        None => INFINITE,
        Some(time) => [("sec", time.as_secs().into()), ("nsec", time.subsec_nanos().into())],
    };
    members.iter().map(|(name, number)| format!("    {name}: {number}\n")).collect()
}
