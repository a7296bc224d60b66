//! Results and status lists of an action server, in the graph of each goal's client.

use std::sync::Arc;

use runnel_io::clock;

use super::goal_table::GoalTable;
use super::ros2_message::result_response;
use super::server_core::{ServerCore, ServerGoal, log_error};
use super::server_ends::GoalReport;
use super::server_types::ServerTypes;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};

impl<A: ServerTypes> ServerCore<A> {
    /// Publishes the result of a goal of a ROS 1 client.
    pub(super) fn publish_end(
        &self,
        table: &GoalTable<A>,
        goal: &GoalReport<'_>,
        result: &A::Result,
    ) -> Result<(), Error> {
        match table.ends.as_ref().and_then(|ends| ends.ros1.as_ref()) {
            Some(end) if goal.id.uuid().is_none() => end.publish_end(goal, self.now(), result),
            _ => Ok(()),
        }
    }

    /// The response that holds the result of a goal of a ROS 2 client; `None` if it was not accepted, so that its client
    /// does not request the result.
    pub(super) fn ros2_result(
        &self,
        goal: &GoalReport<'_>,
        result: &A::Result,
    ) -> Result<Option<Arc<[u8]>>, Error> {
        let number = goal.status.ros2_number().filter(|_| goal.id.uuid().is_some());
        number.map(|number| result_response(number, result, self.action())).transpose()
    }

    /// In ROS 2 only a goal that is being canceled becomes canceled.
    pub(super) fn list_as_canceling(
        &self,
        table: &mut GoalTable<A>,
        goal: &ServerGoal<A>,
        next: GoalStatus,
    ) -> Result<(), Error> {
        if goal.id.uuid().is_none()
            || next != GoalStatus::Preempted
            || table.status(goal) != GoalStatus::Active
        {
            return Ok(());
        }
        table.goals.set(goal.key, GoalStatus::Preempting, "", clock::monotonic());
        self.publish_list(table, &goal.id)
    }

    /// Publishes the list in the graph of a goal's client.
    pub(super) fn publish_list(&self, table: &mut GoalTable<A>, goal: &GoalId) -> Result<(), Error> {
        match goal.uuid() {
            Some(_) => self.publish_ros2_list(table),
            None => self.publish_ros1_list(table),
        }
    }

    /// Publishes the lists in all graphs.
    pub(super) fn publish_lists(&self) {
        let mut table = self.table();
        let sent = self.publish_ros1_list(&mut table).and(self.publish_ros2_list(&mut table));
        drop(table);
        log_error(sent);
    }

    pub(super) fn publish_ros1_list(&self, table: &mut GoalTable<A>) -> Result<(), Error> {
        table.goals.expire(clock::monotonic());
        let end = table.ends.as_ref().and_then(|ends| ends.ros1.as_ref());
        end.map_or(Ok(()), |end| end.publish_list(table.goals.entries(), self.now()))
    }

    pub(super) fn publish_ros2_list(&self, table: &mut GoalTable<A>) -> Result<(), Error> {
        table.goals.expire(clock::monotonic());
        let end = table.ends.as_ref().and_then(|ends| ends.ros2.as_ref());
        end.map_or(Ok(()), |end| end.publish_list(&table.goals))
    }
}
