//! Action servers.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use runnel_core::message::Action;
use runnel_core::sorted::SortedMap;
use runnel_core::wire::Encoding;

use super::status::GoalStatus;
use crate::abi::{Event, EventKind, Severity};
use crate::encoding::{decode, encoded, number};
use crate::entity::Entity;
use crate::error::Error;
use crate::host::{self, actions};
use crate::node::Node;
use crate::types::Type;

/// An action that a node provides. Dropping it ends the action.
#[must_use = "an action server ends when it is dropped: bind it to a name, `let _server = ...`, not `let _ = ...`"]
pub struct ActionServer<A> {
    _entity: Entity,
    action: String,
    _node: Node,
    types: PhantomData<fn(A)>,
}

/// Handle of a goal at its server. Clones are handles of the same goal. If the last handle is dropped before the goal has
/// ended, the goal is aborted, or rejected if it was not accepted.
#[must_use = "a goal is aborted when its last handle is dropped: keep it until it has ended"]
pub struct ServerGoalHandle<A: Action> {
    goal: Arc<ServerGoal<A>>,
}

struct ServerGoal<A: Action> {
    id: u64,
    goal: A::Goal,
    status: Mutex<GoalStatus>,
    server: Arc<ServerInner>,
}

struct ServerInner {
    action: String,
    encoding: Encoding,
    node: Node,
}

/// The goals that have not ended, by id.
type Goals<A> = SortedMap<u64, Weak<ServerGoal<A>>>;

impl Node {
    /// Creates an action server with any number of concurrent goals. While the context spins, `on_goal` gets each goal, and
    /// `on_cancel` each goal that a client cancels. The host has accepted the cancel request; the program ends the goal.
    ///
    /// # Errors
    /// If the name is not valid, or the manifest does not allow it.
    pub fn create_action_server<A: Action>(
        &self,
        action: impl AsRef<str>,
        mut on_goal: impl FnMut(ServerGoalHandle<A>) + Send + 'static,
        mut on_cancel: impl FnMut(ServerGoalHandle<A>) + Send + 'static,
    ) -> Result<ActionServer<A>, Error> {
        let (encoding, name) = (self.encoding(), action.as_ref());
        let handle = Type::of_action::<A>(encoding).create(|type_name| {
            actions::create_action_server(self.handle(), name, type_name, number(encoding))
        })?;
        let action = self.resolve(name)?;
        let server = Arc::new(ServerInner { action: action.clone(), encoding, node: self.clone() });
        let mut goals = Goals::<A>::new();
        let on_event = move |event: &Event, payload: &[u8]| match event.kind {
            EventKind::GOAL_REQUEST => {
                if let Some(goal) = server.goal::<A>(event.id, payload) {
                    goals.retain(|_, goal| goal.strong_count() > 0);
                    goals.insert(event.id, Arc::downgrade(&goal));
                    on_goal(ServerGoalHandle { goal });
                }
            }
            EventKind::CANCEL_REQUEST => {
                // The program may have dropped the goal meanwhile.
                if let Some(goal) = goals.get(&event.id).and_then(Weak::upgrade) {
                    goal.set_status(goal.status().canceling());
                    on_cancel(ServerGoalHandle { goal });
                }
            }
            _ => {}
        };
        let entity = Entity::with_callback(handle, Box::new(on_event));
        Ok(ActionServer { _entity: entity, action, _node: self.clone(), types: PhantomData })
    }
}

impl ServerInner {
    /// Reads a goal. One that cannot be read is rejected.
    fn goal<A: Action>(self: &Arc<Self>, id: u64, payload: &[u8]) -> Option<Arc<ServerGoal<A>>> {
        match decode(self.encoding, payload) {
            Ok(goal) => {
                let status = Mutex::new(GoalStatus::Pending);
                Some(Arc::new(ServerGoal { id, goal, status, server: Arc::clone(self) }))
            }
            Err(why) => {
                self.report(actions::reject_goal(id, &format!("the goal cannot be read: {why}")));
                None
            }
        }
    }

    fn report(&self, done: Result<(), Error>) {
        if let Err(error) = done {
            host::log(self.node.handle(), Severity::WARN, &format!("action {}: {error}", self.action));
        }
    }
}

