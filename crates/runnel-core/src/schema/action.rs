//! Messages that each generation derives from an action.

use super::generation::Generation;
use super::parse::parse_message;
use super::types::{ActionDef, Arity, Element, Field, MessageDef, TypeName};

/// The suffixes of the messages of [`ActionDef::derived_messages`], in its order.
const SUFFIXES: [&str; 7] =
    ["Goal", "Result", "Feedback", "ActionGoal", "ActionResult", "ActionFeedback", "Action"];
/// Number of messages of both generations.
const SHARED: usize = 3;

/// The messages that ROS 2 derives from an action `X` in addition to goal, result and feedback: suffixes in both generations,
/// and fields, in which `X` is the action's name.
///
/// Source: the ROS 2 design article "Actions"; `rosidl_parser`'s `definition.py`.
const ROS2_MESSAGES: [(&str, &str, &str); 5] = [
    ("SendGoalRequest", "SendGoal_Request", "unique_identifier_msgs/UUID goal_id\nXGoal goal\n"),
    ("SendGoalResponse", "SendGoal_Response", "bool accepted\nbuiltin_interfaces/Time stamp\n"),
    ("GetResultRequest", "GetResult_Request", "unique_identifier_msgs/UUID goal_id\n"),
    ("GetResultResponse", "GetResult_Response", "int8 status\nXResult result\n"),
    ("FeedbackMessage", "FeedbackMessage", "unique_identifier_msgs/UUID goal_id\nXFeedback feedback\n"),
];

/// The suffixes of all messages of an action, each with the only generation that has it.
pub(super) fn suffixes() -> impl Iterator<Item = (&'static str, Option<Generation>)> {
    let of_ros1 = |(index, suffix)| (suffix, (index >= SHARED).then_some(Generation::Ros1));
    let of_ros2 = ROS2_MESSAGES.into_iter().map(|(suffix, ..)| (suffix, Some(Generation::Ros2)));
    SUFFIXES.into_iter().enumerate().map(of_ros1).chain(of_ros2)
}

impl ActionDef {
    /// One of the messages that either generation makes of the action.
    pub(super) fn derived_message(&self, name: &TypeName) -> Option<MessageDef> {
        let of_ros1 = self.derived_messages().into_iter();
        of_ros1.chain(self.ros2_messages()).find(|message| message.name == *name)
    }

    /// The messages that ROS 2 makes of the action besides its goal, result and feedback.
    fn ros2_messages(&self) -> impl Iterator<Item = MessageDef> {
        ROS2_MESSAGES.into_iter().filter_map(|(suffix, ros2_suffix, fields)| {
            let TypeName { package, name } = &self.name;
            let text = fields.replace("\nX", &format!("\n{name}"));
            let mut def = parse_message(&self.name.with_suffix(suffix), &text, name).ok()?;
            def.ros2_name = format!("{package}/action/{name}_{ros2_suffix}");
            Some(def)
        })
    }

    /// The messages that ROS 1 makes of the action `X`: `XGoal`, `XResult`, `XFeedback`, `XActionGoal`,
    /// `XActionResult`, `XActionFeedback` and `XAction`.
    pub fn derived_messages(&self) -> [MessageDef; 7] {
        let own = |suffix: &str| Spelled::own(&self.name, suffix);
        let header = || Spelled::other("Header", "std_msgs", "Header");
        let id = || Spelled::other("actionlib_msgs/GoalID", "actionlib_msgs", "GoalID");
        let status = || Spelled::other("actionlib_msgs/GoalStatus", "actionlib_msgs", "GoalStatus");
        let message =
            |suffix: &str, fields: [(&str, Spelled); 3]| message(self.name.with_suffix(suffix), fields);
        let [_, _, _, action_goal, action_result, action_feedback, action] = SUFFIXES;
        [
            self.goal.clone(),
            self.result.clone(),
            self.feedback.clone(),
            message(action_goal, [("header", header()), ("goal_id", id()), ("goal", own("Goal"))]),
            message(action_result, [("header", header()), ("status", status()), ("result", own("Result"))]),
            message(
                action_feedback,
                [("header", header()), ("status", status()), ("feedback", own("Feedback"))],
            ),
            message(
                action,
                [
                    ("action_goal", own(action_goal)),
                    ("action_result", own(action_result)),
                    ("action_feedback", own(action_feedback)),
                ],
            ),
        ]
    }
}

/// A message type and how a file spells it.
struct Spelled {
    spelling: String,
    name: TypeName,
}

impl Spelled {
    fn own(action: &TypeName, suffix: &str) -> Self {
        let name = action.with_suffix(suffix);
        Self { spelling: name.name.clone(), name }
    }

    fn other(spelling: &str, package: &str, name: &str) -> Self {
        Self { spelling: spelling.to_owned(), name: TypeName::new(package, name) }
    }
}

fn message(name: TypeName, fields: [(&str, Spelled); 3]) -> MessageDef {
    let text = fields.iter().map(|(field, part)| format!("{} {field}\n", part.spelling)).collect();
    let fields = fields.into_iter().map(|(name, part)| Field {
        name: name.to_owned(),
        element: Element::Message(part.name),
        arity: Arity::One,
        default: None,
        spelling: part.spelling,
    });
    let ros2_name = format!("{}/msg/{}", name.package, name.name);
    MessageDef { name, ros2_name, constants: Vec::new(), fields: fields.collect(), text }
}
