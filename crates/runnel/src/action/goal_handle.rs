//! Handles of sent goals: the part that does not depend on the action's type.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Time;
use runnel_core::wire::Reader;

use super::client::{GoalOutcome, outcome};
use super::core::ClientCore;
use super::goal::Goal;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};

/// The part of goal handles that does not depend on the action's type. [`ClientGoalHandle`](crate::ClientGoalHandle)
/// and [`DynamicGoalHandle`](crate::DynamicGoalHandle) dereference to it. Clones are handles of the same goal.
#[derive(Clone)]
pub struct GoalHandleBase {
    core: Arc<ClientCore>,
    goal: Arc<Goal>,
}

impl GoalHandleBase {
    pub(super) fn new(core: &Arc<ClientCore>, goal: Arc<Goal>) -> Self {
        Self { core: Arc::clone(core), goal }
    }

    /// The goal's id.
    pub fn id(&self) -> &GoalId {
        &self.goal.id
    }

    /// When the goal was created.
    pub fn stamp(&self) -> Time {
        self.goal.stamp
    }

    /// The goal's last known status.
    pub fn status(&self) -> GoalStatus {
        self.core.process_received();
        self.goal.status().0
    }

    /// The server's text about that status.
    pub fn status_text(&self) -> String {
        self.core.process_received();
        self.goal.status().1
    }

    /// Whether the server has listed the goal or, in ROS 2, accepted it: until then it may not have received it.
    pub fn is_acknowledged(&self) -> bool {
        self.core.process_received();
        self.goal.is_acknowledged()
    }

    /// The number of feedback messages that were dropped because the callback, or the task that reads the stream, was
    /// slower than the server.
    pub fn dropped_feedback(&self) -> u64 {
        self.goal.calls().map_or(0, |calls| calls.dropped())
    }

    /// Requests the server to cancel the goal, unless it has ended or is being canceled. The server decides: wait for
    /// the result. In ROS 2 the request is sent once the server has accepted the goal.
    ///
    /// # Errors
    /// As [`Publisher::publish`](crate::Publisher::publish).
    pub fn cancel(&self) -> Result<(), Error> {
        self.core.cancel(&self.goal)
    }

    pub(super) fn core(&self) -> &Arc<ClientCore> {
        &self.core
    }

    pub(super) fn goal(&self) -> &Arc<Goal> {
        &self.goal
    }

    /// Waits at most `timeout` for the end of the goal. `read` decodes the result.
    pub(super) fn wait_for_outcome<R>(
        &self,
        timeout: Duration,
        read: impl Fn(Reader<'_>) -> Result<R, String>,
    ) -> Result<Option<GoalOutcome<R>>, Error> {
        self.core.wait_for_end(&self.goal, timeout)?;
        Ok(self.goal.end().map(|end| outcome(end, read)))
    }
}

impl fmt::Debug for GoalHandleBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoalHandleBase").field("id", &self.goal.id).finish_non_exhaustive()
    }
}
