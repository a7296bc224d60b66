//! Goals tracked by a client.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use runnel_core::time::Instant;
use runnel_core::wire::{Bytes, Encoding};
use runnel_msgs::action_msgs::msg::GoalStatusArray as Ros2StatusArray;
use runnel_msgs::actionlib_msgs::msg::{GoalStatus as WireStatus, GoalStatusArray};

use super::MAX_GOALS;
use super::client_state_machine::Update;
use super::content::ReceivedContent;
use super::goal::Goal;
use crate::data::{CallPath, LinkInfo};
use crate::error::{ActionError, Error};
use crate::goal_status::{GoalId, GoalStatus};
use crate::log_output::console;
use crate::sync::{Class, Mutex, lock};

/// State of a client's goals and of the server. No user code runs under its lock.
pub(super) struct Tracker {
    action: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    goals: BTreeMap<GoalId, Tracked>,
    /// The node that sent the last list in ROS 1.
    server: Option<String>,
}

/// A goal, tracked while a handle exists or its callbacks are pending.
struct Tracked {
    goal: Weak<Goal>,
    /// The goal while it is needed without a handle.
    kept: Option<Arc<Goal>>,
    /// The ROS 2 call that waits for its result.
    result_call: Option<CallPath>,
}

impl Tracker {
    pub(super) fn new(action: String) -> Self {
        Self { action, state: Mutex::new(Class::ActionClient, State::default()) }
    }

    pub(super) fn action(&self) -> &str {
        &self.action
    }

    /// The node of the ROS 1 action server, once it has sent a message.
    pub(super) fn server(&self) -> Option<String> {
        lock(&self.state).server.clone()
    }

    /// Adds a goal. Goals without a handle are forgotten: returns the calls that wait for their results.
    ///
    /// # Errors
    /// When there are too many goals.
    pub(super) fn add(&self, goal: &Arc<Goal>) -> Result<Vec<CallPath>, Error> {
        let (mut state, mut calls) = (lock(&self.state), Vec::new());
        state.goals.retain(|_, tracked| {
            let is_alive = tracked.goal.strong_count() > 0;
            calls.extend(tracked.result_call.filter(|_| !is_alive));
            is_alive
        });
        if state.goals.len() >= MAX_GOALS {
            return Err(ActionError::TooManyGoals { limit: MAX_GOALS }.of(&self.action));
        }
        let kept = goal.calls().map(|_| Arc::clone(goal));
        let tracked = Tracked { goal: Arc::downgrade(goal), kept, result_call: None };
        state.goals.insert(goal.id.clone(), tracked);
        Ok(calls)
    }

    /// Tracks a goal also without a handle, until it ends or is [released](Tracker::release).
    pub(super) fn keep(&self, goal: &Arc<Goal>) {
        if let Some(tracked) = lock(&self.state).goals.get_mut(&goal.id) {
            tracked.kept = Some(Arc::clone(goal));
        }
    }

    /// Tracks a goal only while a handle exists or its callbacks are pending.
    pub(super) fn release(&self, goal: &Goal) {
        if goal.calls().is_none() {
            let kept = lock(&self.state).goals.get_mut(&goal.id).and_then(|tracked| tracked.kept.take());
            drop(kept);
        }
    }

    /// Records the ROS 2 call that waits for the result of a goal.
    pub(super) fn set_result_call(&self, goal: &Goal, call: CallPath) {
        if let Some(tracked) = lock(&self.state).goals.get_mut(&goal.id) {
            tracked.result_call = Some(call);
        }
    }

    pub(super) fn remove(&self, goal: &Goal) {
        let removed = lock(&self.state).goals.remove(&goal.id);
        // Its callbacks must not be dropped under the lock.
        drop(removed);
    }

