//! The goals that a client follows.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use runnel_core::time::Instant;
use runnel_core::wire::Bytes;
use runnel_msgs::actionlib_msgs::msg::{GoalStatus as WireStatus, GoalStatusArray};

use super::MAX_GOALS;
use super::client_state_machine::Update;
use super::goal::Goal;
use crate::error::{ActionError, Error};
use crate::goal_status::{GoalId, GoalStatus};
use crate::log_output::console;
use crate::sync::{Class, Mutex, lock};

/// What a client knows of its goals and of the server. No code of the user's runs in it.
pub(super) struct Tracker {
    action: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    goals: BTreeMap<GoalId, Followed>,
    /// The node that sent the last list.
    server: Option<String>,
}

/// A goal that is followed as long as somebody holds it, or its callbacks are still to be called.
struct Followed {
    goal: Weak<Goal>,
    _until_its_end: Option<Arc<Goal>>,
}

impl Tracker {
    pub(super) fn new(action: String) -> Self {
        Self { action, state: Mutex::new(Class::ActionClient, State::default()) }
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node of the action server, once it has said anything.
    pub(super) fn server(&self) -> Option<String> {
        lock(&self.state).server.clone()
    }

    /// Follows a goal.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn add(&self, goal: &Arc<Goal>) -> Result<(), Error> {
        let mut state = lock(&self.state);
        state.goals.retain(|_, followed| followed.goal.strong_count() > 0);
        if state.goals.len() >= MAX_GOALS {
            return Err(ActionError::TooManyGoals { limit: MAX_GOALS }.of(&self.action));
        }
        let until_its_end = goal.calls().map(|_| Arc::clone(goal));
        let followed = Followed { goal: Arc::downgrade(goal), _until_its_end: until_its_end };
        state.goals.insert(goal.id.clone(), followed);
        Ok(())
    }

    pub(super) fn remove(&self, goal: &Goal) {
        let removed = lock(&self.state).goals.remove(&goal.id);
        // The end of its callbacks must not happen under the lock.
        drop(removed);
    }

    /// The server's list has come. What it leaves out counts if it is `whole`: no result is still to be heard of.
    pub(super) fn on_status_list(&self, server: &str, (list, whole): (&GoalStatusArray, bool), now: Instant) {
        let reported: HashMap<&str, &WireStatus> =
            list.status_list.iter().map(|status| (status.goal_id.id.as_str(), status)).collect();
        for goal in self.alive(server) {
            let reported = goal.id.text().and_then(|id| reported.get(id));
            let update =
                match reported.map(|reported| (GoalStatus::of_number(reported.status), &reported.text)) {
                    None if whole => goal.on_status(None, now),
                    None => Update::Unchanged,
                    Some((Some(status), text)) => goal.on_status(Some((status, text)), now),
                    Some((None, _)) => Update::Invalid,
                };
            match update {
                Update::End => self.remove(&goal),
                Update::Invalid => {
                    self.log_error(server, &goal, reported.map_or(0, |reported| reported.status))
                }
                Update::Unchanged | Update::Changed => {}
            }
        }
    }

    /// The goals that somebody follows, of which `server` has something to say.
    fn alive(&self, server: &str) -> Vec<Arc<Goal>> {
        let mut state = lock(&self.state);
        if state.server.as_deref() != Some(server) {
            state.server = Some(server.to_owned());
        }
        state.goals.values().filter_map(|followed| followed.goal.upgrade()).collect()
    }

    /// A result has come, of one of these goals or of another client's.
    pub(super) fn on_result(&self, server: &str, status: &WireStatus, result: Bytes<'_>) {
        let Some(goal) = self.find(&status.goal_id.id) else { return };
        let ended = GoalStatus::of_number(status.status).unwrap_or(GoalStatus::Lost);
        if ended == GoalStatus::Lost {
            self.log_error(server, &goal, status.status);
        }
        if goal.on_result(ended, &status.text, result) == Update::End {
            self.remove(&goal);
        }
    }

    /// Feedback has come.
    pub(super) fn on_feedback(&self, status: &WireStatus, feedback: Bytes<'_>) {
        if let Some(goal) = self.find(&status.goal_id.id) {
            goal.on_feedback(feedback);
        }
    }

    fn find(&self, id: &str) -> Option<Arc<Goal>> {
        lock(&self.state).goals.get(&GoalId::from(id))?.goal.upgrade()
    }

    /// Says once of a goal that its server does not keep to the rules.
    fn log_error(&self, server: &str, goal: &Goal, number: u8) {
        if goal.is_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        let (is, _) = goal.status();
        let reported =
            GoalStatus::of_number(number).map_or_else(|| number.to_string(), |reported| reported.to_string());
        console::warning!(
            "action {}: server [{server}] says that goal {} is {reported}, which cannot be after {is}",
            self.action,
            goal.id
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::goal::{Event, calls};
    use super::*;
    use crate::ready::{Dispatch, NodeQueue, ReadyQueue};
    use runnel_core::time::Time;
    use std::sync::mpsc::channel;

    #[test]
    fn goals_with_callbacks_of_which_the_server_says_nothing_do_not_take_all_places_for_ever() {
        let (tracker, (ends, ended)) = (Tracker::new("/test".into()), channel());
        let reactor = runnel_io::Reactor::new().unwrap();
        let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
        let new = |number: usize| {
            let ends = ends.clone();
            let callback = Box::new(move |event| {
                if let Event::End(end) = event {
                    ends.send(end).unwrap();
                }
            });
            let calls = calls(Dispatch::Executor(NodeQueue::new(Arc::clone(&ready))), callback);
            Arc::new(Goal::new(GoalId::from(&*number.to_string()), Time::default(), Some(calls)))
        };
        (0..MAX_GOALS).for_each(|number| tracker.add(&new(number)).unwrap());
        assert!(tracker.add(&new(MAX_GOALS)).is_err());
        for second in 0..60 {
            tracker.on_status_list(
                "/server",
                (&GoalStatusArray::default(), true),
                Instant(second * 1_000_000_000),
            );
        }
        tracker.add(&new(MAX_GOALS)).unwrap();
        while let Some(due) = ready.pop() {
            due.run();
        }
        let ends: Vec<_> = ended.try_iter().map(|end| end.status).collect();
        assert_eq!(ends, [GoalStatus::Lost; MAX_GOALS]);
    }
}
