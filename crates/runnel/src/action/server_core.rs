//! Part of an action server that tracks goals and publishes, independent of the user's decisions.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use runnel_core::time::Time;
use runnel_io::clock;

use super::goal_registry::{Entry, KeepTimes, Key};
use super::goal_table::{GoalTable, TableGuard};
use super::ros2_goals::MOST_RESULT_BYTES;
use super::server_ends::{GoalReport, ServerEnds};
use super::server_types::ServerTypes;
use crate::error::{ActionError, Error};
use crate::goal_status::{GoalId, GoalStatus, Step};
use crate::log_output::console;
use crate::node::Node;
use crate::node::timer::Timer;
use crate::runtime::shared::ShutdownHook;
use crate::sync::{Class, Mutex};
use crate::time::timers::Follows;

/// Text of goals that end with their server.
pub(super) const ENDED: &str = "the action server has ended";

/// A goal, shared by its handles.
pub(super) struct ServerGoal<A: ServerTypes> {
    pub(super) core: Arc<ServerCore<A>>,
    pub(super) id: GoalId,
    pub(super) stamp: Time,
    pub(super) goal: A::Goal,
    pub(super) key: Key,
    /// Its final status, also after the server has forgotten it.
    pub(super) end: OnceLock<GoalStatus>,
}

impl<A: ServerTypes> ServerGoal<A> {
    /// Its status; with `is_asked`, as the cancel callback sees it.
    pub(super) fn status(&self, is_asked: bool) -> GoalStatus {
        if is_asked { self.core.status_if_canceled(self) } else { self.core.status(self) }
    }
}

impl<A: ServerTypes> Drop for ServerGoal<A> {
    fn drop(&mut self) {
        self.core.abandon(self);
    }
}

/// An action server.
pub(super) struct ServerCore<A: ServerTypes> {
    node: Node,
    action: String,
    pub(super) types: A,
    table: Mutex<GoalTable<A>>,
    /// Number of refused requests.
    refused: AtomicU64,
    /// Forgets goals of ROS 2 clients after their end, with their results.
    expiry: OnceLock<Timer>,
}

/// Without this, clients would wait for ever for goals of a server that is gone.
impl<A: ServerTypes> ShutdownHook for ServerCore<A> {
    fn run(&self) {
        self.end();
    }
}

impl<A: ServerTypes> ServerCore<A> {
    /// Creates a server of the action of this absolute name. It lists goals for `keep` after their end.
    pub(super) fn new(
        (node, action, types): (&Node, &str, A),
        ends: ServerEnds,
        keep: KeepTimes,
    ) -> Arc<Self> {
        let core = Arc::new(Self {
            node: node.clone(),
            action: action.to_owned(),
            types,
            table: Mutex::new(Class::GoalTable, GoalTable::new(ends, keep)),
            refused: AtomicU64::new(0),
            expiry: OnceLock::new(),
        });
        if node.inner.is_in_ros2() {
            core.set_expiry_timer(keep.ros2);
        }
        let hook: Arc<dyn ShutdownHook> = Arc::<Self>::clone(&core);
        node.context().shared.add_shutdown_hook(Arc::downgrade(&hook));
        core
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node's context still runs.
    pub(super) fn ok(&self) -> bool {
        self.node.context().ok()
    }

    pub(super) fn now(&self) -> Time {
        self.node.now()
    }

    pub(super) fn node_name(&self) -> &str {
        self.node.full_name()
    }

    pub(super) fn table(&self) -> TableGuard<'_, A> {
        TableGuard::lock(&self.table)
    }

    /// Creates the timer that forgets ended goals. It runs only while there are any.
    fn set_expiry_timer(self: &Arc<Self>, keep: Duration) {
        let core = Arc::downgrade(self);
        let expire = move || core.upgrade().into_iter().for_each(|core| core.expire());
        let schedule = (Follows::Wall, true);
        let timer = self.node.timer(keep, schedule, self.node.inner.executor_dispatch(), expire);
        timer.cancel();
        // It is set once.
        let _ = self.expiry.set(timer);
    }

    /// Forgets ended goals, also when no client sends a request.
    fn expire(&self) {
        let mut table = self.table();
        table.goals.expire(clock::monotonic());
        drop(table);
        self.await_expiry();
    }

    /// Starts the timer after which the next ended goal is forgotten.
    fn await_expiry(&self) {
        let Some(timer) = self.expiry.get().filter(|timer| timer.is_canceled()) else { return };
        let next = self.table().goals.next_expiry();
        if let Some(next) = next {
            timer.reset_after(next.since(clock::monotonic()));
        }
    }

    /// Gives up the requests for results whose clients have been gone for too long.
    pub(super) fn drop_absent_clients(&self) {
        self.table().goals.drop_absent_clients();
    }

    /// Refuses the cancel request that is being decided.
    pub(super) fn refuse_cancel(&self, goal: &ServerGoal<A>) -> Result<(), Error> {
        let mut table = self.open_table()?;
        if table.goals.refuse_cancel(goal.key) {
            return Ok(());
        }
        let (goal, status) = (goal.id.clone(), table.status(goal));
        Err(ActionError::WrongStatus { goal, status, wanted: "active" }.of(&self.action))
    }

    fn status(&self, goal: &ServerGoal<A>) -> GoalStatus {
        self.table().status(goal)
    }

    /// The status as the cancel callback sees it.
    fn status_if_canceled(&self, goal: &ServerGoal<A>) -> GoalStatus {
        let table = self.table();
        let entry = table.goals.get(goal.key).filter(|_| goal.end.get().is_none());
        entry.map_or_else(|| table.status(goal), Entry::status_if_canceled)
    }

