//! One goal of a client, and the calls of its user's callback.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use runnel_core::time::{Instant, Time};

use super::client_state_machine::{ClientStateMachine, Update};
use super::content::ReceivedContent;
use crate::data::{EventLimit, Events};
use crate::goal_status::{GoalId, GoalStatus};
use crate::ready::{Dispatch, Listeners, Waitable};
use crate::ros2_graph::Gid;
use crate::sync::{Class, Mutex, lock};

/// Limit of feedback that waits for a callback.
const LIMIT: EventLimit = EventLimit { count: 100, bytes: 64 << 20 };

/// How a goal ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// The result, if one was received.
    pub(super) result: Option<ReceivedContent>,
}

/// An event for the goal's user.
pub(super) enum Event {
    Feedback(ReceivedContent),
    End(Ended),
}

/// Callback for events of a goal.
pub(super) type Callback = Box<dyn FnMut(Event) + Send>;

/// Pending events of one goal. A thread that spins, or waits for the goal, calls the callback.
pub(super) type Calls = Events<Event>;

/// Creates the pending events of a callback.
pub(super) fn calls(dispatch: Dispatch, callback: Callback) -> Arc<Calls> {
    Events::new(LIMIT, dispatch, callback)
}

/// A goal that a client has sent.
pub(super) struct Goal {
    pub(super) id: GoalId,
    /// When the client created it.
    pub(super) stamp: Time,
    state: Mutex<State>,
    calls: Option<Arc<Calls>>,
    /// Waiters for the end of the goal.
    listeners: Listeners,
    /// An invalid status from the server was logged.
    pub(super) is_reported: AtomicBool,
}

struct State {
    state_machine: ClientStateMachine,
    result: Option<ReceivedContent>,
    /// The publisher of the ROS 2 status list that has contained the goal.
    listed_by: Option<Gid>,
}

impl Goal {
    pub(super) fn new(id: GoalId, stamp: Time, calls: Option<Arc<Calls>>) -> Self {
        let state = State { state_machine: ClientStateMachine::new(), result: None, listed_by: None };
        let state = Mutex::new(Class::ClientGoal, state);
        Self { id, stamp, state, calls, listeners: Listeners::new(), is_reported: AtomicBool::new(false) }
    }

    /// The status, and the server's text about it.
    pub(super) fn status(&self) -> (GoalStatus, String) {
        let state = lock(&self.state);
        (state.state_machine.status(), state.state_machine.text().to_owned())
    }

    /// Whether the server has listed the goal.
    pub(super) fn is_acknowledged(&self) -> bool {
        lock(&self.state).state_machine.is_acknowledged()
    }

    /// The goal's end, if it has ended.
    pub(super) fn end(&self) -> Option<Ended> {
        let State { state_machine, result, .. } = &*lock(&self.state);
        let (status, text) = (state_machine.status(), state_machine.text().to_owned());
        state_machine.is_done().then(|| Ended { status, text, result: result.clone() })
    }

    /// The pending events of the goal.
    pub(super) fn calls(&self) -> Option<&Arc<Calls>> {
        self.calls.as_ref()
    }

    /// Cancels the goal. True if the server must be notified.
    pub(super) fn cancel(&self) -> bool {
        lock(&self.state).state_machine.cancel()
    }

    /// Handles a status list, with the goal's entry if it has one.
    pub(super) fn on_status(&self, reported: Option<(GoalStatus, &str)>, now: Instant) -> Update {
        let update = match (&mut lock(&self.state).state_machine, reported) {
            (state_machine, Some((status, text))) => state_machine.on_status(status, text, now),
            (state_machine, None) => state_machine.on_missing_status(now),
        };
        self.notify_end(update)
    }

    /// Handles the ROS 2 status list of a publisher, with the goal's status if it has one. A list without the goal may
    /// have been sent before the goal was accepted, or be another server's. So the goal counts as missing only from
    /// lists of the publisher that has listed it. A server that takes its place answers the request for the result.
    pub(super) fn on_ros2_status(
        &self,
        reported: Option<GoalStatus>,
        from: Option<Gid>,
        now: Instant,
    ) -> Update {
        let mut state = lock(&self.state);
        if reported.is_some() {
            state.listed_by = from;
        } else if state.listed_by.is_none() || state.listed_by != from {
            return Update::Unchanged;
        }
        let update = match reported {
            Some(status) => state.state_machine.on_status(status, "", now),
            None => state.state_machine.on_missing_ros2_status(now),
        };
        drop(state);
        self.notify_end(update)
    }

