//! Action servers with any number of concurrent goals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::message::Action;
use runnel_core::time::Time;

use super::goal_registry::KeepTimes;
use super::server_core::{ServerCore, ServerGoal};
use super::server_ends::ServerEnds;
use super::server_inputs::{ServerCallbacks, ServerInputs};
use super::server_types::{ServerTypes, StaticTypes};
use super::types::action_name;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::node::Node;
use crate::node::options::ServerOptions;
use crate::node::timer::Timer;

/// Default frequency of the status list, in hertz.
const FREQUENCY: f64 = 5.0;

/// Maximum frequency, in hertz.
const MAX_FREQUENCY: f64 = 1000.0;

/// Default time for which goals are listed after their end, in seconds.
const KEEP: f64 = 5.0;

/// Time for which ROS 2 goals are listed after their end, with their results: that of rclcpp and, from Kilted on, rclpy.
const ROS2_KEEP: Duration = Duration::from_secs(10);

impl Node {
    /// Creates an action server with any number of concurrent goals, in each graph of the node. On a spinning thread,
    /// `on_goal` gets each goal, and `on_cancel` each goal that a client wants to cancel, which it may
    /// [refuse](ServerGoalHandle::refuse_cancel). The goal's handle reports progress and the result, from any thread and
    /// at any time. The name may be given as [`ServerOptions`].
    ///
    /// In ROS 1, a spinning thread publishes the list of goals five times a second, or at the frequency of the parameter
    /// `actionlib_status_frequency`. A goal stays listed for 5 s after its end, or for the time of the parameter
    /// `status_list_timeout` below the action's name. In ROS 2, the list is published after each change, and a goal stays
    /// listed for 10 s after its end, with its result.
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
        let types = StaticTypes::<A>::default();
        let on_goal = move |goal| on_goal(ServerGoalHandle { goal, is_asked: false });
        let on_cancel = move |goal| on_cancel(ServerGoalHandle { goal, is_asked: true });
        let parts = self.start_action_server(action.into(), types, on_goal, on_cancel)?;
        Ok(ActionServer { parts })
    }

    /// Starts an action server with these types.
    pub(super) fn start_action_server<T: ServerTypes>(
        &self,
        ServerOptions { of: name, group }: ServerOptions,
        types: T,
        on_goal: impl FnMut(Arc<ServerGoal<T>>) + Send + 'static,
        on_cancel: impl FnMut(Arc<ServerGoal<T>>) + Send + 'static,
    ) -> Result<ServerParts<T>, Error> {
        let action = &action_name(self, &name)?;
        let is_in_ros1 = self.inner.is_in_ros1();
        let keep = match is_in_ros1 {
            true => self.number(&format!("{action}/status_list_timeout"), KEEP)?,
            false => KEEP,
        };
        let ros1 = Duration::try_from_secs_f64(keep).unwrap_or_default();
        let ends = ServerEnds::new(self, action, types.types())?;
        let core = ServerCore::new((self, action, types), ends, KeepTimes { ros1, ros2: ROS2_KEEP });
        let callbacks = ServerCallbacks::new(on_goal, on_cancel);
        let inputs = ServerInputs::new((self, action, group.as_ref()), &core, callbacks)?;
        core.publish_status();
        let timer = if is_in_ros1 { self.status_timer(action, &core)? } else { None };
        Ok(ServerParts { inputs: Some(inputs), timer, core })
    }

    /// Timer that publishes the ROS 1 status list.
    fn status_timer<T: ServerTypes>(
        &self,
        action: &str,
        core: &Arc<ServerCore<T>>,
    ) -> Result<Option<Timer>, Error> {
        let frequency = self.status_frequency(action)?;
        Ok(Some(frequency).filter(|frequency| *frequency > 0.0).map(|frequency| {
            let (period, core) = (1.0 / frequency.min(MAX_FREQUENCY), Arc::clone(core));
            let period = Duration::try_from_secs_f64(period).unwrap_or(Duration::MAX);
            self.create_timer(period, move || core.publish_status())
        }))
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
    parts: ServerParts<StaticTypes<A>>,
}

/// A running server of any types.
pub(super) struct ServerParts<T: ServerTypes> {
    /// Goals and requests of clients; `None` after the end.
    inputs: Option<ServerInputs>,
    timer: Option<Timer>,
    core: Arc<ServerCore<T>>,
}

impl<A: Action> ActionServer<A> {
    /// The action's absolute name.
    pub fn action(&self) -> &str {
        self.parts.core.action()
    }

    pub(super) fn core(&self) -> &Arc<ServerCore<StaticTypes<A>>> {
        &self.parts.core
    }
}

impl<T: ServerTypes> ServerParts<T> {
    pub(super) fn core(&self) -> &Arc<ServerCore<T>> {
        &self.core
    }
}

