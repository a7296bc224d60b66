//! Goals and publishers of an action server, with the lock that keeps their events in order.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

use runnel_core::time::Time;
use runnel_io::clock;

use super::MAX_GOALS;
use super::goal_registry::{GoalRegistry, KeepTimes, Key};
use super::ros2_goals::RepeatedGoal;
use super::ros2_message::goal_response;
use super::ros2_request::Reply;
use super::server_core::ServerGoal;
use super::server_ends::ServerEnds;
use super::server_types::ServerTypes;
use crate::goal_status::{GoalId, GoalStatus};
use crate::log_output::held_lines::HeldLines;
use crate::sync::{Mutex, MutexGuard, lock};

type Goals<A> = GoalRegistry<Weak<ServerGoal<A>>, Reply>;

/// Goals and publishers of a server. Locked while publishing, so that clients see events in their order. Publishing
/// takes only the topic's locks and runs no user code.
pub(super) struct GoalTable<A: ServerTypes> {
    pub(super) goals: Goals<A>,
    /// New goals are rejected: the server is about to end.
    pub(super) closed: bool,
    /// `None` once the server has ended.
    pub(super) ends: Option<ServerEnds>,
}

/// The locked table. Lines that are logged meanwhile are written after it is unlocked, since the program's logger may use
/// the server.
pub(super) struct TableGuard<'a, A: ServerTypes> {
    // Dropped in this order.
    table: MutexGuard<'a, GoalTable<A>>,
    _lines: HeldLines,
}

impl<'a, A: ServerTypes> TableGuard<'a, A> {
    pub(super) fn lock(table: &'a Mutex<GoalTable<A>>) -> Self {
        let lines = HeldLines::hold();
        Self { table: lock(table), _lines: lines }
    }
}

impl<A: ServerTypes> Deref for TableGuard<'_, A> {
    type Target = GoalTable<A>;

    fn deref(&self) -> &GoalTable<A> {
        &self.table
    }
}

impl<A: ServerTypes> DerefMut for TableGuard<'_, A> {
    fn deref_mut(&mut self) -> &mut GoalTable<A> {
        &mut self.table
    }
}

impl<A: ServerTypes> GoalTable<A> {
    /// A table without goals, for a server that publishes to these ends. It lists goals for `keep` after their end.
    pub(super) fn new(ends: ServerEnds, keep: KeepTimes) -> Self {
        Self { goals: GoalRegistry::new(MAX_GOALS, keep), closed: false, ends: Some(ends) }
    }

    pub(super) fn status(&self, goal: &ServerGoal<A>) -> GoalStatus {
        let listed = || self.goals.get(goal.key).map_or(GoalStatus::Lost, |entry| entry.status);
        goal.end.get().copied().unwrap_or_else(listed)
    }

    /// Ends a goal. `response` holds its result for a ROS 2 client; without one, the response to its request is that the
    /// goal is not accepted. Returns the number of other results that were dropped for it.
    pub(super) fn end(
        &mut self,
        key: Key,
        status: GoalStatus,
        text: &str,
        response: Option<Arc<[u8]>>,
    ) -> usize {
        self.goals.set(key, status, text, clock::monotonic());
        self.answer_send_goal(key, None);
        let Some(response) = response else { return 0 };
        let kept = self.goals.keep_result(key, Arc::clone(&response));
        kept.waiting.into_iter().for_each(|reply| reply.send(response.to_vec()));
        kept.dropped
    }

    /// Answers the requests that sent a goal, unless they are answered: when the goal was accepted, or `None`.
    pub(super) fn answer_send_goal(&mut self, key: Key, accepted: Option<Time>) {
        let requests = self.goals.get_mut(key).map(|entry| entry.requests.take_send_goal());
        requests.into_iter().flatten().for_each(|reply| reply.send(goal_response(accepted)));
    }

    /// Answers a request that sends a goal whose id is known. Returns why it is refused, if it is.
    pub(super) fn answer_repeated(&mut self, id: &GoalId, reply: Reply) -> Option<String> {
        let (reply, why) = match self.goals.repeat_goal(id, reply) {
            RepeatedGoal::Waits => return None,
            RepeatedGoal::Accepted(reply, stamp) => {
                reply.send(goal_response(Some(stamp)));
                return None;
            }
            RepeatedGoal::Rejected(reply) => {
                reply.send(goal_response(None));
                return None;
            }
            RepeatedGoal::InUse(reply) => (reply, format!("id {id} is in use by another client")),
            RepeatedGoal::TooMany(reply, limit) => {
                (reply, format!("{limit} requests wait for the decision on goal {id} already"))
            }
        };
        reply.refuse(goal_response(None), why.clone());
        Some(why)
    }
}
