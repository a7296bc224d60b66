//! The topic and field that a discovery command is about.

use runnel::bridge::bridge_of_node;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::SystemState;
use crate::graphs::{GraphSnapshot, Side, Topic, Topics};
use crate::similar;

/// A topic, and perhaps a field of its messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Subject {
    /// The topic's absolute name.
    pub topic: String,
    /// Path of a field.
    pub field: Option<String>,
}

impl Subject {
    /// The topic that the user named; or, as in rostopic, a topic with a field: `/scan/ranges[3]`. Prints a note if
    /// it has no publisher yet.
    ///
    /// # Errors
    /// When the name is not valid, or the master does not answer.
    pub fn find(cli: &CliContext, snapshot: &GraphSnapshot, typed: &str) -> Result<Self, CliError> {
        let (name, index) = typed.split_at(typed.find('[').unwrap_or(typed.len()));
        let name = cli.resolve(name)?;
        let topics = snapshot.topics()?;
        let state = topics.state();
        let subject = Self::within(&state, &name, index);
        let subject =
            subject.ok_or_else(|| CliError::Failed(format!("no published topic has a field {typed}")))?;
        note_unless_published(cli, &state, &subject.topic);
        note_if_mixed(cli, &topics, &subject.topic);
        Ok(subject)
    }

    /// `None` if `index` follows no field of a published topic.
    fn within(state: &SystemState, name: &str, index: &str) -> Option<Self> {
        let fields =
            |topic: &&String| name.strip_prefix(topic.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let known = index.is_empty() && state.topics().contains(name);
        let outer = state.publishers.keys().filter(fields).max_by_key(|topic| topic.len());
        match outer.filter(|_| !known) {
            Some(topic) => {
                let field = name.get(topic.len() + 1..).unwrap_or_default();
                Some(Self { topic: topic.clone(), field: Some(format!("{field}{index}").replace('/', ".")) })
            }
            None => index.is_empty().then(|| Self { topic: name.to_owned(), field: None }),
        }
    }
}

/// Checks that these are valid topic names, before any graph is contacted.
///
/// # Errors
/// When a name is not valid.
pub fn check<'a>(cli: &CliContext, typed: impl IntoIterator<Item = &'a String>) -> Result<(), CliError> {
    let name = |typed: &'a String| typed.split('[').next().unwrap_or_default();
    typed.into_iter().try_for_each(|typed| cli.resolve(name(typed)).map(drop))
}

/// Resolves topics. Prints a note for each without a publisher.
///
/// # Errors
/// As [`Subject::find`].
pub fn topics(cli: &CliContext, snapshot: &GraphSnapshot, typed: &[String]) -> Result<Vec<String>, CliError> {
    let found = snapshot.topics()?;
    let state = found.state();
    let topics = typed.iter().map(|typed| cli.resolve(typed)).collect::<Result<Vec<_>, CliError>>()?;
    for topic in &topics {
        note_unless_published(cli, &state, topic);
        note_if_mixed(cli, &found, topic);
    }
    Ok(topics)
}

/// The same for one topic.
///
/// # Errors
/// As [`Subject::find`].
pub fn topic(cli: &CliContext, snapshot: &GraphSnapshot, typed: &str) -> Result<String, CliError> {
    let topics = topics(cli, snapshot, &[typed.to_owned()])?;
    Ok(topics.concat())
}

fn note_unless_published(cli: &CliContext, state: &SystemState, topic: &str) {
    if !state.publishers.contains_key(topic) {
        let meant = similar::meant(topic, state.topics());
        cli.output.note(&format!("waiting for {topic}: no publisher yet{meant}"));
    }
}

/// Prints a note if a ROS 1 node and a ROS 2 node publish the topic: their messages are mixed. A dual node counts
/// once, and a bridge not at all: this program is in both graphs, so it gets nothing from a bridge.
fn note_if_mixed(cli: &CliContext, topics: &Topics, topic: &str) {
    if topics.0.get(topic).is_some_and(is_mixed) {
        let narrow = "Try: --ros1 or --ros2 for one of them";
        cli.output.note(&format!(
            "{topic} has publishers in ROS 1 and in ROS 2; their messages are mixed. {narrow}"
        ));
    }
}

fn is_mixed(topic: &Topic) -> bool {
    let publishers = |side: &Option<Side>| {
        let nodes = side.as_ref().map_or(Vec::new(), |side| side.publishers.clone());
        nodes.into_iter().filter(|node| bridge_of_node(node).is_none()).collect::<Vec<_>>()
    };
    let (ros1, ros2) = (publishers(&topic.ros1), publishers(&topic.ros2));
    let is_other = |node: &String| !ros2.contains(node);
    !ros2.is_empty() && ros1.iter().any(is_other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel::bridge::bridge_node_name;

    fn state(published: &[&str], subscribed: &[&str]) -> SystemState {
        let holders = |topics: &[&str]| {
            topics.iter().map(|topic| ((*topic).to_owned(), vec!["/n".to_owned()])).collect()
        };
        SystemState {
            publishers: holders(published),
            subscribers: holders(subscribed),
            ..SystemState::default()
        }
    }

    fn parts(name: &str, index: &str) -> Option<(String, Option<String>)> {
        let state = state(&["/scan", "/scan/raw", "/a"], &["/a/b"]);
        Subject::within(&state, name, index).map(|subject| (subject.topic, subject.field))
    }

    #[test]
    fn topic_of_two_publishers_in_two_graphs_is_mixed() {
        let side = |nodes: &[&str]| {
            let publishers = nodes.iter().map(|node| (*node).to_owned()).collect();
            Some(Side { publishers, ..Side::default() })
        };
        let mixed = |ros1, ros2| is_mixed(&Topic { ros1, ros2 });
        assert!(mixed(side(&["/a"]), side(&["/b"])));
        assert!(mixed(side(&["/a", "/both"]), side(&["/both"])));
        assert!(!mixed(side(&["/both"]), side(&["/both", "/b"])));
        let bridge = format!("/{}", bridge_node_name(5));
        assert!(!mixed(side(&[&bridge]), side(&["/b"])) && !mixed(side(&["/a"]), side(&[&bridge])));
        assert!(mixed(side(&[&bridge, "/a"]), side(&["/b"])));
        assert!(
            !mixed(side(&["/a"]), None) && !mixed(None, side(&["/b"])) && !mixed(side(&["/a"]), side(&[]))
        );
    }

    #[test]
    fn existing_topic_is_no_field() {
        for topic in ["/scan", "/scan/raw", "/a/b", "/new", "/scanner/x"] {
            assert_eq!(parts(topic, ""), Some((topic.to_owned(), None)));
        }
    }

    #[test]
    fn name_below_a_published_topic_is_a_field() {
        assert_eq!(parts("/scan/ranges", "[3]"), Some(("/scan".into(), Some("ranges[3]".into()))));
        assert_eq!(
            parts("/scan/raw/header/stamp", ""),
            Some(("/scan/raw".into(), Some("header.stamp".into())))
        );
        assert_eq!(parts("/nobody/x", "[3]"), None);
    }
}
