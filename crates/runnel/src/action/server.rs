//! Action servers with any number of concurrent goals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::qos::QoS;
use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError};

use super::server_core::{ServerCore, ServerGoal};
use super::types::{ActionTypes, Type};
use crate::callback_group::CallbackGroup;
use crate::data::Delivery;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::node::Node;
use crate::options::ServerOptions;
use crate::subscription::{Subscription, Takes};
use crate::timer::Timer;

/// Default frequency of the status list, in hertz.
const FREQUENCY: f64 = 5.0;

/// Maximum frequency, in hertz.
const MAX_FREQUENCY: f64 = 1000.0;

/// Default time for which goals are listed after their end, in seconds.
const KEEP: f64 = 5.0;

/// Queue depth of goals and cancel requests while callbacks run.
const DEPTH: usize = 1000;

impl Node {
    /// Creates an action server with any number of concurrent goals. On a spinning thread, `on_goal` gets each goal and
    /// `on_cancel` each goal that a client wants to cancel. The goal's handle reports progress and the result, from any
    /// thread and at any time. The name may be given as [`ServerOptions`].
    ///
    /// A spinning thread publishes the list of goals five times a second, or at the frequency of the parameter
    /// `actionlib_status_frequency`. A goal stays listed for 5 s after its end, or for the time of the parameter
    /// `status_list_timeout` below the action's name.
    ///
    /// # Errors
    /// As [`Node::create_publisher`] and [`Node::create_subscription`], and when one of those parameters is not a
    /// number.
    pub fn create_action_server<A: Action>(
        &self,
        action: impl Into<ServerOptions>,
        mut on_goal: impl FnMut(ServerGoalHandle<A>) + Send + 'static,
        mut on_cancel: impl FnMut(ServerGoalHandle<A>) + Send + 'static,
    ) -> Result<ActionServer<A>, Error> {
        let ServerOptions { name, group } = action.into();
        let action = &self.resolve(&name)?;
        self.inner.needs_ros1(format_args!("action {action}"))?;
        let keep = Duration::try_from_secs_f64(self.number(&format!("{action}/status_list_timeout"), KEEP)?);
        let frequency = self.status_frequency(action)?;
        let core = ServerCore::new(self, action, keep.unwrap_or_default())?;
        let server = Arc::clone(&core);
        let cancels = move |client: &str, bytes: Bytes<'_>| {
            server.on_cancel_message(client, bytes)?.into_iter().for_each(&mut on_cancel);
            Ok(())
        };
        let server = Arc::clone(&core);
        let goals = move |client: &str, bytes: Bytes<'_>| {
            server.on_goal_message(client, bytes)?.into_iter().for_each(&mut on_goal);
            Ok(())
        };
        let inputs = [
            self.subscribe_to_clients(Type::cancel(), (action, "cancel"), group.as_ref(), cancels)?,
            self.subscribe_to_clients(ActionTypes::of::<A>().goal, (action, "goal"), group.as_ref(), goals)?,
        ];
        core.publish_status();
        let timer = Some(frequency).filter(|frequency| *frequency > 0.0).map(|frequency| {
            let (period, core) = (1.0 / frequency.min(MAX_FREQUENCY), Arc::clone(&core));
            let period = Duration::try_from_secs_f64(period).unwrap_or(Duration::MAX);
            self.create_timer(period, move || core.publish_status())
        });
        Ok(ActionServer { inputs: Some(inputs), timer, core })
    }

    /// Subscribes to a topic of clients. `handler` gets the client's name and the bytes.
    fn subscribe_to_clients(
        &self,
        of: Type,
        (action, suffix): (&str, &str),
        group: Option<&CallbackGroup>,
        mut handler: impl FnMut(&str, Bytes<'_>) -> Result<(), DecodeError> + Send + 'static,
    ) -> Result<Subscription, Error> {
        let callback = move |delivery: Delivery<'_>| match delivery {
            Delivery::Bytes { bytes, from, .. } => Ok(handler(&from.publisher, bytes.bytes())?),
            Delivery::Shared { .. } => Ok(()),
        };
        let group = (Takes::default(), &CallbackGroup::for_entity(group));
        self.subscribe_in_group(&of.topic(self, action, suffix)?, QoS::keep_last(DEPTH), group, callback)
    }

    /// Frequency of the status list, in hertz. The list is not published periodically unless it is above 0.
    fn status_frequency(&self, action: &str) -> Result<f64, Error> {
        let old = format!("{action}/status_frequency");
        match self.has_param(&old) {
            Ok(true) => {
                let advice = format_args!("{old} is deprecated: use actionlib_status_frequency");
                self.inner.log().log_library(log::Level::Warn, advice);
                return self.number(&old, FREQUENCY);
            }
            Err(Error::NoMaster { uri, .. }) => {
                let advice = format_args!(
                    "action {action}: no master answers at {uri}; clients find it once one does"
                );
                self.inner.log().log_library(log::Level::Warn, advice);
                return Ok(FREQUENCY);
            }
            _ => {}
        }
        match self.search_param("actionlib_status_frequency") {
            Ok(Some(name)) => self.number(&name, FREQUENCY),
            Ok(None) | Err(_) => Ok(FREQUENCY),
        }
    }

    /// A parameter, or `default` if it is not set or the master cannot be reached.
    fn number(&self, name: &str, default: f64) -> Result<f64, Error> {
        match self.get_param(name) {
            Err(Error::Call(_) | Error::NoMaster { .. }) => Ok(default),
            number => Ok(number?.unwrap_or(default)),
        }
    }
}

