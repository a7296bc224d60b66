//! Topics on which calls of services and actions are published: service introspection of ROS 2.

use runnel_bag::Channel;

/// What comes behind a service in the name of the topic, and behind its type in the name of the events' type.
const TOPIC_SUFFIX: &str = "/_service_event";
const TYPE_SUFFIX: &str = "_Event";

/// The services of an action, and what comes behind the action's type in theirs.
const OF_ACTIONS: [(&str, &str); 3] = [
    ("/_action/send_goal", "_SendGoal"),
    ("/_action/cancel_goal", ""),
    ("/_action/get_result", "_GetResult"),
];

/// A topic with the calls of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceTopic {
    /// The service.
    pub service: String,
    /// Its type.
    pub type_name: String,
}

/// The action to which a service belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionTopic {
    /// The action.
    pub action: String,
    /// Its type; `None` if the service's type does not say it.
    pub type_name: Option<String>,
}

/// The topic with the calls of a service.
pub fn event_topic(service: &str) -> String {
    format!("{service}{TOPIC_SUFFIX}")
}

/// Whether a topic of this name has the calls of a service.
pub fn is_event_topic(name: &str) -> bool {
    name.ends_with(TOPIC_SUFFIX)
}

impl ServiceTopic {
    /// The service whose calls a channel has.
    pub fn of(channel: &Channel) -> Option<Self> {
        let service = channel.topic.strip_suffix(TOPIC_SUFFIX)?.to_owned();
        let type_name = channel.type_name.strip_suffix(TYPE_SUFFIX)?.to_owned();
        Some(Self { service, type_name })
    }

    /// The action to which the service belongs.
    pub fn action(&self) -> Option<ActionTopic> {
        OF_ACTIONS.iter().find_map(|(service, suffix)| {
            let action = self.service.strip_suffix(service)?.to_owned();
            let type_name = Some(*suffix).filter(|suffix| !suffix.is_empty());
            let type_name = type_name.and_then(|suffix| self.type_name.strip_suffix(suffix));
            Some(ActionTopic { action, type_name: type_name.map(str::to_owned) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(topic: &str, type_name: &str) -> Option<ServiceTopic> {
        ServiceTopic::of(&Channel { topic: topic.into(), type_name: type_name.into(), ..Channel::default() })
    }

    #[test]
    fn service_and_action_follow_from_the_topic() {
        let power = topic("/a/power/_service_event", "std_srvs/srv/SetBool_Event").expect("events");
        assert_eq!((power.service.as_str(), power.type_name.as_str()), ("/a/power", "std_srvs/srv/SetBool"));
        assert_eq!(power.action(), None);
        assert_eq!(topic("/power", "std_srvs/srv/SetBool_Event"), None);
        assert_eq!(topic("/power/_service_event", "std_msgs/msg/String"), None);
        let action = |service: &str, type_name: &str| {
            let found = topic(&format!("/fib/_action/{service}/_service_event"), type_name).expect("events");
            found.action().expect("of an action")
        };
        let goal = action("send_goal", "a/action/Fibonacci_SendGoal_Event");
        let expected = ActionTopic { action: "/fib".into(), type_name: Some("a/action/Fibonacci".into()) };
        assert_eq!(goal, expected);
        let cancel = action("cancel_goal", "action_msgs/srv/CancelGoal_Event");
        assert_eq!((cancel.action.as_str(), cancel.type_name), ("/fib", None));
    }
}
