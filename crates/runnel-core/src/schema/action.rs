//! The messages that ROS 1 makes of an action.

use super::types::{ActionDef, Arity, Element, Field, MessageDef, TypeName};

/// The suffixes of the messages that [`ActionDef::derived_messages`] gives, in its order.
pub(super) const SUFFIXES: [&str; 7] =
    ["Goal", "Result", "Feedback", "ActionGoal", "ActionResult", "ActionFeedback", "Action"];

impl ActionDef {
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
