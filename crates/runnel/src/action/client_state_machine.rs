//! Client state machine of one goal, as in actionlib.

use std::time::Duration;

use runnel_core::time::Instant;

use crate::goal_status::GoalStatus;

/// How long a server's status lists may leave out a sent goal, or report an ended goal without its result. After that,
/// the goal or the result counts as lost. Goals and results may be long, and the network slow.
const RESULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Minimum number of such lists, because lists may be rare, and several may wait unread.
const MIN_LISTS: u32 = 10;

/// States of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The server has not listed the goal yet.
    WaitingForGoalAck,
    Pending,
    Active,
    /// The server has listed the goal as ended, and the result has not arrived.
    WaitingForResult,
    /// The client has canceled the goal, and the server has not confirmed it.
    WaitingForCancelAck,
    Recalling,
    Preempting,
    Done,
}

/// Effect of a received message on the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Update {
    Unchanged,
    Changed,
    /// The goal has ended.
    End,
    /// The transition is not allowed.
    Invalid,
}

/// State of one goal at the client.
#[derive(Clone, Debug)]
pub(super) struct ClientStateMachine {
    state: State,
    status: GoalStatus,
    text: String,
    /// The server has listed the goal at least once.
    acknowledged: bool,
    /// Lists without the awaited status.
    missed: Option<MissedLists>,
}

/// Consecutive status lists without the awaited status.
#[derive(Clone, Copy, Debug)]
struct MissedLists {
    since: Instant,
    lists: u32,
}

impl ClientStateMachine {
    /// State after the goal was sent.
    pub(super) fn new() -> Self {
        let (state, status) = (State::WaitingForGoalAck, GoalStatus::Pending);
        Self { state, status, text: String::new(), acknowledged: false, missed: None }
    }

    /// The last status from the server, or the final one.
    pub(super) fn status(&self) -> GoalStatus {
        self.status
    }

    /// The server's text about that status.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the server has listed the goal.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.acknowledged || self.is_done()
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Cancels the goal. True if the server must be notified.
    pub(super) fn cancel(&mut self) -> bool {
        use State::*;
        let must_notify = matches!(self.state, WaitingForGoalAck | Pending | Active | WaitingForCancelAck);
        if must_notify {
            self.state = WaitingForCancelAck;
        }
        must_notify
    }

    /// The server has answered that it accepts the goal, as in ROS 2. True if the goal was canceled before, and the
    /// server must be notified now.
    pub(super) fn on_accepted(&mut self) -> bool {
        self.acknowledged = true;
        if matches!(self.state, State::WaitingForGoalAck | State::Pending) {
            self.state = State::Active;
        }
        if self.status == GoalStatus::Pending {
            self.status = GoalStatus::Active;
        }
        self.state == State::WaitingForCancelAck
    }

    /// The server has answered that it refuses to cancel the goal, as in ROS 2.
    pub(super) fn on_cancel_refused(&mut self) {
        if self.state == State::WaitingForCancelAck {
            self.state = State::Active;
        }
    }

    /// The server cannot be asked about the goal any more.
    pub(super) fn on_failure(&mut self, why: &str) -> Update {
        if self.is_done() {
            return Update::Unchanged;
        }
        self.lose(why);
        Update::End
    }

    /// Handles the goal's status in a list.
    pub(super) fn on_status(&mut self, status: GoalStatus, text: &str, now: Instant) -> Update {
        if self.state == State::WaitingForResult && self.has_missed_enough(now) {
            self.lose_result();
            return Update::End;
        }
        if self.is_done() {
            return Update::Unchanged;
        }
        let Some(next) = next(self.state, status) else { return Update::Invalid };
        if next != self.state || next != State::WaitingForResult {
            self.missed = None;
        }
        let news = next != self.state || status != self.status || text != self.text;
        self.acknowledged = true;
        self.state = next;
        self.status = status;
        text.clone_into(&mut self.text);
        if news { Update::Changed } else { Update::Unchanged }
    }

