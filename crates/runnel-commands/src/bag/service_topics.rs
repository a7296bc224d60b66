//! Topics on which calls of services and actions are published: service introspection of ROS 2.

use runnel_bag::Channel;

use super::action_topics::PartOfAction;

/// What comes behind a service in the name of the topic, and behind its type in the name of the events' type.
const TOPIC_SUFFIX: &str = "/_service_event";
const TYPE_SUFFIX: &str = "_Event";

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
        let topic = event_topic(&self.service);
        let part = PartOfAction::of(&topic)?;
        let event_type = format!("{}{TYPE_SUFFIX}", self.type_name);
        let type_name = part.action_type(&event_type).map(str::to_owned);
        Some(ActionTopic { action: part.action.to_owned(), type_name })
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
