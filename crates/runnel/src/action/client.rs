//! Action clients.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::time::Time;
use runnel_core::wire::Reader;

use super::content::{ReceivedContent, read};
use super::core::ClientCore;
use super::goal::{Callback, Ended, Event};
use super::goal_handle::GoalHandleBase;
use super::types::ActionTypes;
use crate::error::Error;
use crate::goal_status::GoalStatus;
use crate::log_output::console;
use crate::node::Node;
use crate::ready::Dispatch;

impl Node {
    /// Creates a client of an action, such as `create_action_client::<TwoIntsAction>("add")`, in each graph of the node.
    /// A goal is sent in ROS 2 if a server is ready there, else in ROS 1.
    ///
    /// # Errors
    /// As [`Node::create_publisher`] and [`Node::create_subscription`].
    pub fn create_action_client<A: Action>(&self, action: &str) -> Result<ActionClient<A>, Error> {
        Ok(ActionClient { core: ClientCore::new(self, action, ActionTypes::of::<A>())?, action: PhantomData })
    }
}

/// Sends goals to an action server, any number at once and from any thread. Clones are handles of the same client.
pub struct ActionClient<A> {
    core: Arc<ClientCore>,
    action: PhantomData<fn(A)>,
}

impl<A> Clone for ActionClient<A> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), action: PhantomData }
    }
}

impl<A> fmt::Debug for ActionClient<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionClient").field("action", &self.core.action()).finish_non_exhaustive()
    }
}

/// How a goal ended.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalOutcome<R> {
    /// One of the final states.
    pub status: GoalStatus,
    /// The server's text about that status, or why the goal is lost. ROS 2 servers send no text.
    pub text: String,
    /// The result, if the server has sent one: not if the goal is lost, or rejected in ROS 2.
    pub result: Option<R>,
}

impl<A: Action> ActionClient<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.core.action()
    }

    /// Waits at most `timeout` until an action server is connected, on all topics and services of a graph. False if none
    /// is. A goal that is sent earlier is lost. No thread needs to spin, and a callback may wait.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub fn wait_for_server(&self, timeout: Duration) -> Result<bool, Error> {
        self.core.wait_for_server(timeout)
    }

    /// Whether an action server is connected, on all topics and services of a graph.
    pub fn server_is_ready(&self) -> bool {
        self.core.is_connected()
    }

    /// Sends a goal. The client tracks it until it ends or its last handle is dropped, which does not cancel it.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::TooManyGoals`](crate::ActionError::TooManyGoals) if the client tracks as many
    /// goals as it can; [`Error::TooLong`], [`Error::NoMemory`], [`Error::Encode`] or [`Error::Transcode`] if the goal
    /// cannot be sent; [`Error::ShuttingDown`] when the context ends.
    pub fn send_goal(&self, goal: &A::Goal) -> Result<ClientGoalHandle<A>, Error> {
        self.send(goal, None)
    }

    /// Sends a goal. A thread that spins, or waits for this goal's result, calls `feedback` for each feedback message
    /// and finally `done`. If `feedback` is slower than the server, the oldest messages are dropped. `done` is also
    /// called when the handle is dropped. Neither is called once the client and all handles of its goals are dropped.
    /// Without a server `done` is not called. A goal that was sent too early is lost (see [`GoalStatus::Lost`]) when
    /// the server does not list it for 30 s.
    ///
    /// # Errors
    /// As [`ActionClient::send_goal`].
    pub fn send_goal_with(
        &self,
        goal: &A::Goal,
        feedback: impl FnMut(&A::Feedback) + Send + 'static,
        done: impl FnOnce(GoalOutcome<A::Result>) + Send + 'static,
    ) -> Result<ClientGoalHandle<A>, Error> {
        let action = self.core.action().to_owned();
        let callback = event_callback(action, read::<A::Feedback>, read::<A::Result>, feedback, done);
        self.send(goal, Some((self.core.executor_dispatch(), callback)))
    }

    pub(super) fn core(&self) -> &Arc<ClientCore> {
        &self.core
    }

    pub(super) fn send(
        &self,
        goal: &A::Goal,
        callback: Option<(Dispatch, Callback)>,
    ) -> Result<ClientGoalHandle<A>, Error> {
        let goal = self.core.send(goal, callback)?;
        Ok(ClientGoalHandle { base: GoalHandleBase::new(&self.core, goal), action: PhantomData })
    }

    /// Requests the server to cancel all goals, including those of other clients.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish).
    pub fn cancel_all_goals(&self) -> Result<(), Error> {
        self.core.cancel_many(Time::default())
    }

    /// Requests the server to cancel all goals with this stamp or an earlier one, including those of other clients.
    ///
    /// # Errors
    /// As [`ActionClient::cancel_all_goals`].
    pub fn cancel_goals_at_and_before_time(&self, time: Time) -> Result<(), Error> {
        self.core.cancel_many(time)
    }
}

