//! Action servers of types known only at run time.

use std::fmt;
use std::sync::Arc;

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::ActionSchema;

use super::server::ServerParts;
use super::server_core::ServerGoal;
use super::server_types::DynamicTypes;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::node::Node;
use crate::node::options::ServerOptions;

impl Node {
    /// Creates a server of an action whose type is known only at run time. With a ROS 2 schema it is only in that graph.
    ///
    /// # Errors
    /// As [`Node::create_action_server`].
    pub fn create_dynamic_action_server(
        &self,
        action: impl Into<ServerOptions>,
        schema: &Arc<ActionSchema>,
        mut on_goal: impl FnMut(DynamicServerGoalHandle) + Send + 'static,
        mut on_cancel: impl FnMut(DynamicServerGoalHandle) + Send + 'static,
    ) -> Result<DynamicActionServer, Error> {
        let on_goal = move |goal| on_goal(DynamicServerGoalHandle { goal, is_asked: false });
        let on_cancel = move |goal| on_cancel(DynamicServerGoalHandle { goal, is_asked: true });
        let types = DynamicTypes::of(schema);
        Ok(DynamicActionServer { parts: self.start_action_server(action.into(), types, on_goal, on_cancel)? })
    }
}

/// As [`ActionServer`](crate::ActionServer), for a type known only at run time.
#[must_use = "an action server ends when it is dropped: bind it to a name, `let _server = ...`, not `let _ = ...`"]
pub struct DynamicActionServer {
    parts: ServerParts<DynamicTypes>,
}

impl DynamicActionServer {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.parts.core().action()
    }
}

/// As [`ServerGoalHandle`](crate::ServerGoalHandle), for a type known only at run time. Results and feedback must be of the
/// action's type.
#[derive(Clone)]
#[must_use = "a goal is aborted when its last handle is dropped: move it to a thread that ends it"]
pub struct DynamicServerGoalHandle {
    goal: Arc<ServerGoal<DynamicTypes>>,
    /// The cancel callback gets it, and clones share that.
    is_asked: bool,
}

impl DynamicServerGoalHandle {
    /// The goal's id.
    pub fn id(&self) -> &GoalId {
        &self.goal.id
    }

    /// The goal's content.
    pub fn goal(&self) -> &DynamicMessage {
        &self.goal.goal
    }

    /// As [`ServerGoalHandle::status`](crate::ServerGoalHandle::status).
    pub fn status(&self) -> GoalStatus {
        self.goal.status(self.is_asked)
    }

    /// As [`ServerGoalHandle::accept`](crate::ServerGoalHandle::accept).
    ///
    /// # Errors
    /// As [`ServerGoalHandle::accept`](crate::ServerGoalHandle::accept).
    pub fn accept(&self) -> Result<(), Error> {
        self.goal.core.accept(&self.goal)
    }

    /// As [`ServerGoalHandle::refuse_cancel`](crate::ServerGoalHandle::refuse_cancel).
    ///
    /// # Errors
    /// As [`ServerGoalHandle::refuse_cancel`](crate::ServerGoalHandle::refuse_cancel).
    pub fn refuse_cancel(&self) -> Result<(), Error> {
        self.goal.core.refuse_cancel(&self.goal)
    }

    /// As [`ServerGoalHandle::publish_feedback`](crate::ServerGoalHandle::publish_feedback).
    ///
    /// # Errors
    /// As [`ServerGoalHandle::publish_feedback`](crate::ServerGoalHandle::publish_feedback).
    pub fn publish_feedback(&self, feedback: &DynamicMessage) -> Result<(), Error> {
        let core = &self.goal.core;
        core.publish_feedback(&self.goal, &core.types.feedback(feedback))
    }

    /// Rejects the goal, with an empty result.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::reject`](crate::ServerGoalHandle::reject).
    pub fn reject(&self, text: &str) -> Result<(), Error> {
        self.finish(Step::Reject, None, text)
    }

    /// As [`ServerGoalHandle::succeed`](crate::ServerGoalHandle::succeed). Without a
    /// result, the default one is sent.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::succeed`](crate::ServerGoalHandle::succeed).
    pub fn succeed(&self, result: Option<&DynamicMessage>, text: &str) -> Result<(), Error> {
        self.finish(Step::Succeed, result, text)
    }

    /// As [`ServerGoalHandle::abort`](crate::ServerGoalHandle::abort). Without a
    /// result, the default one is sent.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::abort`](crate::ServerGoalHandle::abort).
    pub fn abort(&self, result: Option<&DynamicMessage>, text: &str) -> Result<(), Error> {
        self.finish(Step::Abort, result, text)
    }

    /// As [`ServerGoalHandle::canceled`](crate::ServerGoalHandle::canceled). Without a
    /// result, the default one is sent.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::canceled`](crate::ServerGoalHandle::canceled).
    pub fn canceled(&self, result: Option<&DynamicMessage>, text: &str) -> Result<(), Error> {
        self.finish(Step::Cancel, result, text)
    }

    fn finish(&self, step: Step, result: Option<&DynamicMessage>, text: &str) -> Result<(), Error> {
        let core = &self.goal.core;
        let result = core.types.result_or_empty(result);
        core.finish(&self.goal, step, &result, text)
    }
}

impl fmt::Debug for DynamicActionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicActionServer").field("action", &self.action()).finish_non_exhaustive()
    }
}

impl fmt::Debug for DynamicServerGoalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicServerGoalHandle").field("id", self.id()).finish_non_exhaustive()
    }
}