    /// Handles a status list. Goals missing from it count as missing only if it is `whole`: all received results have
    /// been processed.
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
                    let number = reported.map_or(0, |reported| reported.status);
                    self.log_error(server, &goal, (GoalStatus::of_number(number), number.into()));
                }
                Update::Unchanged | Update::Changed => {}
            }
        }
    }

    /// The tracked ROS 1 goals, after a message from `server`.
    fn alive(&self, server: &str) -> Vec<Arc<Goal>> {
        let mut state = lock(&self.state);
        if state.server.as_deref() != Some(server) {
            state.server = Some(server.to_owned());
        }
        let ros1 = state.goals.iter().filter(|(id, _)| id.text().is_some());
        ros1.filter_map(|(_, tracked)| tracked.goal.upgrade()).collect()
    }

    /// Handles a ROS 2 status list of the publisher `from`.
    pub(super) fn on_ros2_status_list(&self, from: &LinkInfo, list: &Ros2StatusArray, now: Instant) {
        let reported: HashMap<[u8; 16], i8> =
            list.status_list.iter().map(|entry| (entry.goal_info.goal_id.uuid, entry.status)).collect();
        for goal in self.ros2_goals() {
            let reported = goal.id.uuid().and_then(|uuid| reported.get(&uuid)).copied();
            let update = match (reported, reported.and_then(GoalStatus::of_ros2_number)) {
                (Some(_), None) => Update::Invalid,
                (_, status) => goal.on_ros2_status(status, from.gid, now),
            };
            match update {
                Update::End => self.remove(&goal),
                Update::Invalid => {
                    let number = reported.unwrap_or_default();
                    self.log_error(
                        &from.publisher,
                        &goal,
                        (GoalStatus::of_ros2_number(number), number.into()),
                    );
                }
                Update::Unchanged | Update::Changed => {}
            }
        }
    }

    fn ros2_goals(&self) -> Vec<Arc<Goal>> {
        let state = lock(&self.state);
        let ros2 = state.goals.iter().filter(|(id, _)| id.uuid().is_some());
        ros2.filter_map(|(_, tracked)| tracked.goal.upgrade()).collect()
    }

    /// Handles a result of one of these goals, or of another client's.
    pub(super) fn on_result(&self, server: &str, status: &WireStatus, result: Bytes<'_>) {
        let Some(goal) = self.find(&GoalId::from(&*status.goal_id.id)) else { return };
        let ended = GoalStatus::of_number(status.status).unwrap_or(GoalStatus::Lost);
        if ended == GoalStatus::Lost {
            self.log_error(server, &goal, (GoalStatus::of_number(status.status), status.status.into()));
        }
        let result = ReceivedContent::new(result, Encoding::Ros1, 0);
        if goal.on_result(ended, &status.text, Some(result)) == Update::End {
            self.remove(&goal);
        }
    }

    /// Handles feedback about the goal with this id, or about another client's.
    pub(super) fn on_feedback(&self, id: &GoalId, feedback: impl FnOnce() -> ReceivedContent) {
        if let Some(goal) = self.find(id) {
            goal.on_feedback(feedback);
        }
    }

    fn find(&self, id: &GoalId) -> Option<Arc<Goal>> {
        lock(&self.state).goals.get(id)?.goal.upgrade()
    }

    /// Logs an invalid status from the server, once per goal.
    fn log_error(&self, server: &str, goal: &Goal, (reported, number): (Option<GoalStatus>, i16)) {
        if goal.is_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        let (is, _) = goal.status();
        let reported = reported.map_or_else(|| number.to_string(), |reported| reported.to_string());
        console::warning!(
            "action {}: server [{server}] reports goal {} as {reported}, which cannot follow {is}",
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
    fn call_of_forgotten_goal_is_returned_once() {
        let tracker = Tracker::new("/test".into());
        let new = |number: u8| Arc::new(Goal::new(GoalId::from([number; 16]), Time::default(), None));
        let call = CallPath::Ros2(runnel_rtps::wire::EntityId([1; 4]), 7);
        let goal = new(1);
        assert_eq!(tracker.add(&goal).unwrap(), []);
        tracker.set_result_call(&goal, call);
        assert_eq!(tracker.add(&new(2)).unwrap(), [], "the first has a handle");
        drop(goal);
        assert_eq!(tracker.add(&new(3)).unwrap(), [call]);
        assert_eq!(tracker.add(&new(4)).unwrap(), []);
    }

    #[test]
    fn unlisted_goals_with_callbacks_expire() {
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
        (0..MAX_GOALS).for_each(|number| drop(tracker.add(&new(number)).unwrap()));
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
