//! Goals and cancel requests that an action server receives: what the server does before and after the user decides.

use std::sync::{Arc, OnceLock, Weak};

use runnel_core::time::Time;
use runnel_core::wire::{Bytes, DecodeError, Reader, decode};
use runnel_io::clock;
use runnel_msgs::actionlib_msgs::msg::GoalID;

use super::MAX_GOALS;
use super::goal_registry::{Arrival, Key};
use super::header::read_goal;
use super::ros2_message::goal_response;
use super::ros2_request::Reply;
use super::server_core::{ENDED, ServerCore, ServerGoal, log_error};
use super::server_ends::GoalReport;
use super::server_types::ServerTypes;
use crate::data::Unreadable;
use crate::error::Error;
use crate::goal_status::{GoalId, GoalStatus};

/// Longest goal id, in bytes: every list repeats it.
const MAX_ID: usize = 1024;

/// A received goal.
pub(super) struct Arrived<A: ServerTypes> {
    pub(super) id: GoalId,
    /// The stamp by the client's clock, zero without one, and the time of reception.
    pub(super) stamps: (Time, Time),
    pub(super) goal: A::Goal,
    /// Answers the request of a ROS 2 client.
    pub(super) reply: Option<Reply>,
}

/// What is logged about a received goal, once the table is unlocked.
struct Outcome {
    sent: Result<(), Error>,
    refused: Option<String>,
}

/// Goals whose owners decide on a cancel request.
pub(super) type CanceledGoals<A> = Vec<(Key, Weak<ServerGoal<A>>)>;

/// The goals of a cancel request whose owners have yet to decide. If the user's callback panics, these goals continue and
/// can be canceled again.
struct Undecided<'a, A: ServerTypes> {
    core: &'a ServerCore<A>,
    goals: &'a [(Key, Weak<ServerGoal<A>>)],
}

impl<A: ServerTypes> Drop for Undecided<'_, A> {
    fn drop(&mut self) {
        if self.goals.is_empty() {
            return;
        }
        let mut table = self.core.table();
        self.goals.iter().for_each(|(key, _)| table.goals.withdraw_cancel(*key));
        drop(table);
        // Owners of other goals may have decided before.
        self.core.publish_lists();
    }
}

impl<A: ServerTypes> ServerCore<A> {
    /// Handles a goal of a ROS 1 client. Returns the handle for the user's decision.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn on_goal_message(
        self: &Arc<Self>,
        client: &str,
        bytes: Bytes<'_>,
    ) -> Result<Option<Arc<ServerGoal<A>>>, Unreadable> {
        let (GoalID { stamp, id }, rest) = read_goal(bytes)?;
        let goal = self.types.read_goal(Reader::new(rest))?;
        if id.len() > MAX_ID {
            let length = id.len();
            self.refuse(format_args!(
                "a goal from [{client}]: its id has {length} bytes, at most {MAX_ID} are accepted"
            ));
            return Ok(None);
        }
        let now = self.now();
        let id = if id.is_empty() { GoalId::next(self.node_name(), now) } else { GoalId::from(&*id) };
        Ok(self.arrive(client, Arrived { id, stamps: (stamp, now), goal, reply: None }))
    }

    /// Handles a received goal. Returns the handle for the user's decision.
    pub(super) fn arrive(self: &Arc<Self>, client: &str, arrived: Arrived<A>) -> Option<Arc<ServerGoal<A>>> {
        let Arrived { id, stamps, goal, reply } = arrived;
        let stamp = if stamps.0.is_zero() { stamps.1 } else { stamps.0 };
        let mut new = None;
        let mut table = self.table();
        let begin = |key| {
            let (core, id, end) = (Arc::clone(self), id.clone(), OnceLock::new());
            Arc::downgrade(new.insert(Arc::new(ServerGoal { core, id, stamp, goal, key, end })))
        };
        let now = clock::monotonic();
        if reply.is_some() {
            table.goals.expire(now);
        }
        let mut outcome = Outcome { sent: Ok(()), refused: None };
        match table.goals.arrive(&id, stamps, begin, now) {
            Arrival::New => {
                if let Some((goal, reply)) = new.as_ref().zip(reply)
                    && let Some(entry) = table.goals.get_mut(goal.key)
                {
                    entry.requests.set_send_goal(reply);
                }
                if table.closed
                    && let Some(goal) = &new
                {
                    outcome.sent = self.end_goal(&mut table, goal.key, ENDED).unwrap_or(Ok(()));
                }
            }
            Arrival::Known => outcome.refused = reply.and_then(|reply| table.answer_repeated(&id, reply)),
            Arrival::Recalled => {
                let text = table.goals.by_id(&id).map(|entry| entry.text.clone()).unwrap_or_default();
                let report = GoalReport { id: &id, stamp, status: GoalStatus::Recalled, text: &text };
                outcome.sent = self
                    .publish_end(&table, &report, &self.types.empty_result())
                    .and(self.publish_list(&mut table, &id));
            }
            Arrival::Full => {
                let text = format!("server {} works on {MAX_GOALS} goals already", self.node_name());
                let report = GoalReport { id: &id, stamp, status: GoalStatus::Rejected, text: &text };
                outcome.sent = self.publish_end(&table, &report, &self.types.empty_result());
                if let Some(reply) = reply {
                    reply.refuse(goal_response(None), text.clone());
                }
                outcome.refused = Some(text);
            }
        }
        let closed = table.closed;
        drop(table);
        log_error(outcome.sent);
        if let Some(why) = outcome.refused {
            self.refuse(format_args!("a goal from [{client}]: {why}"));
        }
        // Dropping a goal locks the table.
        new.filter(|_| !closed)
    }

    /// Handles a cancel request of a ROS 1 client. `ask` calls the owner of a goal.
    ///
    /// # Errors
    /// When the request cannot be read.
    pub(super) fn on_cancel_message(
        &self,
        client: &str,
        bytes: Bytes<'_>,
        ask: &mut dyn FnMut(Arc<ServerGoal<A>>),
    ) -> Result<(), DecodeError> {
        let GoalID { stamp, id } = decode(bytes)?;
        let (concerned, kept) = match id.len() <= MAX_ID {
            true => self.table().goals.cancel(&id, stamp, clock::monotonic()),
            false => (Vec::new(), false),
        };
        self.decide_cancel(&concerned, ask);
        if !kept {
            self.refuse(format_args!("a cancel request from [{client}] for an unknown goal"));
        }
        Ok(())
    }

    /// Asks the owners of goals about a cancel request, and publishes the lists. Returns for each goal whether it is
    /// being canceled.
    pub(super) fn decide_cancel(
        &self,
        concerned: &CanceledGoals<A>,
        ask: &mut dyn FnMut(Arc<ServerGoal<A>>),
    ) -> Vec<bool> {
        let mut undecided = Undecided { core: self, goals: concerned.as_slice() };
        let mut accepted = Vec::with_capacity(concerned.len());
        while let [(key, goal), later @ ..] = undecided.goals {
            // A goal whose handles are all dropped ends anyway.
            goal.upgrade().into_iter().for_each(&mut *ask);
            undecided.goals = later;
            accepted.push(self.table().goals.conclude_cancel(*key));
        }
        if accepted.contains(&true) {
            self.publish_lists();
        }
        accepted
    }
}
