//! What a command that listens is about.

use crate::error::CliError;
use crate::graph::SystemState;
use crate::graphs::{Side, Sight, Topic, Topics};
use crate::session::Session;
use crate::similar::is_similar;

/// A topic, and perhaps a field of its messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Subject {
    /// The topic's absolute name.
    pub topic: String,
    /// Path of a field.
    pub field: Option<String>,
}

impl Subject {
    /// The topic that the user named; or, as in rostopic, a topic and behind it a field: `/scan/ranges[3]`. Says so
    /// if nobody publishes it yet.
    ///
    /// # Errors
    /// When the name is not valid, or the master does not answer.
    pub fn find(session: &Session, sight: &Sight, typed: &str) -> Result<Self, CliError> {
        let (name, index) = typed.split_at(typed.find('[').unwrap_or(typed.len()));
        let name = session.resolve(name)?;
        let topics = sight.topics()?;
        let state = topics.state();
        let subject = Self::within(&state, &name, index);
        let subject =
            subject.ok_or_else(|| CliError::Failed(format!("no topic is published that has {typed}")))?;
        note_unless_published(session, &state, &subject.topic);
        note_if_mixed(session, &topics, &subject.topic);
        Ok(subject)
    }

    /// `None` if `index` follows what is no field of a published topic.
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

/// Makes sure that these can be topics, before anyone is bothered.
///
/// # Errors
/// When a name is not valid.
pub fn check<'a>(session: &Session, typed: impl IntoIterator<Item = &'a String>) -> Result<(), CliError> {
    let name = |typed: &'a String| typed.split('[').next().unwrap_or_default();
    typed.into_iter().try_for_each(|typed| session.resolve(name(typed)).map(drop))
}

/// Resolves topics. Says so of those that nobody publishes yet.
///
/// # Errors
/// As [`Subject::find`].
pub fn topics(session: &Session, sight: &Sight, typed: &[String]) -> Result<Vec<String>, CliError> {
    let found = sight.topics()?;
    let state = found.state();
    let topics = typed.iter().map(|typed| session.resolve(typed)).collect::<Result<Vec<_>, CliError>>()?;
    for topic in &topics {
        note_unless_published(session, &state, topic);
        note_if_mixed(session, &found, topic);
    }
    Ok(topics)
}

/// The same for one.
///
/// # Errors
/// As [`Subject::find`].
pub fn topic(session: &Session, sight: &Sight, typed: &str) -> Result<String, CliError> {
    let topics = topics(session, sight, &[typed.to_owned()])?;
    Ok(topics.concat())
}

fn note_unless_published(session: &Session, state: &SystemState, topic: &str) {
    if !state.publishers.contains_key(topic) {
        let meant = meant(state, topic);
        session.output.note(&format!("waiting for {topic}: nobody publishes it yet{meant}"));
    }
}

/// Says that messages of two graphs come as one, if nodes of ROS 1 publish the topic beside others of ROS 2. A node in both is one.
fn note_if_mixed(session: &Session, topics: &Topics, topic: &str) {
    if topics.0.get(topic).is_some_and(is_mixed) {
        let narrow = "Try: --ros1 or --ros2 for one of them";
        session
            .output
            .note(&format!("{topic} is published in ROS 1 and in ROS 2, both are shown as one. {narrow}"));
    }
}

fn is_mixed(topic: &Topic) -> bool {
    let publishers = |side: &Option<Side>| side.as_ref().map_or(Vec::new(), |side| side.publishers.clone());
    let (of_ros1, of_ros2) = (publishers(&topic.ros1), publishers(&topic.ros2));
    let is_other = |node: &String| !of_ros2.contains(node);
    !of_ros2.is_empty() && of_ros1.iter().any(is_other)
}

/// The topic that is spelt most like this one, as a question; empty if none is like it.
pub fn meant(state: &SystemState, topic: &str) -> String {
    let topics = state.topics();
    let similar = topics.iter().filter(|other| is_similar(topic, other));
    let nearest = similar.min_by_key(|other| strsim::osa_distance(topic, other));
    nearest.map_or_else(String::new, |other| format!(" (did you mean {other}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn topic_of_two_talkers_in_two_graphs_is_mixed() {
        let side = |nodes: &[&str]| {
            let publishers = nodes.iter().map(|node| (*node).to_owned()).collect();
            Some(Side { publishers, ..Side::default() })
        };
        let mixed = |ros1, ros2| is_mixed(&Topic { ros1, ros2 });
        assert!(mixed(side(&["/a"]), side(&["/b"])));
        assert!(mixed(side(&["/a", "/both"]), side(&["/both"])));
        assert!(!mixed(side(&["/both"]), side(&["/both", "/b"])));
        assert!(
            !mixed(side(&["/a"]), None) && !mixed(None, side(&["/b"])) && !mixed(side(&["/a"]), side(&[]))
        );
    }

    #[test]
    fn a_slip_of_the_pen_is_answered_with_what_is_there() {
        let state = state(&["/chatter", "/robot/scan"], &["/chart"]);
        assert_eq!(meant(&state, "/chater"), " (did you mean /chatter?)");
        assert_eq!(meant(&state, "/scan"), " (did you mean /robot/scan?)");
        assert_eq!((meant(&state, "/chatter"), meant(&state, "/other")), (String::new(), String::new()));
    }

    #[test]
    fn a_topic_that_exists_is_no_field() {
        for topic in ["/scan", "/scan/raw", "/a/b", "/new", "/scanner/x"] {
            assert_eq!(parts(topic, ""), Some((topic.to_owned(), None)));
        }
    }

    #[test]
    fn what_follows_a_published_topic_is_a_field() {
        assert_eq!(parts("/scan/ranges", "[3]"), Some(("/scan".into(), Some("ranges[3]".into()))));
        assert_eq!(
            parts("/scan/raw/header/stamp", ""),
            Some(("/scan/raw".into(), Some("header.stamp".into())))
        );
        assert_eq!(parts("/nobody/x", "[3]"), None);
    }
}