    /// The server has accepted the goal, by a response of its own. True if the server must be notified now that the goal
    /// was canceled before.
    pub(super) fn on_accepted(&self) -> bool {
        let must_cancel = lock(&self.state).state_machine.on_accepted();
        self.listeners.notify();
        must_cancel
    }

    /// The server refuses to cancel the goal.
    pub(super) fn on_cancel_refused(&self) {
        lock(&self.state).state_machine.on_cancel_refused();
    }

    /// The server cannot be asked about the goal any more.
    pub(super) fn on_failure(&self, why: &str) -> Update {
        let update = lock(&self.state).state_machine.on_failure(why);
        self.notify_end(update)
    }

    /// Handles the end with its result, if the server sends one.
    pub(super) fn on_result(
        &self,
        status: GoalStatus,
        text: &str,
        result: Option<ReceivedContent>,
    ) -> Update {
        let mut state = lock(&self.state);
        let update = state.state_machine.on_result(status, text);
        if update == Update::End && state.state_machine.status() != GoalStatus::Lost {
            state.result = result;
        }
        drop(state);
        self.notify_end(update)
    }

    /// Handles feedback.
    pub(super) fn on_feedback(&self, feedback: impl FnOnce() -> ReceivedContent) {
        if let Some(calls) = &self.calls
            && self.end().is_none()
        {
            calls.push(Event::Feedback(feedback()));
        }
    }

    fn notify_end(&self, update: Update) -> Update {
        if update == Update::End {
            if let (Some(calls), Some(end)) = (&self.calls, self.end()) {
                calls.push(Event::End(end));
            }
            self.listeners.notify();
        }
        update
    }
}

/// A goal is ready once it has ended.
impl Waitable for Goal {
    fn is_ready(&self) -> bool {
        lock(&self.state).state_machine.is_done()
    }

    fn listeners(&self) -> &Listeners {
        &self.listeners
    }
}

impl crate::data::Event for Event {
    fn bytes(&self) -> usize {
        match self {
            Self::Feedback(content) => content.len(),
            Self::End(_) => 0,
        }
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::End(_))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::ready::Signal;

    #[test]
    fn goal_missing_from_lists_of_its_ros2_server_is_lost() {
        let goal = Goal::new(GoalId::from([1; 16]), Time::default(), None);
        let [mine, other] = [1, 2].map(|byte| Some(Gid([byte; 16])));
        let status = |reported, from| goal.on_ros2_status(reported, from, Instant(0));
        assert!(!goal.on_accepted());
        assert_eq!(status(None, mine), Update::Unchanged, "the list may be older than the goal");
        assert_eq!(status(Some(GoalStatus::Active), mine), Update::Unchanged);
        assert_eq!(status(None, other), Update::Unchanged, "a list of another server");
        let missing = |second: u64| goal.on_ros2_status(None, mine, Instant(second * 1_000_000_000));
        for second in 0..30 {
            assert_eq!(missing(second), Update::Unchanged, "the result may be under way");
        }
        assert_eq!(missing(31), Update::End, "its server has forgotten it");
        assert_eq!(goal.end().unwrap().status, GoalStatus::Lost);
    }

    #[test]
    fn result_counts_after_list_without_its_ros2_goal() {
        let goal = Goal::new(GoalId::from([1; 16]), Time::default(), None);
        let server = Some(Gid([1; 16]));
        assert!(!goal.on_accepted());
        goal.on_ros2_status(Some(GoalStatus::Active), server, Instant(0));
        assert_eq!(goal.on_ros2_status(None, server, Instant(1)), Update::Unchanged);
        assert_eq!(goal.on_result(GoalStatus::Succeeded, "", None), Update::End);
        assert_eq!(goal.end().unwrap().status, GoalStatus::Succeeded);
    }

    #[test]
    fn goal_end_wakes_its_waiter() {
        let reactor = runnel_io::Reactor::new().unwrap();
        let signal = Signal::new(reactor.waker().clone());
        let goal = Goal::new(GoalId::from("1"), Time::default(), None);
        goal.listeners().add(&Waker::from(Arc::clone(&signal)));
        assert!(signal.begin_polling() && !goal.is_ready());
        goal.on_result(GoalStatus::Succeeded, "", None);
        assert!(goal.is_ready() && !signal.begin_polling());
    }
}
