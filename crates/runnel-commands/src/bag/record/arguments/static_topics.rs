//! Files with topics and their types, as `--static-topics-path` of `ros2 bag` takes them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use runnel::core::schema::TypeName;
use runnel::core::yaml::parse_documents;

use crate::bag::yaml_members::{members, texts};
use crate::error::CliError;

/// The key of the list.
const KEY: &str = "static_topics_and_types_list";

/// Types by the names of topics.
pub type StaticTopics = BTreeMap<String, TypeName>;

/// Reads a file, if there is one.
///
/// # Errors
/// When it cannot be read, or has anything but topics and types.
pub fn read(path: Option<&Path>) -> Result<StaticTopics, CliError> {
    let Some(path) = path else { return Ok(StaticTopics::new()) };
    let failed = |why: &dyn Display| CliError::Failed(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    parse(&text).map_err(|why| failed(&why))
}

fn parse(text: &str) -> Result<StaticTopics, String> {
    let documents = parse_documents(text).map_err(|error| error.to_string())?;
    let expected = || format!("expected a list of pairs [TOPIC, TYPE] below {KEY}");
    let members = documents.first().and_then(|root| members(root).ok()).unwrap_or_default();
    let list = members.iter().find(|member| member.key == KEY).and_then(|member| member.list().ok());
    list.ok_or_else(expected)?
        .iter()
        .map(|pair| match texts(pair).as_deref() {
            Some([topic, type_name]) => topic_and_type(topic, type_name),
            _ => Err(expected()),
        })
        .collect()
}

fn topic_and_type(topic: &str, type_name: &str) -> Result<(String, TypeName), String> {
    if !topic.starts_with('/') {
        return Err(format!("topic {topic:?} is no absolute name. Try: /{topic}"));
    }
    let name = TypeName::parse(type_name);
    let name =
        name.ok_or_else(|| format!("topic {topic}: {type_name:?} is no type, such as std_msgs/msg/String"));
    Ok((topic.to_owned(), name?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_types() {
        let text = "static_topics_and_types_list:\n - [/scan, sensor_msgs/msg/LaserScan]\n - ['/a', std_msgs/String]\n";
        let topics = parse(text).expect("sound");
        let names: Vec<(&str, String)> =
            topics.iter().map(|(topic, name)| (topic.as_str(), name.to_string())).collect();
        let expected = [("/a", "std_msgs/String"), ("/scan", "sensor_msgs/LaserScan")];
        assert_eq!(names, expected.map(|(topic, name)| (topic, name.to_owned())));
        for (text, expected) in [
            ("", "expected a list"),
            ("topics:\n - [/a, b/c]\n", "below static_topics_and_types_list"),
            ("static_topics_and_types_list: 5", "expected a list"),
            ("static_topics_and_types_list:\n - /scan\n", "pairs [TOPIC, TYPE]"),
            ("static_topics_and_types_list:\n - [/scan]\n", "pairs [TOPIC, TYPE]"),
            ("static_topics_and_types_list:\n - [scan, a/B]\n", "Try: /scan"),
            ("static_topics_and_types_list:\n - [/scan, B]\n", "topic /scan: \"B\" is no type"),
        ] {
            let why = parse(text).expect_err("not such a list");
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}