    /// Accepts a goal.
    pub(super) fn accept(&self, goal: &ServerGoal<A>) -> Result<(), Error> {
        let mut table = self.open_table()?;
        let status = self.after(&table, goal, Step::Accept)?;
        table.goals.set(goal.key, status, "", clock::monotonic());
        table.answer_send_goal(goal.key, Some(goal.stamp));
        let sent = self.publish_list(&mut table, &goal.id);
        drop(table);
        log_error(sent);
        Ok(())
    }

    /// Ends a goal.
    pub(super) fn finish(
        &self,
        goal: &ServerGoal<A>,
        step: Step,
        result: &A::Result,
        text: &str,
    ) -> Result<(), Error> {
        let mut table = self.open_table()?;
        let status = self.after(&table, goal, step)?;
        let report = GoalReport { id: &goal.id, stamp: goal.stamp, status, text };
        // A result that is too long was not sent: the goal continues.
        self.publish_end(&table, &report, result)?;
        let response = self.ros2_result(&report, result)?;
        let canceling = self.list_as_canceling(&mut table, goal, status);
        let dropped = table.end(goal.key, status, text, response);
        // The lock excludes a second call.
        let _ = goal.end.set(status);
        let sent = canceling.and(self.publish_list(&mut table, &goal.id));
        drop(table);
        log_error(sent);
        self.note_dropped_results(dropped);
        self.await_expiry();
        Ok(())
    }

    /// Ends a goal whose handles are all dropped.
    fn abandon(&self, goal: &ServerGoal<A>) {
        let mut table = self.table();
        let text = "nobody works on the goal any more: its handle was dropped before it ended";
        let Some(sent) = self.end_goal(&mut table, goal.key, text) else { return };
        let sent = sent.and(self.publish_list(&mut table, &goal.id));
        drop(table);
        log_error(sent);
        self.await_expiry();
        self.warn(format_args!("goal {}: {text}", goal.id));
    }

    /// Ends a goal on behalf of its owner, and returns whether the result was sent; `None` if it has already ended.
    pub(super) fn end_goal(
        &self,
        table: &mut GoalTable<A>,
        key: Key,
        text: &str,
    ) -> Option<Result<(), Error>> {
        let Entry { id, stamp, status, .. } = table.goals.get(key)?;
        let report = GoalReport { id, stamp: *stamp, status: status.after(Step::Abandon)?, text };
        let (status, result) = (report.status, self.types.empty_result());
        let sent = self.publish_end(table, &report, &result);
        let response = self.ros2_result(&report, &result);
        let (response, encoded) =
            response.map_or_else(|error| (None, Err(error)), |response| (response, Ok(())));
        table.end(key, status, text, response);
        Some(sent.and(encoded))
    }

    pub(super) fn publish_feedback(&self, goal: &ServerGoal<A>, feedback: &A::Feedback) -> Result<(), Error> {
        let table = self.open_table()?;
        let (Some(entry), Some(ends)) = (table.goals.get(goal.key), &table.ends) else { return Ok(()) };
        let Entry { id, stamp, status, text, .. } = entry;
        let report = GoalReport { id, stamp: *stamp, status: *status, text };
        ends.publish_feedback(&report, self.now(), feedback)
    }

    /// Publishes the list of ROS 1 goals, which is periodic.
    pub(super) fn publish_status(&self) {
        let sent = self.publish_ros1_list(&mut self.table());
        log_error(sent);
    }

    /// Rejects goals from now on.
    pub(super) fn close(&self) {
        self.table().closed = true;
    }

    /// Ends the server and all its goals.
    pub(super) fn end(&self) {
        let mut table = self.table();
        table.closed = true;
        let open = table.goals.entries().iter().filter(|entry| !entry.status.is_terminal());
        let open: Vec<Key> = open.map(|entry| entry.key).collect();
        let sent = open.into_iter().filter_map(|key| self.end_goal(&mut table, key, ENDED));
        // The first error is enough.
        let sent = sent.fold(Ok(()), Result::and);
        let sent = sent.and(self.publish_ros1_list(&mut table)).and(self.publish_ros2_list(&mut table));
        // Goals keep their status from now on.
        let ends = table.ends.take();
        // Dropping a publisher waits until its messages are sent, and locks the driver.
        drop(table);
        drop(ends);
        log_error(sent);
    }

    /// Logs a refused request, less often the more there are.
    pub(super) fn refuse(&self, what: fmt::Arguments<'_>) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            self.warn(format_args!("refused (number {count}): {what}"));
        }
    }

    /// Logs that results were dropped before their time.
    fn note_dropped_results(&self, dropped: usize) {
        if dropped > 0 {
            self.warn(format_args!(
                "goals forgotten: {dropped}: all results together exceed {MOST_RESULT_BYTES} bytes"
            ));
        }
    }

    /// Logs a warning about the action in the node's log.
    pub(super) fn warn(&self, what: fmt::Arguments<'_>) {
        self.node.inner.log().log_library(log::Level::Warn, format_args!("action {}: {what}", self.action));
    }

    fn open_table(&self) -> Result<TableGuard<'_, A>, Error> {
        let table = self.table();
        if table.ends.is_some() { Ok(table) } else { Err(ActionError::ServerEnded.of(&self.action)) }
    }

    fn after(&self, table: &GoalTable<A>, goal: &ServerGoal<A>, step: Step) -> Result<GoalStatus, Error> {
        let status = table.status(goal);
        status.after(step).ok_or_else(|| {
            ActionError::WrongStatus { goal: goal.id.clone(), status, wanted: step.wanted() }.of(&self.action)
        })
    }
}

/// Logs a failure to publish. The program's own logger may call the server, so its table must not be locked.
pub(super) fn log_error(sent: Result<(), Error>) {
    sent.unwrap_or_else(|error| console::error!("{error}"));
}

#[cfg(test)]
mod tests;
