//! The topics, services and actions that are played.

use regex_lite::Regex;
use runnel_bag::Channel;

use crate::bag::subject::Subject;

/// A selection of topics, of services by their events, and of actions by their topics.
#[derive(Debug, Default)]
pub struct TopicSelection {
    /// What is played. A kind of which nothing is named is played whole.
    pub wanted: Names,
    /// What is left out.
    pub unwanted: Names,
    /// Topics that match one of these are played.
    pub regexes: Vec<Regex>,
    /// Topics that match one of these are left out.
    pub excluded: Vec<Regex>,
}

/// Names by kind, whose leading slashes may be left out.
#[derive(Debug, Default)]
pub struct Names {
    pub topics: Vec<String>,
    pub services: Vec<String>,
    pub actions: Vec<String>,
}

impl TopicSelection {
    /// Whether a channel is played.
    pub fn selects(&self, channel: &Channel) -> bool {
        let topic = channel.topic.as_str();
        let is_any = |regexes: &[Regex]| regexes.iter().any(|regex| regex.is_match(topic));
        let subject = Subject::of(channel);
        if self.unwanted.has(&subject, topic) || is_any(&self.excluded) {
            return false;
        }
        // As in ros2 bag, --topics leaves services and actions alone, and the reverse.
        let selects_all = self.wanted.of_kind(&subject).is_empty() && self.regexes.is_empty();
        selects_all || self.wanted.has(&subject, topic) || is_any(&self.regexes)
    }
}

impl Names {
    /// Whether it has a topic, or what the topic has messages of.
    fn has(&self, subject: &Subject, topic: &str) -> bool {
        let has = |names: &[String], name: &str| names.iter().any(|named| is_named(name, named));
        has(&self.topics, topic)
            || match subject {
                Subject::Topic => false,
                Subject::Service(service) => has(&self.services, &service.service),
                Subject::Action { action, .. } => has(&self.actions, action),
            }
    }

    fn of_kind(&self, subject: &Subject) -> &[String] {
        match subject {
            Subject::Topic => &self.topics,
            Subject::Service(_) => &self.services,
            Subject::Action { .. } => &self.actions,
        }
    }
}

/// Whether a topic, a service or an action has this name, whose leading slash may be left out.
pub fn is_named(name: &str, named: &str) -> bool {
    name == named || name.strip_prefix('/') == Some(named)
}

#[cfg(test)]
mod tests {
    use runnel_bag::Encoding;

    use super::*;

    fn names(topics: &[&str], services: &[&str], actions: &[&str]) -> Names {
        let [topics, services, actions] =
            [topics, services, actions].map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        Names { topics, services, actions }
    }

    /// Whether a topic, the calls of a service, and the status and the goals of an action are played.
    fn played(selection: &TopicSelection) -> [bool; 4] {
        let channels = [
            ("/scan", "a/msg/B"),
            ("/power/_service_event", "std_srvs/srv/SetBool_Event"),
            ("/fib/_action/status", "action_msgs/msg/GoalStatusArray"),
            ("/fib/_action/send_goal/_service_event", "a/action/Fib_SendGoal_Event"),
        ];
        channels.map(|(topic, type_name)| {
            let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
            selection.selects(&Channel { topic, type_name, encoding: Encoding::Cdr, ..Channel::default() })
        })
    }

    fn wanted(topics: &[&str], services: &[&str], actions: &[&str]) -> [bool; 4] {
        played(&TopicSelection { wanted: names(topics, services, actions), ..TopicSelection::default() })
    }

    fn unwanted(topics: &[&str], services: &[&str], actions: &[&str]) -> [bool; 4] {
        played(&TopicSelection { unwanted: names(topics, services, actions), ..TopicSelection::default() })
    }

    #[test]
    fn each_kind_is_limited_by_its_own_names() {
        assert_eq!(wanted(&[], &[], &[]), [true; 4]);
        assert_eq!(wanted(&["/odom"], &[], &[]), [false, true, true, true]);
        assert_eq!(wanted(&[], &["/power"], &[]), [true; 4]);
        assert_eq!(wanted(&[], &["other"], &[]), [true, false, true, true]);
        assert_eq!(wanted(&[], &[], &["fib"]), [true; 4]);
        assert_eq!(wanted(&[], &[], &["/other"]), [true, true, false, false]);
        assert_eq!(wanted(&["/fib/_action/status"], &[], &["/other"]), [false, true, true, false]);
    }

    #[test]
    fn names_of_each_kind_are_left_out() {
        assert_eq!(unwanted(&["scan"], &[], &[]), [false, true, true, true]);
        assert_eq!(unwanted(&[], &["power", "/fib/_action/send_goal"], &[]), [true, false, true, true]);
        assert_eq!(unwanted(&[], &[], &["/fib"]), [true, true, false, false]);
        assert_eq!(unwanted(&["/fib/_action/status"], &[], &[]), [true, true, false, true]);
    }
}
