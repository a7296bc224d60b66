//! The topics to record.

use std::collections::BTreeSet;

use regex_lite::Regex;

use crate::graphs::{Topic, Topics, is_hidden};

/// The topics that a recording selects.
#[derive(Clone, Debug, Default)]
pub struct TopicSelection {
    /// Absolute names, which are recorded even before there is a publisher.
    pub names: BTreeSet<String>,
    /// All topics that have a publisher.
    pub all: bool,
    /// Topics with a match of one of these.
    pub regexes: Vec<Regex>,
    /// Topics to which this node subscribes.
    pub node: Option<String>,
    /// Topics that are left out, whatever selects them.
    pub excluded: Vec<Regex>,
    /// Also ROS 2 topics with a name part that begins with an underscore, which only `names` selects otherwise.
    pub hidden: bool,
}

impl TopicSelection {
    /// Whether topics are selected that have to be discovered.
    pub fn discovers(&self) -> bool {
        self.all || !self.regexes.is_empty() || self.node.is_some()
    }

    /// Whether a topic is left out, whatever selects it.
    pub fn excludes(&self, name: &str) -> bool {
        self.excluded.iter().any(|regex| regex.is_match(name))
    }

    /// The selected topics among those of both graphs.
    pub fn select<'a>(&self, topics: &'a Topics) -> Vec<&'a str> {
        let selected = topics.0.iter().filter(|(name, topic)| self.selects(name, topic));
        selected.map(|(name, _)| name.as_str()).collect()
    }

    fn selects(&self, name: &str, topic: &Topic) -> bool {
        let mut sides = topic.sides();
        if self.excludes(name) || !sides.any(|(_, side)| !side.publishers.is_empty()) {
            return false;
        }
        let is_shown = self.hidden || topic.ros1.is_some() || !is_hidden(name);
        let is_subscribed = |node: &String| topic.sides().any(|(_, side)| side.subscribers.contains(node));
        is_shown && (self.all || self.regexes.iter().any(|regex| regex.is_match(name)))
            || self.node.as_ref().is_some_and(is_subscribed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    fn topics() -> Topics {
        let mut topics = Topics::default();
        topics.add_ros2(&graph(&[
            ("rt/scan", 1, true),
            ("rt/robot/scan", 2, true),
            ("rt/odom", 1, true),
            ("rt/odom", 2, false),
            ("rt/cmd_vel", 1, false),
            ("rt/f/_action/status", 1, true),
        ]));
        topics
    }

    fn selected(selection: TopicSelection) -> String {
        selection.select(&topics()).join(" ")
    }

    fn regexes(text: &str) -> Vec<Regex> {
        vec![Regex::new(text).expect("a regular expression")]
    }

    #[test]
    fn all_has_published_topics_that_are_not_hidden() {
        let all = TopicSelection { all: true, ..TopicSelection::default() };
        assert_eq!(selected(all.clone()), "/odom /robot/scan /scan");
        assert_eq!(selected(TopicSelection { excluded: regexes("scan$"), ..all.clone() }), "/odom");
        assert!(selected(TopicSelection { hidden: true, ..all }).contains("/f/_action/status"));
    }

    #[test]
    fn regex_matches_anywhere_in_the_name() {
        let of =
            |text: &str| selected(TopicSelection { regexes: regexes(text), ..TopicSelection::default() });
        assert_eq!(of("scan"), "/robot/scan /scan");
        assert_eq!(of("^/scan"), "/scan");
        assert_eq!(of("cmd_vel"), "", "it has no publisher");
    }

    #[test]
    fn node_selects_what_it_subscribes_to() {
        let of = |node: &str| {
            let node = Some(node.to_owned());
            let excluded = regexes("scan");
            selected(TopicSelection { node, excluded, ..TopicSelection::default() })
        };
        assert_eq!((of("/node2"), of("/node3")), ("/odom".to_owned(), String::new()));
    }
}