/// Handle of a sent goal. Clones are handles of the same goal. It dereferences to [`GoalHandleBase`], the part that
/// does not depend on the action's type.
pub struct ClientGoalHandle<A> {
    base: GoalHandleBase,
    action: PhantomData<fn(A)>,
}

impl<A> Clone for ClientGoalHandle<A> {
    fn clone(&self) -> Self {
        Self { base: self.base.clone(), action: PhantomData }
    }
}

impl<A> Deref for ClientGoalHandle<A> {
    type Target = GoalHandleBase;

    fn deref(&self) -> &GoalHandleBase {
        &self.base
    }
}

impl<A> fmt::Debug for ClientGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientGoalHandle").field("id", self.id()).finish_non_exhaustive()
    }
}

impl<A: Action> ClientGoalHandle<A> {
    /// Waits at most `timeout` for the result; `None` if there is none yet. No thread needs to spin: on this thread
    /// only the callbacks of this goal run meanwhile. A callback may wait, too.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends.
    pub fn wait_for_result(&self, timeout: Duration) -> Result<Option<GoalOutcome<A::Result>>, Error> {
        self.wait_for_outcome(timeout, read::<A::Result>)
    }
}

/// Converts the end of a goal to the user's outcome.
pub(super) fn outcome<R>(end: Ended, read: impl Fn(Reader<'_>) -> Result<R, String>) -> GoalOutcome<R> {
    let Ended { status, text, result } = end;
    match result.map(|result| read_content(&result, read)).transpose() {
        Ok(result) => GoalOutcome { status, text, result },
        Err(error) => {
            let text = format!("the action server sent a result that cannot be read: {error}");
            GoalOutcome { status: GoalStatus::Lost, text, result: None }
        }
    }
}

/// Reads a result or feedback.
pub(super) fn read_content<T>(
    content: &ReceivedContent,
    read: impl Fn(Reader<'_>) -> Result<T, String>,
) -> Result<T, String> {
    read(content.reader().map_err(|error| error.to_string())?)
}

/// Callback that decodes feedback and the result, and calls the user's callbacks.
pub(super) fn event_callback<F, R>(
    action: String,
    read_feedback: impl Fn(Reader<'_>) -> Result<F, String> + Send + 'static,
    read_result: impl Fn(Reader<'_>) -> Result<R, String> + Send + 'static,
    mut feedback: impl FnMut(&F) + Send + 'static,
    done: impl FnOnce(GoalOutcome<R>) + Send + 'static,
) -> Callback {
    let (mut done, mut is_reported) = (Some(done), false);
    Box::new(move |event| match event {
        Event::Feedback(content) => match read_content(&content, &read_feedback) {
            Ok(message) => feedback(&message),
            Err(error) if !std::mem::replace(&mut is_reported, true) => {
                console::error!("action {action}: the server sends feedback that cannot be read: {error}");
            }
            Err(_) => {}
        },
        Event::End(end) => {
            if let Some(done) = done.take() {
                done(outcome(end, &read_result));
            }
        }
    })
}
