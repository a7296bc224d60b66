//! Action clients.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::wire::Encoding;

use super::status::GoalStatus;
use crate::abi::{Event, EventKind, Severity};
use crate::encoding::{decode, encoded, number};
use crate::entity::Entity;
use crate::error::Error;
use crate::event_loop::{self, Source};
use crate::host::{self, actions};
use crate::node::Node;
use crate::types::Type;

/// How a goal ended.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalOutcome<R> {
    /// One of the final states.
    pub status: GoalStatus,
    /// Why the goal is lost or was rejected; otherwise empty.
    pub text: String,
    /// The result, if the server has sent one: not if the goal is lost or rejected.
    pub result: Option<R>,
}

/// Sends goals to an action server, any number at once. Clones are handles of the same client.
pub struct ActionClient<A> {
    inner: Arc<ClientInner>,
    action: PhantomData<fn(A)>,
}

struct ClientInner {
    entity: Entity,
    encoding: Encoding,
    action: String,
    node: Node,
}

/// Handle of a goal at its client. Dropping it does not cancel the goal.
pub struct ClientGoalHandle<A> {
    id: u64,
    status: Arc<Mutex<GoalStatus>>,
    /// Keeps the client.
    _client: ActionClient<A>,
}

impl Node {
    /// Creates a client of an action, such as `create_action_client::<TwoIntsAction>("add")`.
    ///
    /// # Errors
    /// If the name is not valid, or the manifest does not allow it.
    pub fn create_action_client<A: Action>(&self, action: &str) -> Result<ActionClient<A>, Error> {
        let encoding = self.encoding();
        let handle = Type::of_action::<A>(encoding).create(|type_name| {
            actions::create_action_client(self.handle(), action, type_name, number(encoding))
        })?;
        let entity = Entity::new(handle);
        let action = self.resolve(action)?;
        let inner = ClientInner { entity, encoding, action, node: self.clone() };
        Ok(ActionClient { inner: Arc::new(inner), action: PhantomData })
    }
}

impl<A: Action> ActionClient<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        &self.inner.action
    }

    /// Waits at most `timeout` until an action server is connected. False if none is.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the program is to end.
    pub fn wait_for_server(&self, timeout: Duration) -> Result<bool, Error> {
        self.inner.node.context().wait_until(timeout, || Ok(self.server_is_ready()))
    }

    /// Whether an action server is connected.
    pub fn server_is_ready(&self) -> bool {
        actions::action_is_ready(self.inner.entity.handle()).unwrap_or(false)
    }

    /// Sends a goal, whose [status](ClientGoalHandle::status) the handle follows while the context spins.
    ///
    /// # Errors
    /// When the goal cannot be sent.
    pub fn send_goal(&self, goal: &A::Goal) -> Result<ClientGoalHandle<A>, Error> {
        self.send_goal_with(goal, |_| (), |_| ())
    }

    /// Sends a goal. While the context spins, it calls `feedback` for each feedback message and finally `done`.
    ///
    /// # Errors
    /// As [`ActionClient::send_goal`].
    pub fn send_goal_with(
        &self,
        goal: &A::Goal,
        mut feedback: impl FnMut(&A::Feedback) + Send + 'static,
        done: impl FnOnce(GoalOutcome<A::Result>) + Send + 'static,
    ) -> Result<ClientGoalHandle<A>, Error> {
        let ClientInner { entity, encoding, action, .. } = &*self.inner;
        let sent = encoded(goal, *encoding, |bytes| actions::send_goal(entity.handle(), bytes));
        let id = sent.unwrap_or_else(|why| Err(Error::Encode { what: format!("action {action}"), why }))?;
        let status = Arc::new(Mutex::new(GoalStatus::Pending));
        let (inner, followed, mut done) = (Arc::clone(&self.inner), Arc::clone(&status), Some(done));
        let on_event = move |event: &Event, payload: &[u8]| {
            if event.kind == EventKind::FEEDBACK {
                set(&followed, GoalStatus::Active);
                return inner.read(payload).into_iter().for_each(|message| feedback(&message));
            }
            let outcome = inner.outcome::<A>(event, payload);
            set(&followed, outcome.status);
            if let Some(done) = done.take() {
                done(outcome);
            }
        };
        event_loop::add(Source::Goal(id), Box::new(on_event));
        Ok(ClientGoalHandle { id, status, _client: self.clone() })
    }
}

impl ClientInner {
    /// How a goal has ended.
    fn outcome<A: Action>(&self, event: &Event, payload: &[u8]) -> GoalOutcome<A::Result> {
        let status = GoalStatus::of_number(event.status);
        match status {
            GoalStatus::Rejected | GoalStatus::Lost => {
                GoalOutcome { status, text: String::from_utf8_lossy(payload).into_owned(), result: None }
            }
            _ => GoalOutcome { status, text: String::new(), result: self.read(payload) },
        }
    }

    /// Reads a message of the server; logs one that cannot be read.
    fn read<M: runnel_core::Message>(&self, payload: &[u8]) -> Option<M> {
        let read = decode(self.encoding, payload);
        if let Err(why) = &read {
            let text = format!("action {}: a message cannot be read: {why}", self.action);
            host::log(self.node.handle(), Severity::WARN, &text);
        }
        read.ok()
    }
}

fn set(status: &Mutex<GoalStatus>, to: GoalStatus) {
    *status.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

impl<A: Action> ClientGoalHandle<A> {
    /// The goal's status: pending until the first feedback, then active until its end.
    pub fn status(&self) -> GoalStatus {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the server to cancel the goal.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub fn cancel(&self) -> Result<(), Error> {
        actions::cancel_goal(self.id)
    }
}

impl<A> Clone for ActionClient<A> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), action: PhantomData }
    }
}

impl<A> fmt::Debug for ActionClient<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionClient").field("action", &self.inner.action).finish_non_exhaustive()
    }
}

impl<A> fmt::Debug for ClientGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGoalHandle").field("id", &self.id).finish_non_exhaustive()
    }
}
