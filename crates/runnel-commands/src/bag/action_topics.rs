//! Topics of an action in ROS 2: the calls of its three services, where introspection is enabled, its feedback and its
//! status.

/// A part of an action, which has a topic of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionPart {
    SendGoal,
    CancelGoal,
    GetResult,
    Feedback,
    Status,
}

/// The type of a part's topic.
#[derive(Clone, Copy)]
enum PartType {
    /// The type of the action with this suffix.
    OfAction(&'static str),
    /// This type, for every action.
    Common(&'static str),
}

/// Each part, and the name and the type of its topic. The name is that of the action with this suffix.
const PARTS: [(ActionPart, &str, PartType); 5] = [
    (ActionPart::SendGoal, "/_action/send_goal/_service_event", PartType::OfAction("_SendGoal_Event")),
    (
        ActionPart::CancelGoal,
        "/_action/cancel_goal/_service_event",
        PartType::Common("action_msgs/srv/CancelGoal_Event"),
    ),
    (ActionPart::GetResult, "/_action/get_result/_service_event", PartType::OfAction("_GetResult_Event")),
    (ActionPart::Feedback, "/_action/feedback", PartType::OfAction("_FeedbackMessage")),
    (ActionPart::Status, "/_action/status", PartType::Common("action_msgs/msg/GoalStatusArray")),
];

impl ActionPart {
    /// The name of its topic or its service, without those of the action.
    pub fn name(self) -> &'static str {
        match self {
            Self::SendGoal => "send_goal",
            Self::CancelGoal => "cancel_goal",
            Self::GetResult => "get_result",
            Self::Feedback => "feedback",
            Self::Status => "status",
        }
    }

    /// Whether it is a service of the action.
    pub fn is_service(self) -> bool {
        matches!(self, Self::SendGoal | Self::CancelGoal | Self::GetResult)
    }
}

/// A topic of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartOfAction<'a> {
    /// The action.
    pub action: &'a str,
    /// What the topic has of it.
    pub part: ActionPart,
}

impl<'a> PartOfAction<'a> {
    /// The action to which a topic of this name belongs.
    pub fn of(topic: &'a str) -> Option<Self> {
        PARTS.into_iter().find_map(|(part, suffix, _)| {
            let action = topic.strip_suffix(suffix).filter(|action| !action.is_empty())?;
            Some(Self { action, part })
        })
    }

    /// The type of the action; `None` if the type of the topic does not say it.
    pub fn action_type<'b>(&self, topic_type: &'b str) -> Option<&'b str> {
        match self.part_type() {
            PartType::OfAction(suffix) => topic_type.strip_suffix(suffix),
            PartType::Common(_) => None,
        }
    }

    /// Whether the topic can have this type.
    pub fn has_type(&self, topic_type: &str) -> bool {
        match self.part_type() {
            PartType::OfAction(suffix) => topic_type.ends_with(suffix),
            PartType::Common(name) => topic_type == name,
        }
    }

    fn part_type(&self) -> PartType {
        PARTS[self.part as usize].2
    }
}

/// The topics of an action.
pub fn topics_of(action: &str) -> impl Iterator<Item = String> {
    PARTS.into_iter().map(move |(_, suffix, _)| format!("{action}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_an_action_name_it() {
        let topics: Vec<String> = topics_of("/arm/fibonacci").collect();
        assert_eq!(topics.len(), 5);
        for (position, (topic, (part, ..))) in topics.iter().zip(PARTS).enumerate() {
            assert_eq!(PartOfAction::of(topic), Some(PartOfAction { action: "/arm/fibonacci", part }));
            assert_eq!(part as usize, position, "the order of the parts");
            assert!(topic.contains(&format!("/{}", part.name())), "{topic}");
        }
        for other in
            ["/_action/status", "/a/_action", "/a/status", "/a/_action/send_goal", "/a/_service_event"]
        {
            assert_eq!(PartOfAction::of(other), None, "{other}");
        }
    }

    #[test]
    fn some_types_say_that_of_the_action() {
        let action_type = |topic: &str, type_name: &'static str| {
            PartOfAction::of(topic).expect("a topic of an action").action_type(type_name)
        };
        let feedback = action_type("/fib/_action/feedback", "a/action/Fibonacci_FeedbackMessage");
        assert_eq!(feedback, Some("a/action/Fibonacci"));
        assert_eq!(action_type("/fib/_action/feedback", "std_msgs/msg/String"), None);
        assert_eq!(action_type("/fib/_action/status", "action_msgs/msg/GoalStatusArray"), None);
    }
}
