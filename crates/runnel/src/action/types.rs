//! Message types of an action's topics and services.

use runnel_core::Message;
use runnel_core::message::{Action, Service};
use runnel_core::names::{self, NameUse};
use runnel_core::schema::{ActionSchema, Generation, TypeName, ros2_action_messages};
use runnel_msgs::action_msgs;
use runnel_msgs::action_msgs::srv::CancelGoal;
use runnel_msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};

use crate::error::Error;
use crate::node::Node;
use crate::rtps::{ServiceMessageType, ServiceTypeNames};
use crate::types::announced::{Ros1Type, Ros2Type, Topic};
use crate::types::type_mapping::TypeMapping;

/// A message type as announced to ROS 1 peers.
pub(super) struct Type(Ros1Type);

/// The types of an action, in each generation in which it has a form.
pub(super) struct ActionTypes {
    pub(super) ros1: Option<Ros1ActionTypes>,
    pub(super) ros2: Option<Ros2ActionTypes>,
}

/// The types of the topics below an action's name in ROS 1.
pub(super) struct Ros1ActionTypes {
    pub(super) goal: Type,
    pub(super) result: Type,
    pub(super) feedback: Type,
}

/// The types of the services and of the feedback topic below an action's name in ROS 2.
pub(super) struct Ros2ActionTypes {
    pub(super) send_goal: ServiceTypeNames,
    pub(super) get_result: ServiceTypeNames,
    pub(super) feedback: Ros2Type,
}

impl ActionTypes {
    /// The types of an action.
    pub(super) fn of<A: Action>() -> Self {
        let ros1 = Ros1ActionTypes {
            goal: Type::of::<A::ActionGoal>(),
            result: Type::of::<A::ActionResult>(),
            feedback: Type::of::<A::ActionFeedback>(),
        };
        let ros2 = Ros2ActionTypes {
            send_goal: service::<A::SendGoal>(),
            get_result: service::<A::GetResult>(),
            feedback: Ros2Type::of::<A::FeedbackMessage>(),
        };
        Self { ros1: Some(ros1), ros2: Some(ros2) }
    }

    /// The types of an action known only at run time, whose goal, result and feedback have these forms.
    pub(super) fn of_schema(action: &ActionSchema, parts: [&TypeMapping; 3]) -> Self {
        // The definition of another generation is not that of ROS 1 topics.
        let is_of_ros1 = action.goal.generation == Generation::Ros1;
        Self {
            ros1: is_of_ros1.then(|| Ros1ActionTypes::of_schema(action)),
            ros2: Ros2ActionTypes::of_mappings(&action.name, parts),
        }
    }
}

impl Ros1ActionTypes {
    fn of_schema(action: &ActionSchema) -> Self {
        let [goal, result, feedback] = [&action.action_goal, &action.action_result, &action.action_feedback]
            .map(|schema| Type(Ros1Type::of_schema(schema)));
        Self { goal, result, feedback }
    }
}

impl Ros2ActionTypes {
    /// `None` if goal, result or feedback has no form in ROS 2.
    fn of_mappings(action: &TypeName, parts: [&TypeMapping; 3]) -> Option<Self> {
        let [goal, result, feedback] = parts.map(|part| part.in_generation(Generation::Ros2).ok());
        let messages = ros2_action_messages(action, [goal?, result?, feedback?].map(|schema| &**schema));
        let [goal_request, goal_response, result_request, result_response, feedback] =
            messages.map(|(dds_type, rihs01)| ServiceMessageType { dds_type, rihs01 });
        Some(Self {
            send_goal: ServiceTypeNames { request: goal_request, response: goal_response },
            get_result: ServiceTypeNames { request: result_request, response: result_response },
            feedback: Ros2Type::without_definition(feedback.dds_type, feedback.rihs01),
        })
    }
}

/// The type of `cancel_goal` in ROS 2.
pub(super) fn cancel_goal() -> ServiceTypeNames {
    service::<CancelGoal>()
}

fn service<S: Service>() -> ServiceTypeNames {
    let message = |dds_type: &str, rihs01: &str| ServiceMessageType {
        dds_type: dds_type.to_owned(),
        rihs01: rihs01.to_owned(),
    };
    ServiceTypeNames {
        request: message(S::Request::DDS_TYPE, S::Request::RIHS01),
        response: message(S::Response::DDS_TYPE, S::Response::RIHS01),
    }
}

/// The type of `status` in ROS 2.
pub(super) fn ros2_status() -> Ros2Type {
    Ros2Type::of::<action_msgs::msg::GoalStatusArray>()
}

/// The absolute name of an action.
pub(super) fn action_name(node: &Node, action: &str) -> Result<String, Error> {
    let name = node.resolve_for(NameUse::Action, action)?;
    // In both graphs, an action whose name ROS 2 does not allow stays in ROS 1.
    if !node.inner.is_in_ros1() {
        names::validate_name(&name, names::Generation::Ros2)
            .map_err(|error| error.used_for(NameUse::Action))?;
    }
    Ok(name)
}

/// The absolute name of a topic or service below an action's absolute name in ROS 2. The action's name is already
/// remapped; this one may also be remapped individually.
pub(super) fn ros2_name(node: &Node, action: &str, suffix: &str) -> Result<String, Error> {
    node.resolve(&format!("{action}/_action/{suffix}"))
}

impl Type {
    pub(super) fn of<M: Message>() -> Self {
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