    /// Handles a list without the goal: the goal is lost, unless the server may not have received it or the result may
    /// be under way, and not for too long. Unlike in actionlib, a goal that was canceled at once is not lost before it
    /// was listed.
    pub(super) fn on_missing_status(&mut self, now: Instant) -> Update {
        let waits_for_result = self.state == State::WaitingForResult;
        if self.is_done() {
            return Update::Unchanged;
        }
        if self.acknowledged && !waits_for_result {
            self.lose("the action server no longer lists the goal");
        } else if !self.has_missed_enough(now) {
            return Update::Unchanged;
        } else if waits_for_result {
            self.lose_result();
        } else {
            self.lose("the action server has not received the goal");
        }
        Update::End
    }

    /// Handles a list without the goal of a ROS 2 server that has listed it before. The server answers the request for the
    /// result also if it does not know the goal any more, and that answer may wait unread or be under way. So the goal is
    /// lost only if it is missing for too long.
    pub(super) fn on_missing_ros2_status(&mut self, now: Instant) -> Update {
        if self.is_done() || !self.has_missed_enough(now) {
            return Update::Unchanged;
        }
        self.lose("the action server no longer lists the goal, and has not sent its result");
        Update::End
    }

    /// Counts one more list without the awaited status. True if the limits are reached.
    fn has_missed_enough(&mut self, now: Instant) -> bool {
        let missed = self.missed.get_or_insert(MissedLists { since: now, lists: 0 });
        missed.lists = missed.lists.saturating_add(1);
        missed.lists > MIN_LISTS && now.since(missed.since) >= RESULT_TIMEOUT
    }

    /// Handles the result and its final status.
    pub(super) fn on_result(&mut self, status: GoalStatus, text: &str) -> Update {
        if self.is_done() {
            return Update::Unchanged;
        }
        if status.is_terminal() {
            (self.state, self.status) = (State::Done, status);
            text.clone_into(&mut self.text);
        } else {
            self.lose(&format!("the action server sent a result while the goal was {status}"));
        }
        Update::End
    }

    fn lose_result(&mut self) {
        self.lose(&format!("the action server reports the goal as {}, but sent no result", self.status));
    }

    fn lose(&mut self, why: &str) {
        (self.state, self.status) = (State::Done, GoalStatus::Lost);
        why.clone_into(&mut self.text);
    }
}

/// State after a status was received; `None` if the transition is not allowed.
fn next(from: State, status: GoalStatus) -> Option<State> {
    use GoalStatus as Status;
    use State::*;
    let ended = matches!(
        status,
        Status::Succeeded | Status::Aborted | Status::Preempted | Status::Rejected | Status::Recalled
    );
    // Whether it ended without having been accepted, or is about to.
    let unaccepted =
        matches!(status, Status::Pending | Status::Recalling | Status::Recalled | Status::Rejected);
    match (from, status) {
        (_, Status::Lost) | (Done, _) => None,
        // A result may overtake earlier messages, so intermediate steps may be missed.
        (WaitingForGoalAck | WaitingForCancelAck | Pending, _) if ended => Some(WaitingForResult),
        (Active | Preempting, _) if ended && !unaccepted => Some(WaitingForResult),
        (Recalling | WaitingForResult, _) if ended => Some(WaitingForResult),
        (WaitingForResult, Status::Active) => Some(WaitingForResult),
        (WaitingForCancelAck, Status::Pending | Status::Active) => Some(WaitingForCancelAck),
        (WaitingForGoalAck | Pending, Status::Pending) => Some(Pending),
        (WaitingForGoalAck | Pending | Active, Status::Active) => Some(Active),
        (WaitingForGoalAck | Pending | WaitingForCancelAck | Recalling, Status::Recalling) => Some(Recalling),
        (WaitingForResult, Status::Preempting) => None,
        (_, Status::Preempting) => Some(Preempting),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