impl<T: ServerTypes> Drop for ServerParts<T> {
    fn drop(&mut self) {
        // Waiting goals are answered before the topics end.
        self.core.close();
        let inputs = self.inputs.take();
        let (ros1, ros2) = inputs.map_or((None, None), |inputs| (inputs.ros1, inputs.ros2));
        if let Some(ros1) = ros1 {
            // The user's callback is not called for them.
            ros1.take_goals(&self.core);
            drop(ros1);
        }
        drop(self.timer.take());
        self.core.end();
        if let Some(ros2) = ros2 {
            // The user's callbacks are not called for them.
            ros2.answer_waiting(&self.core);
            // It has carried the responses of the goals that have just ended.
            drop(ros2);
        }
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
    goal: Arc<ServerGoal<StaticTypes<A>>>,
    /// The cancel callback gets it, and clones share that.
    is_asked: bool,
}

impl<A: Action> Clone for ServerGoalHandle<A> {
    fn clone(&self) -> Self {
        Self { goal: Arc::clone(&self.goal), is_asked: self.is_asked }
    }
}

impl<A: Action> ServerGoalHandle<A> {
    /// The goal's id.
    pub fn id(&self) -> &GoalId {
        &self.goal.id
    }

    /// When the goal was created, by the client's clock. In ROS 2: when the server received it.
    pub fn stamp(&self) -> Time {
        self.goal.stamp
    }

    /// The goal's content.
    pub fn goal(&self) -> &A::Goal {
        &self.goal.goal
    }

    /// The goal's status. A cancel request changes it when the cancel callback returns without refusing it. The handle that
    /// the callback gets has the changed status from the start.
    pub fn status(&self) -> GoalStatus {
        self.goal.status(self.is_asked)
    }

    /// Whether a client has requested to cancel the goal, the cancel callback has not refused that, and the goal has not
    /// ended.
    pub fn is_cancel_requested(&self) -> bool {
        self.status().is_cancel_requested()
    }

    /// Accepts the goal, which becomes active.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::ServerEnded`](crate::ActionError::ServerEnded) if the server has ended, or
    /// [`ActionError::WrongStatus`](crate::ActionError::WrongStatus) if the goal was accepted before or has ended.
    pub fn accept(&self) -> Result<(), Error> {
        self.goal.core.accept(&self.goal)
    }

    /// Refuses to cancel the goal, which continues. Only the cancel callback can do so, for the request of which it is
    /// called: afterwards clients rely on the cancellation.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::ServerEnded`](crate::ActionError::ServerEnded) if the server has ended, or
    /// [`ActionError::WrongStatus`](crate::ActionError::WrongStatus) if no cancel request awaits the decision.
    pub fn refuse_cancel(&self) -> Result<(), Error> {
        self.goal.core.refuse_cancel(&self.goal)
    }

    /// Logs a warning about the goal in the node's log.
    pub(super) fn warn(&self, what: impl fmt::Display) {
        self.goal.core.warn(format_args!("goal {}: {what}", self.id()));
    }

    /// Publishes feedback about the goal.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish); [`Error::Action`] if the server has ended.
    pub fn publish_feedback(&self, feedback: &A::Feedback) -> Result<(), Error> {
        self.goal.core.publish_feedback(&self.goal, feedback)
    }

    /// Rejects the goal, which must not have been accepted. A ROS 2 client gets neither the result nor the text.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::ServerEnded`](crate::ActionError::ServerEnded) if the server has ended, or
    /// [`ActionError::WrongStatus`](crate::ActionError::WrongStatus) if the goal was accepted before or has ended.
    /// [`Error::TooLong`], [`Error::NoMemory`], [`Error::Encode`] or [`Error::Transcode`] if the result cannot be sent;
    /// the goal then continues.
    pub fn reject(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Reject, result, text)
    }

    /// Ends the goal as succeeded. A ROS 2 client gets the result, but no text.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::ServerEnded`](crate::ActionError::ServerEnded) if the server has ended, or
    /// [`ActionError::WrongStatus`](crate::ActionError::WrongStatus) if the goal was not accepted or has ended.
    /// [`Error::TooLong`], [`Error::NoMemory`], [`Error::Encode`] or [`Error::Transcode`] if the result cannot be sent;
    /// the goal then continues.
    pub fn succeed(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Succeed, result, text)
    }

    /// Ends the goal as aborted. A ROS 2 client gets the result, but no text.
    ///
    /// # Errors
    /// As [`ServerGoalHandle::succeed`].
    pub fn abort(&self, result: &A::Result, text: &str) -> Result<(), Error> {
        self.finish(Step::Abort, result, text)
    }

    /// Ends the goal as canceled, also without a client's request: recalled if it was not accepted, otherwise
    /// preempted. A ROS 2 client gets the result, but no text.
    ///
    /// # Errors
    /// [`Error::Action`] with [`ActionError::ServerEnded`](crate::ActionError::ServerEnded) if the server has ended, or
    /// [`ActionError::WrongStatus`](crate::ActionError::WrongStatus) if the goal has ended.
    /// [`Error::TooLong`], [`Error::NoMemory`], [`Error::Encode`] or [`Error::Transcode`] if the result cannot be sent;
    /// the goal then continues.
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
