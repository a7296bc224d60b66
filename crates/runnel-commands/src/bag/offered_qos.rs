//! Offered QoS of channels, in the YAML of rosbag2.
//!
//! rosbag2 spells policies as numbers of rmw up to metadata version 8, and as words from version 9 on. Both are read; words
//! are written.

use std::time::Duration;

use runnel::core::yaml::{Plain, YamlNode, YamlValue, parse_documents, plain_value};
use runnel::{History, Liveliness, QoS, Reliability};

/// An infinite duration as rmw spells it: 2^63 - 1 nanoseconds.
const INFINITE: (u64, u64) = (9_223_372_036, 854_775_807);

/// Most profiles that are read of one channel.
const MOST_PROFILES: usize = 1000;

/// The profiles of a topic's publishers, each with whether its history is known.
pub fn to_yaml(offered: &[(QoS, bool)]) -> String {
    offered.iter().map(|(qos, has_history)| profile(qos, *has_history)).collect()
}

/// The profiles of a text. Policies that are missing or unknown are those of [`QoS::default`].
///
/// # Errors
/// If the text is not a YAML list of mappings.
pub fn from_yaml(text: &str) -> Result<Vec<QoS>, String> {
    let documents = parse_documents(text).map_err(|error| error.to_string())?;
    match documents.into_iter().next().map(|document| document.value) {
        Some(YamlValue::List(profiles)) => profiles.iter().take(MOST_PROFILES).map(read_profile).collect(),
        Some(YamlValue::Plain(text)) if text.is_empty() => Ok(Vec::new()),
        _ => Err("not a list of QoS profiles".to_owned()),
    }
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
    let [deadline, lifespan, lease] = [qos.deadline, qos.lifespan, qos.liveliness_lease].map(duration);
    format!(
        "- history: {history}\n  depth: {depth}\n  reliability: {reliability}\n  durability: {durability}\n  \
         deadline:\n{deadline}  lifespan:\n{lifespan}  liveliness: {liveliness}\n  \
         liveliness_lease_duration:\n{lease}  avoid_ros_namespace_conventions: false\n"
    )
}

fn duration(of: Option<Duration>) -> String {
    let (sec, nsec) = of.map_or(INFINITE, |time| (time.as_secs(), u64::from(time.subsec_nanos())));
    format!("    sec: {sec}\n    nsec: {nsec}\n")
}

fn read_profile(node: &YamlNode) -> Result<QoS, String> {
    let YamlValue::Mapping(members) = &node.value else {
        return Err("a QoS profile is not a mapping".to_owned());
    };
    let mut qos = QoS::default();
    let mut kind = Liveliness::Automatic;
    for (key, value) in members {
        match (text(key), text(value)) {
            ("history", "keep_all" | "2") => qos.history = History::KeepAll,
            ("depth", depth) => {
                qos.depth = depth.parse().ok().filter(|depth| *depth > 0).unwrap_or(qos.depth)
            }
            ("reliability", "best_effort" | "2") => qos = qos.best_effort(),
            ("durability", "transient_local" | "1") => qos = qos.transient_local(),
            ("liveliness", "manual_by_topic" | "3") => kind = Liveliness::ManualByTopic,
            ("deadline", _) => qos = qos.deadline(read_duration(value)),
            ("lifespan", _) => qos = qos.lifespan(read_duration(value)),
            ("liveliness_lease_duration", _) => {
                qos.liveliness_lease = QoS::default().lifespan(read_duration(value)).lifespan
            }
            _ => {}
        }
    }
    Ok(qos.liveliness(kind, qos.liveliness_lease))
}

/// A duration; zero, which means infinite in rmw, if it is malformed. [`QoS`] takes all spellings of infinite ones.
fn read_duration(node: &YamlNode) -> Duration {
    let YamlValue::Mapping(members) = &node.value else { return Duration::ZERO };
    let number = |name: &str| {
        let (_, value) = members.iter().find(|(key, _)| text(key) == name)?;
        match plain_value(text(value)) {
            Plain::Int(number) => u64::try_from(number).ok(),
            _ => None,
        }
    };
    let nanos = Duration::from_nanos(number("nsec").unwrap_or_default());
    Duration::from_secs(number("sec").unwrap_or_default()).saturating_add(nanos)
}

/// The text of a scalar; empty for lists and mappings.
fn text(node: &YamlNode) -> &str {
    match &node.value {
        YamlValue::Plain(text) | YamlValue::Quoted(text) => text,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_profiles_are_read_again() {
        let special = QoS::keep_last(7).best_effort().transient_local().deadline(Duration::from_millis(1500));
        let special = special.lifespan(Duration::from_secs(2));
        let special = special.liveliness(Liveliness::ManualByTopic, Some(Duration::from_secs(3)));
        for profiles in [vec![], vec![QoS::default()], vec![special, QoS::keep_last(1)]] {
            let offered: Vec<_> = profiles.iter().map(|qos| (*qos, true)).collect();
            assert_eq!(from_yaml(&to_yaml(&offered)), Ok(profiles));
        }
    }

    #[test]
    fn numbers_of_earlier_versions_are_read() {
        let text = "- history: 1\n  depth: 5\n  reliability: 2\n  durability: 1\n  deadline:\n    sec: 2147483647\n    \
                    nsec: 4294967295\n  lifespan:\n    sec: 0\n    nsec: 0\n  liveliness: 1\n";
        assert_eq!(from_yaml(text), Ok(vec![QoS::keep_last(5).best_effort().transient_local()]));
    }

    #[test]
    fn malformed_profiles_are_errors() {
        for text in ["a: b", "- 1", "[", "- [1]"] {
            assert!(from_yaml(text).is_err(), "{text}");
        }
        let odd = from_yaml("- history: 99\n  depth: x\n  deadline: 3\n  strange: [1]\n");
        assert_eq!(odd, Ok(vec![QoS::default()]));
    }

    #[test]
    fn unknown_history_has_no_depth() {
        let text = to_yaml(&[(QoS::keep_last(7), false)]);
        assert!(text.starts_with("- history: unknown\n  depth: 0\n  reliability: reliable\n"), "{text}");
    }
}
