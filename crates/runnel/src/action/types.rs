//! Message types of an action's topics.

use runnel_core::Message;
use runnel_core::message::Action;
use runnel_core::schema::ActionSchema;
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};

use crate::announced::{Ros1Type, Topic};
use crate::error::Error;
use crate::node::Node;

/// A message type as announced to peers.
pub(super) struct Type(Ros1Type);

/// The types of the topics below an action's name.
pub(super) struct ActionTypes {
    pub(super) goal: Type,
    pub(super) result: Type,
    pub(super) feedback: Type,
}

impl ActionTypes {
    /// The types of an action.
    pub(super) fn of<A: Action>() -> Self {
        Self {
            goal: Type::of::<A::ActionGoal>(),
            result: Type::of::<A::ActionResult>(),
            feedback: Type::of::<A::ActionFeedback>(),
        }
    }

    /// The types of an action known only at run time.
    pub(super) fn of_schema(action: &ActionSchema) -> Self {
        let [goal, result, feedback] = [&action.action_goal, &action.action_result, &action.action_feedback]
            .map(|schema| Type(Ros1Type::of_schema(schema)));
        Self { goal, result, feedback }
    }
}

impl Type {
    fn of<M: Message>() -> Self {
        Self(Ros1Type::of::<M>())
    }

    /// The type of `cancel`.
    pub(super) fn cancel() -> Self {
        Self::of::<GoalID>()
    }

    /// The type of `status`.
    pub(super) fn status() -> Self {
        Self::of::<GoalStatusArray>()
    }

    /// The topic `suffix` below an action's absolute name. The action's name is already remapped; the topic may also be
    /// remapped individually, as in actionlib. ROS 2 actions have no such topics.
    pub(super) fn topic(self, node: &Node, action: &str, suffix: &str) -> Result<Topic, Error> {
        Ok(Topic::of_ros1(node.resolve(&format!("{action}/{suffix}"))?, self.0))
    }
}
