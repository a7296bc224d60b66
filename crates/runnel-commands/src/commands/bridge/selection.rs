//! What a bridge carries of what both graphs have.

use runnel_bridge::Patterns;
use runnel_bridge::decision::{Demand, Direction};

/// The directions in which topics are carried without a subscriber, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsubscribed {
    /// From ROS 1 to ROS 2.
    pub to_ros2: bool,
    /// From ROS 2 to ROS 1.
    pub to_ros1: bool,
}

impl Unsubscribed {
    /// Which topics are carried in a direction.
    pub fn demand(self, direction: Direction) -> Demand {
        let carries_any = match direction {
            Direction::ToRos2 => self.to_ros2,
            Direction::ToRos1 => self.to_ros1,
        };
        if carries_any { Demand::Any } else { Demand::Subscribed }
    }
}

/// The patterns of names that the user has given. Without any, everything is selected except what each node offers.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Topics; `None` if none were given.
    pub topics: Option<Patterns>,
    /// Services.
    pub services: Option<Patterns>,
    /// Actions.
    pub actions: Option<Patterns>,
}

impl Selection {
    /// Whether a topic is carried.
    pub fn has_topic(&self, name: &str) -> bool {
        self.has(self.topics.as_ref(), name)
    }

    /// Whether a service is carried. `is_node_service`: each node has such a service, so it is carried only by its name.
    pub fn has_service(&self, name: &str, is_node_service: bool) -> bool {
        self.has(self.services.as_ref(), name) && (self.services.is_some() || !is_node_service)
    }

    /// Whether an action is carried.
    pub fn has_action(&self, name: &str) -> bool {
        self.has(self.actions.as_ref(), name)
    }

    fn has(&self, patterns: Option<&Patterns>, name: &str) -> bool {
        let is_empty = self.topics.is_none() && self.services.is_none() && self.actions.is_none();
        patterns.map_or(is_empty, |patterns| patterns.allow(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(pattern: &str) -> Option<Patterns> {
        Some(Patterns::new([pattern.to_owned()]))
    }

    #[test]
    fn patterns_of_one_kind_exclude_the_others() {
        let all = Selection::default();
        assert!(all.has_topic("/a") && all.has_service("/a", false) && all.has_action("/a"));
        assert!(!all.has_service("/a/get_loggers", true));
        let topics = Selection { topics: patterns("/a*"), ..Selection::default() };
        assert!(topics.has_topic("/ab") && !topics.has_topic("/b"));
        assert!(!topics.has_service("/a", false) && !topics.has_action("/a"));
        let services = Selection { services: patterns("/a/*"), ..Selection::default() };
        assert!(services.has_service("/a/get_loggers", true) && !services.has_topic("/a/b"));
    }
}
