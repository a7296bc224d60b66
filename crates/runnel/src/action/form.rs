//! The three messages of an action that travel, as peers are told of them.

use runnel_core::Message;
use runnel_core::message::Action;
use runnel_core::schema::{ActionSchema, Schema};
use runnel_msgs::actionlib_msgs::{GoalID, GoalStatusArray};

use crate::announced::Announced;
use crate::error::Error;
use crate::node::Node;

/// A message type as peers are told of it.
#[derive(Clone, Copy)]
pub(super) struct Type<'a> {
    name: &'a str,
    md5: &'a str,
    definition: &'a str,
    has_header: bool,
}

/// The types of what is sent below an action's name.
#[derive(Clone)]
pub(super) struct Form<'a> {
    pub(super) goal: Type<'a>,
    pub(super) result: Type<'a>,
    pub(super) feedback: Type<'a>,
}

impl Form<'static> {
    /// The types of an action.
    pub(super) fn of<A: Action>() -> Self {
        Self {
            goal: Type::of::<A::ActionGoal>(),
            result: Type::of::<A::ActionResult>(),
            feedback: Type::of::<A::ActionFeedback>(),
        }
    }
}

impl<'a> Form<'a> {
    /// The types of an action that is known only while the program runs. Their names have no more than a schema says, so
    /// they are given beside it, in the order of the fields here.
    pub(super) fn of_schema(action: &'a ActionSchema, names: &'a [String; 3]) -> Self {
        let [goal, result, feedback] = names;
        Self {
            goal: Type::of_schema(&action.action_goal, goal),
            result: Type::of_schema(&action.action_result, result),
            feedback: Type::of_schema(&action.action_feedback, feedback),
        }
    }
}

impl<'a> Type<'a> {
    fn of<M: Message>() -> Self {
        Self { name: M::TYPE, md5: M::MD5, definition: M::DEFINITION, has_header: M::HAS_HEADER }
    }

    fn of_schema(schema: &'a Schema, name: &'a str) -> Self {
        let Schema { md5, full_text, def, .. } = schema;
        Self { name, md5, definition: full_text, has_header: def.has_header() }
    }

    /// The type of `cancel`.
    pub(super) fn cancel() -> Self {
        Self::of::<GoalID>()
    }

    /// The type of `status`.
    pub(super) fn status() -> Self {
        Self::of::<GoalStatusArray>()
    }

    /// The topic of this type at `suffix` below an action's absolute name. The action was remapped as a whole, and the topic
    /// may be on its own, as in actionlib.
    pub(super) fn topic(self, node: &Node, action: &str, suffix: &str) -> Result<Announced<'a>, Error> {
        let Self { name: type_name, md5, definition, has_header } = self;
        let topic = node.resolve(&format!("{action}/{suffix}"))?;
        Ok(Announced { topic, type_name, md5, definition, has_header })
    }
}
