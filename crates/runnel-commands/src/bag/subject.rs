//! What a channel has messages of: a topic, the calls of a service, or an action.

use runnel_bag::{Channel, Encoding};

use super::action_topics::{ActionPart, PartOfAction};
use super::service_topics::ServiceTopic;

/// What a channel has messages of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A topic of the user.
    Topic,
    /// Calls of a service that belongs to no action.
    Service(ServiceTopic),
    /// An action.
    Action {
        /// The action.
        action: String,
        /// Its type; `None` if the type of the topic does not say it.
        type_name: Option<String>,
        /// What the channel has of it.
        part: ActionPart,
    },
}

impl Subject {
    /// The subject of a channel, by its name, its type and its encoding: ROS 1 has only topics.
    pub fn of(channel: &Channel) -> Self {
        let Channel { topic, type_name, encoding, .. } = channel;
        if *encoding != Encoding::Cdr {
            return Self::Topic;
        }
        if let Some(part) = PartOfAction::of(topic).filter(|part| part.has_type(type_name)) {
            let type_name = part.action_type(type_name).filter(|name| !name.is_empty()).map(str::to_owned);
            return Self::Action { action: part.action.to_owned(), type_name, part: part.part };
        }
        ServiceTopic::of(channel).map_or(Self::Topic, Self::Service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(topic: &str, type_name: &str, encoding: Encoding) -> Subject {
        let (topic, type_name) = (topic.to_owned(), type_name.to_owned());
        Subject::of(&Channel { topic, type_name, encoding, ..Channel::default() })
    }

    #[test]
    fn subject_follows_from_name_and_type() {
        let of = |topic, type_name| subject(topic, type_name, Encoding::Cdr);
        let action = |type_name: Option<&str>, part| Subject::Action {
            action: "/fib".to_owned(),
            type_name: type_name.map(str::to_owned),
            part,
        };
        let (service, type_name) = ("/power".to_owned(), "std_srvs/srv/SetBool".to_owned());
        for (topic, type_name, expected) in [
            ("/scan", "a/msg/B", Subject::Topic),
            (
                "/power/_service_event",
                "std_srvs/srv/SetBool_Event",
                Subject::Service(ServiceTopic { service, type_name }),
            ),
            ("/power/_service_event", "a/msg/B", Subject::Topic),
            ("/fib/_action/status", "action_msgs/msg/GoalStatusArray", action(None, ActionPart::Status)),
            (
                "/fib/_action/feedback",
                "a/action/Fib_FeedbackMessage",
                action(Some("a/action/Fib"), ActionPart::Feedback),
            ),
            ("/fib/_action/feedback", "a/msg/B", Subject::Topic),
            (
                "/fib/_action/send_goal/_service_event",
                "a/action/Fib_SendGoal_Event",
                action(Some("a/action/Fib"), ActionPart::SendGoal),
            ),
            (
                "/fib/_action/cancel_goal/_service_event",
                "action_msgs/srv/CancelGoal_Event",
                action(None, ActionPart::CancelGoal),
            ),
        ] {
            assert_eq!(of(topic, type_name), expected, "{topic} {type_name}");
        }
    }

    #[test]
    fn ros1_has_only_topics() {
        let status = ("/fib/_action/status", "action_msgs/msg/GoalStatusArray");
        assert_eq!(subject(status.0, status.1, Encoding::Ros1), Subject::Topic);
    }
}
