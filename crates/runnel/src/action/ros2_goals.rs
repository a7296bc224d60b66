//! Rules of ROS 2 for the goals of an action server: canceling with return codes, results, and the status list.
//!
//! Source: rcl_action, `action_server.h` and the documentation of `rcl_action_process_cancel_request` and
//! `rcl_action_expire_goals`; action_msgs, `CancelGoal.srv`.

use std::sync::Arc;

use runnel_core::time::{Instant, Time};

use super::goal_registry::{Entry, GoalRegistry, Key};
use super::goal_requests::{ClientRequest, MOST_WAITING, ResultRequest};
use crate::goal_status::GoalId;

/// A UUID without a bit set stands for no goal in cancel requests.
const NO_GOAL: [u8; 16] = [0; 16];

/// Return codes of a cancel request.
///
/// Source: action_msgs, `CancelGoal.srv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelCode {
    None = 0,
    /// The user has refused to cancel any of the goals.
    Rejected = 1,
    UnknownGoal = 2,
    /// The goal has ended, or is being canceled already.
    GoalTerminated = 3,
}

/// Limit of the bytes of all results that a server keeps, except for the last one.
pub(super) const MOST_RESULT_BYTES: usize = 64 << 20;

/// What to do with a request to `send_goal` whose goal id is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatedGoal<R> {
    /// It is answered like the first one, once the owner has decided.
    Waits,
    /// The goal was accepted then.
    Accepted(R, Time),
    /// The goal was not accepted.
    Rejected(R),
    /// Another client uses the id.
    InUse(R),
    /// So many requests wait for the decision already.
    TooMany(R, usize),
}

/// What becomes of a result.
pub(super) struct KeptResult<R> {
    /// The requests to which it is sent.
    pub(super) waiting: Vec<R>,
    /// The number of earlier results that were dropped for it.
    pub(super) dropped: usize,
}

/// The goals that a cancel request concerns, whose owners decide on it.
pub(super) struct CancelRequest<H> {
    /// Goals of both generations, if the request is for more than one goal.
    pub(super) goals: Vec<(Key, H)>,
    /// The code if there are none.
    code: CancelCode,
}

impl<H> CancelRequest<H> {
    /// The code after the owners have decided: for each goal whether it is being canceled.
    pub(super) fn code(&self, accepted: &[bool]) -> CancelCode {
        if self.goals.is_empty() || accepted.contains(&true) { self.code } else { CancelCode::Rejected }
    }
}

impl<H: Clone, R: ClientRequest> GoalRegistry<H, R> {
    /// Handles a request that sends a goal whose id is known. Its client gets the same answer as to the first request.
    pub(super) fn repeat_goal(&mut self, id: &GoalId, request: R) -> RepeatedGoal<R> {
        let Some(entry) = self.by_id_mut(id) else { return RepeatedGoal::Rejected(request) };
        if !entry.requests.is_sent_by_client_of(&request) {
            return RepeatedGoal::InUse(request);
        }
        if entry.status.ros2_number().is_some() {
            return RepeatedGoal::Accepted(request, entry.stamp);
        }
        if entry.status.is_terminal() {
            return RepeatedGoal::Rejected(request);
        }
        match entry.requests.repeat_send_goal(request) {
            None => RepeatedGoal::Waits,
            Some(request) => RepeatedGoal::TooMany(request, MOST_WAITING),
        }
    }

    /// Keeps the response that holds the result of a goal. Beyond the limit of bytes, the goals that ended first are
    /// forgotten.
    pub(super) fn keep_result(&mut self, key: Key, response: Arc<[u8]>) -> KeptResult<R> {
        let Some(entry) = self.get_mut(key) else { return KeptResult { waiting: Vec::new(), dropped: 0 } };
        let waiting = entry.requests.set_result(response);
        let mut dropped = 0;
        while self.result_bytes() > MOST_RESULT_BYTES
            && self.evict(|entry| entry.key != key && entry.requests.result_len().is_some())
        {
            dropped += 1;
        }
        KeptResult { waiting, dropped }
    }

    fn result_bytes(&self) -> usize {
        self.entries().iter().filter_map(|entry| entry.requests.result_len()).sum()
    }

    /// Handles a ROS 2 request: cancels the goal with this id, those accepted at this stamp or earlier, either, or (with
    /// neither) all.
    pub(super) fn cancel_ros2(&mut self, id: [u8; 16], stamp: Time, now: Instant) -> CancelRequest<H> {
        self.expire(now);
        let id = Some(id).filter(|id| *id != NO_GOAL);
        let code = match id {
            Some(id) if stamp.is_zero() => self.code_for(id),
            _ => CancelCode::None,
        };
        let all = id.is_none() && stamp.is_zero();
        let goals = self.request_cancel(|entry| {
            let is_named = id.is_some() && entry.id.uuid() == id;
            all || is_named || !stamp.is_zero() && entry.stamp <= stamp
        });
        CancelRequest { goals, code }
    }

    /// The code of a request for one goal.
    fn code_for(&self, id: [u8; 16]) -> CancelCode {
        match self.accepted(id) {
            None => CancelCode::UnknownGoal,
            Some(entry) if entry.is_cancelable() => CancelCode::None,
            Some(_) => CancelCode::GoalTerminated,
        }
    }

    /// Handles a request for the result of a goal.
    pub(super) fn request_result(&mut self, id: [u8; 16], request: R, now: Instant) -> ResultRequest<R> {
        self.expire(now);
        let key = self.accepted(id).map(|entry| entry.key);
        match key.and_then(|key| self.get_mut(key)) {
            Some(entry) => entry.requests.request_result(request),
            None => ResultRequest::Unknown(request),
        }
    }

    /// The goals in the status list: those that were accepted and are not forgotten, each with its UUID and the number of
    /// its status.
    pub(super) fn ros2_list(&self) -> impl Iterator<Item = ([u8; 16], Time, i8)> {
        self.entries()
            .iter()
            .filter_map(|entry| Some((entry.id.uuid()?, entry.stamp, entry.status.ros2_number()?)))
    }

    fn accepted(&self, id: [u8; 16]) -> Option<&Entry<H, R>> {
        self.by_id(&GoalId::from(id)).filter(|entry| entry.status.ros2_number().is_some())
    }
}

#[cfg(test)]
mod tests;
