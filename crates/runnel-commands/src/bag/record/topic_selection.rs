//! The topics to record.

use std::collections::BTreeSet;

use regex_lite::Regex;
use runnel::core::schema::TypeName;

use crate::bag::action_topics::PartOfAction;
use crate::bag::service_topics::is_event_topic;
use crate::graphs::{Topic, Topics, is_hidden};

/// The topics that a recording selects.
#[derive(Clone, Debug, Default)]
pub struct TopicSelection {
    /// Absolute names, which are recorded even before there is a publisher.
    pub names: BTreeSet<String>,
    /// All topics that have a publisher.
    pub all: bool,
    /// The events of all services whose introspection is enabled.
    pub all_services: bool,
    /// The topics of all actions, and the events of their services if introspection is enabled.
    pub all_actions: bool,
    /// Topics with a match of one of these.
    pub regexes: Vec<Regex>,
    /// Topics of these types.
    pub types: Vec<TypeName>,
    /// Topics to which this node subscribes.
    pub node: Option<String>,
    /// Topics that are left out, whatever selects them.
    pub excluded: Vec<Regex>,
    /// Absolute names of such topics.
    pub excluded_names: BTreeSet<String>,
    /// Types of topics that are left out, unless they are named.
    pub excluded_types: Vec<TypeName>,
    /// Also ROS 2 topics with a name part that begins with an underscore, which only `names` selects otherwise.
    pub hidden: bool,
    /// Also topics without a publisher.
    pub unpublished: bool,
    /// Without topics that have no subscriber.
    pub without_leaves: bool,
}

impl TopicSelection {
    /// Whether topics are selected that have to be discovered.
    pub fn discovers(&self) -> bool {
        let has_patterns = !self.regexes.is_empty() || !self.types.is_empty();
        let has_all = self.all || self.all_services || self.all_actions;
        has_all || has_patterns || self.node.is_some()
    }

    /// Whether a topic is left out, whatever selects it.
    pub fn excludes(&self, name: &str) -> bool {
        self.excluded_names.contains(name) || self.excluded.iter().any(|regex| regex.is_match(name))
    }

    /// The selected topics among those of both graphs.
    pub fn select<'a>(&self, topics: &'a Topics) -> Vec<&'a str> {
        let selected = topics.0.iter().filter(|(name, topic)| self.selects(name, topic));
        selected.map(|(name, _)| name.as_str()).collect()
    }

    fn selects(&self, name: &str, topic: &Topic) -> bool {
        let has_publisher = topic.sides().any(|(_, side)| !side.publishers.is_empty());
        let has_subscriber = topic.sides().any(|(_, side)| !side.subscribers.is_empty());
        let is_used = has_publisher || (self.unpublished && has_subscriber);
        if self.excludes(name) || !is_used || (self.without_leaves && !has_subscriber) {
            return false;
        }
        if has_type(topic, &self.excluded_types) {
            return false;
        }
        let is_subscribed = |node: &String| topic.sides().any(|(_, side)| side.subscribers.contains(node));
        self.matches(name, topic) || self.node.as_ref().is_some_and(is_subscribed)
    }

    /// Whether a topic is one of all, or matches. Topics of actions and events of services are hidden topics, which are
    /// selected as actions and services.
    fn matches(&self, name: &str, topic: &Topic) -> bool {
        let (is_event, is_of_action) = (is_event_topic(name), PartOfAction::of(name).is_some());
        let is_shown = self.hidden || topic.ros1.is_some() || !is_hidden(name);
        let is_one_of_all = match (is_of_action, is_event) {
            (true, _) if self.all_actions => true,
            (true, true) => false,
            (false, true) => self.all_services,
            (_, false) => self.all && is_shown,
        };
        let is_match =
            || self.regexes.iter().any(|regex| regex.is_match(name)) || has_type(topic, &self.types);
        is_one_of_all || ((is_shown || is_event || is_of_action) && is_match())
    }
}

fn has_type(topic: &Topic, types: &[TypeName]) -> bool {
    let known = topic.types();
    let mut known = known.iter().filter_map(|name| TypeName::parse(name));
    !types.is_empty() && known.any(|name| types.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::action_topics::topics_of;
    use crate::bag::service_topics::event_topic;
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
    fn topics_without_publishers_or_subscribers_are_selected_as_requested() {
        let all = TopicSelection { all: true, ..TopicSelection::default() };
        let unpublished = TopicSelection { unpublished: true, ..all.clone() };
        assert_eq!(selected(unpublished), "/cmd_vel /odom /robot/scan /scan");
        assert_eq!(selected(TopicSelection { without_leaves: true, ..all }), "/odom");
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
    fn events_of_services_are_selected_as_services() {
        let mut topics = Topics::default();
        topics.add_ros2(&graph(&[("rt/add/_service_event", 1, true), ("rt/scan", 1, true)]));
        let selected = |selection: TopicSelection| selection.select(&topics).join(" ");
        let none = TopicSelection::default();
        assert_eq!(selected(TopicSelection { all: true, ..none.clone() }), "/scan");
        let services = TopicSelection { all_services: true, ..none.clone() };
        assert_eq!(selected(services.clone()), "/add/_service_event");
        let excluded_names = [event_topic("/add")].into();
        assert_eq!(selected(TopicSelection { excluded_names, ..services }), "");
        assert_eq!(selected(TopicSelection { regexes: regexes("^/add"), ..none }), "/add/_service_event");
    }

    #[test]
    fn topics_of_actions_are_selected_as_actions() {
        let mut topics = Topics::default();
        let calls = "rt/f/_action/send_goal/_service_event";
        topics.add_ros2(&graph(&[(calls, 1, true), ("rt/f/_action/status", 1, true), ("rt/scan", 1, true)]));
        let selected = |selection: TopicSelection| selection.select(&topics).join(" ");
        let none = TopicSelection::default();
        assert_eq!(selected(TopicSelection { all: true, all_services: true, ..none.clone() }), "/scan");
        let both = "/f/_action/send_goal/_service_event /f/_action/status";
        let actions = TopicSelection { all_actions: true, ..none.clone() };
        assert!(actions.discovers());
        assert_eq!(selected(actions.clone()), both);
        assert_eq!(selected(TopicSelection { regexes: regexes("^/f"), ..none }), both);
        let excluded_names = topics_of("/f").collect();
        assert_eq!(selected(TopicSelection { excluded_names, ..actions }), "");
    }

    #[test]
    fn types_select_and_exclude_topics() {
        let mut topics = topics();
        let side = topics.0.get_mut("/scan").and_then(|topic| topic.ros2.as_mut()).expect("a topic");
        side.types = ["sensor_msgs/msg/LaserScan".to_owned()].into();
        let selected = |selection: TopicSelection| selection.select(&topics).join(" ");
        let types = || vec![TypeName::parse("sensor_msgs/LaserScan").expect("a type")];
        assert_eq!(selected(TopicSelection { types: types(), ..TopicSelection::default() }), "/scan");
        let all = TopicSelection { all: true, excluded_types: types(), ..TopicSelection::default() };
        assert_eq!(selected(all), "/odom /robot/scan");
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