impl<A: Action> ServerGoal<A> {
    fn status(&self) -> GoalStatus {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_status(&self, status: GoalStatus) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Ends the goal.
    fn finish(&self, status: GoalStatus, result: &A::Result, text: &str) -> Result<(), Error> {
        let (id, number) = (self.id, status.number());
        let sent =
            encoded(result, self.server.encoding, |bytes| actions::finish_goal(id, number, text, bytes));
        let what = || format!("action {}", self.server.action);
        sent.unwrap_or_else(|why| Err(Error::Encode { what: what(), why }))?;
        self.set_status(status);
        Ok(())
    }

    /// Rejects the goal.
    fn reject(&self, text: &str) -> Result<(), Error> {
        actions::reject_goal(self.id, text)?;
        self.set_status(GoalStatus::Rejected);
        Ok(())
    }

    fn error(&self, why: &'static str) -> Error {
        Error::Action { action: self.server.action.clone(), why }
    }
}

/// Ends a goal that has no handle any more.
impl<A: Action> Drop for ServerGoal<A> {
    fn drop(&mut self) {
        let text = "the server has dropped the goal";
        let ended = match self.status() {
            GoalStatus::Pending | GoalStatus::Recalling => self.reject(text),
            GoalStatus::Active | GoalStatus::Preempting => {
                self.finish(GoalStatus::Aborted, &A::Result::default(), text)
            }
            _ => return,
        };
        self.server.report(ended);
    }
}

impl<A: Action> ServerGoalHandle<A> {
    /// The goal's content.
    pub fn goal(&self) -> &A::Goal {
        &self.goal.goal
    }

    /// The goal's status. A cancel request changes it.
    pub fn status(&self) -> GoalStatus {
        self.goal.status()
    }

    /// Whether a client has requested to cancel the goal, which has not ended.
    pub fn is_cancel_requested(&self) -> bool {
        self.status().is_cancel_requested()
    }

    /// Accepts the goal, which becomes active.
    ///
    /// # Errors
    /// [`Error::Action`] if the goal was accepted before or has ended.
    pub fn accept(&self) -> Result<(), Error> {
        let active = match self.status() {
            GoalStatus::Pending => GoalStatus::Active,
            GoalStatus::Recalling => GoalStatus::Preempting,
            _ => return Err(self.goal.error("the goal was accepted before, or has ended")),
        };
        actions::accept_goal(self.goal.id)?;
        self.goal.set_status(active);
        Ok(())
    }

    /// Publishes feedback about the goal.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish).
    pub fn publish_feedback(&self, feedback: &A::Feedback) -> Result<(), Error> {
        let (id, server) = (self.goal.id, &self.goal.server);
        let sent = encoded(feedback, server.encoding, |bytes| actions::publish_feedback(id, bytes));
        sent.unwrap_or_else(|why| Err(Error::Encode { what: format!("action {}", server.action), why }))
    }

    /// Rejects the goal, which must not have been accepted. Clients do not get the result.
    ///
    /// # Errors
    /// [`Error::Action`] if the goal was accepted before or has ended.
    pub fn reject(&self, _result: &A::Result, text: &str) -> Result<(), Error> {
        match self.status() {
            GoalStatus::Pending | GoalStatus::Recalling => self.goal.reject(text),
            _ => Err(self.goal.error("the goal was accepted before, or has ended")),
        }
    }

    /// Ends the goal as succeeded. A ROS 2 client gets the result, but no text.
    ///
    /// # Errors
    /// [`Error::Action`] if the goal was not accepted or has ended; [`Error::Encode`] or [`Error::TooLong`] if the result
    /// cannot be sent: the goal then continues.
    pub fn succeed(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.end(GoalStatus::Succeeded, result, text)
    }

    /// Ends the goal as aborted. A ROS 2 client gets the result, but no text.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::succeed`].
    pub fn abort(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.end(GoalStatus::Aborted, result, text)
    }

    /// Ends the goal as canceled: recalled if it was not accepted, otherwise preempted.
    ///
    /// # Errors
    /// [`Error::Action`] if the goal has ended, and otherwise as [`ServerGoalHandle::succeed`].
    pub fn canceled(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        match self.status() {
            GoalStatus::Pending | GoalStatus::Recalling => {
                self.goal.finish(GoalStatus::Recalled, result, text)
            }
            _ => self.end(GoalStatus::Preempted, result, text),
        }
    }

    fn end(&self, status: GoalStatus, result: &A::Result, text: &str) -> Result<(), Error> {
        match self.status() {
            GoalStatus::Active | GoalStatus::Preempting => self.goal.finish(status, result, text),
            _ => Err(self.goal.error("the goal was not accepted, or has ended")),
        }
    }
}

impl<A> ActionServer<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        &self.action
    }
}

impl<A: Action> Clone for ServerGoalHandle<A> {
    fn clone(&self) -> Self {
        Self { goal: Arc::clone(&self.goal) }
    }
}

impl<A> fmt::Debug for ActionServer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionServer").field("action", &self.action).finish_non_exhaustive()
    }
}

impl<A: Action> fmt::Debug for ServerGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerGoalHandle").field("id", &self.goal.id).finish_non_exhaustive()
    }
}