/// An action that a node provides. Dropping it ends the action: accepted goals are aborted, and pending or unread goals
/// are rejected.
#[must_use = "an action server ends when it is dropped: bind it to a name, `let _server = ...`, not `let _ = ...`"]
pub struct ActionServer<A: Action> {
    /// Cancel requests and goals; `None` after the end.
    inputs: Option<[Subscription; 2]>,
    timer: Option<Timer>,
    core: Arc<ServerCore<A>>,
}

impl<A: Action> ActionServer<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.core.action()
    }

    pub(super) fn core(&self) -> &Arc<ServerCore<A>> {
        &self.core
    }
}

impl<A: Action> Drop for ActionServer<A> {
    fn drop(&mut self) {
        // Waiting goals are answered before the topics end.
        self.core.close();
        if let Some([cancels, goals]) = self.inputs.take() {
            // The user's callback is not called for them.
            goals.take_each(|client, bytes| self.core.on_goal_message(client, bytes).map(drop));
            drop((cancels, goals));
        }
        drop(self.timer.take());
        self.core.end();
    }
}

impl<A: Action> fmt::Debug for ActionServer<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionServer").field("action", &self.action()).finish_non_exhaustive()
    }
}

/// Handle of a goal at its server. It may move to any thread, and clones are handles of the same goal. If the last
/// handle is dropped before the goal has ended, the goal is aborted, or rejected if it was not accepted.
#[must_use = "a goal is aborted when its last handle is dropped: move it to a thread that ends it"]
pub struct ServerGoalHandle<A: Action> {
    goal: Arc<ServerGoal<A>>,
}

impl<A: Action> Clone for ServerGoalHandle<A> {
    fn clone(&self) -> Self {
        Self { goal: Arc::clone(&self.goal) }
    }
}

impl<A: Action> ServerGoalHandle<A> {
    pub(super) fn new(goal: Arc<ServerGoal<A>>) -> Self {
        Self { goal }
    }

    /// The goal's id.
    pub fn id(&self) -> &GoalId {
        &self.goal.id
    }

    /// When the goal was created, by the client's clock.
    pub fn stamp(&self) -> Time {
        self.goal.stamp
    }

    /// The goal's content.
    pub fn goal(&self) -> &A::Goal {
        &self.goal.goal
    }

    /// The goal's status.
    pub fn status(&self) -> GoalStatus {
        self.goal.core.status(&self.goal)
    }

    /// Whether a client has requested to cancel the goal and it has not ended.
    pub fn is_cancel_requested(&self) -> bool {
        self.status().is_cancel_requested()
    }

    /// Accepts the goal, which becomes active.
    ///
    /// # Errors
    /// [`Error::Action`] when it was already accepted or has ended, or the server has ended; also for the following
    /// functions.
    pub fn accept(&self) -> Result<(), Error> {
        self.goal.core.step(&self.goal, Step::Accept, "")
    }

    /// Logs a warning about the goal in the node's log.
    pub(super) fn warn(&self, what: impl fmt::Display) {
        self.goal.core.warn(format_args!("goal {}: {what}", self.id()));
    }

    /// Publishes feedback about the goal.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish), and when the server has ended.
    pub fn publish_feedback(&self, feedback: &A::Feedback) -> Result<(), Error> {
        self.goal.core.publish_feedback(&self.goal, feedback)
    }

    /// Rejects the goal, which must not have been accepted.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::accept`], and when the result is too long; also for the following functions.
    pub fn reject(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Reject, result, text)
    }

    /// Ends the goal as succeeded.
    ///
    /// # Errors
    /// When it was not accepted or has ended before, and as [`ServerGoalHandle::reject`].
    pub fn succeed(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Succeed, result, text)
    }

    /// Ends the goal as aborted.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::succeed`].
    pub fn abort(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Abort, result, text)
    }

    /// Ends the goal as cancelled, also without a client's request: recalled if it was not accepted, otherwise
    /// preempted.
    ///
    /// # Errors
    /// When it has ended before, and as [`ServerGoalHandle::reject`].
    pub fn canceled(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Cancel, result, text)
    }

    fn finish(&self, step: Step, result: &A::Result, text: &str) -> Result<(), Error> {
        self.goal.core.finish(&self.goal, step, result, text)
    }

    /// Whether the server's context still runs.
    pub(super) fn is_context_running(&self) -> bool {
        self.goal.core.ok()
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.goal, &other.goal)
    }
}

impl<A: Action> fmt::Debug for ServerGoalHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerGoalHandle").field("id", self.id()).finish_non_exhaustive()
    }
}
