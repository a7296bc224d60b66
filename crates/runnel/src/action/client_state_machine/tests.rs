use super::*;
use GoalStatus as Status;
use State::*;

const NOW: Instant = Instant(0);

const STATES: [State; 8] =
    [WaitingForGoalAck, Pending, Active, WaitingForResult, WaitingForCancelAck, Recalling, Preempting, Done];

/// For each status the next state from each of [`STATES`], by its initials: `.` if the transition is not allowed.
const TABLE: [(Status, [&str; 8]); 10] = [
    (Status::Pending, ["Pe", "Pe", ".", ".", "WC", ".", ".", "."]),
    (Status::Active, ["Ac", "Ac", "Ac", "WR", "WC", ".", ".", "."]),
    (Status::Rejected, ["WR", "WR", ".", "WR", "WR", "WR", ".", "."]),
    (Status::Recalling, ["Re", "Re", ".", ".", "Re", "Re", ".", "."]),
    (Status::Recalled, ["WR", "WR", ".", "WR", "WR", "WR", ".", "."]),
    (Status::Preempting, ["Pr", "Pr", "Pr", ".", "Pr", "Pr", "Pr", "."]),
    (Status::Preempted, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
    (Status::Succeeded, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
    (Status::Aborted, ["WR", "WR", "WR", "WR", "WR", "WR", "WR", "."]),
    (Status::Lost, [".", ".", ".", ".", ".", ".", ".", "."]),
];

fn short(state: Option<State>) -> &'static str {
    match state {
        None => ".",
        Some(WaitingForGoalAck) => "WG",
        Some(Pending) => "Pe",
        Some(Active) => "Ac",
        Some(WaitingForResult) => "WR",
        Some(WaitingForCancelAck) => "WC",
        Some(Recalling) => "Re",
        Some(Preempting) => "Pr",
        Some(Done) => "Do",
    }
}

#[test]
fn transitions_are_those_of_actionlib() {
    for (status, expected) in TABLE {
        assert_eq!(STATES.map(|state| short(next(state, status))), expected, "{status}");
    }
}

fn at(state: State) -> ClientStateMachine {
    let acknowledged = state != WaitingForGoalAck;
    ClientStateMachine { state, acknowledged, ..ClientStateMachine::new() }
}

#[test]
fn forgotten_goal_is_lost_unless_result_is_pending() {
    for state in STATES {
        let update = at(state).on_missing_status(NOW);
        let waits = matches!(state, WaitingForGoalAck | WaitingForResult | Done);
        assert_eq!(update == Update::End, !waits, "{state:?}");
    }
    let mut canceled_at_once = ClientStateMachine::new();
    assert!(canceled_at_once.cancel());
    assert_eq!(canceled_at_once.on_missing_status(NOW), Update::Unchanged);
    assert!(!canceled_at_once.is_acknowledged());
    assert_eq!(canceled_at_once.on_status(Status::Recalling, "", NOW), Update::Changed);
    assert!(canceled_at_once.is_acknowledged());
    assert_eq!(canceled_at_once.on_missing_status(NOW), Update::End);
    assert_eq!(canceled_at_once.status(), Status::Lost);
}

#[test]
fn cancel_notifies_server_only_when_effective() {
    for state in STATES {
        let mut goal = at(state);
        let must_notify = matches!(state, WaitingForGoalAck | Pending | Active | WaitingForCancelAck);
        assert_eq!(goal.cancel(), must_notify, "{state:?}");
        assert_eq!(goal.state, if must_notify { WaitingForCancelAck } else { state });
    }
}

#[test]
fn acceptance_activates_goal_once() {
    for state in STATES.into_iter().filter(|state| *state != Done) {
        let mut goal = at(state);
        assert_eq!(goal.on_accepted(), state == WaitingForCancelAck, "{state:?}");
        let activates = matches!(state, WaitingForGoalAck | Pending);
        assert_eq!(goal.state, if activates { Active } else { state });
        assert!(goal.is_acknowledged() && goal.status() == Status::Active);
    }
}

#[test]
fn refused_cancel_lets_goal_be_canceled_again() {
    let mut goal = at(Active);
    assert!(goal.cancel());
    goal.on_cancel_refused();
    assert_eq!(goal.state, Active);
    assert!(goal.cancel());
    assert_eq!(goal.on_status(Status::Preempting, "", NOW), Update::Changed);
    goal.on_cancel_refused();
    assert_eq!(goal.state, Preempting, "a late answer changes nothing");
}

#[test]
fn failure_loses_goal_that_has_not_ended() {
    let mut goal = at(Active);
    assert_eq!(goal.on_failure("gone"), Update::End);
    assert_eq!((goal.status(), goal.text()), (Status::Lost, "gone"));
    assert_eq!(goal.on_failure("again"), Update::Unchanged);
    assert_eq!(goal.text(), "gone");
}

#[test]
fn result_ends_goal_once_in_any_state() {
    for state in STATES.into_iter().filter(|state| *state != Done) {
        let mut goal = at(state);
        assert_eq!(goal.on_result(Status::Aborted, "no way"), Update::End, "{state:?}");
        assert_eq!((goal.status(), goal.text()), (Status::Aborted, "no way"));
        assert_eq!(goal.on_result(Status::Succeeded, ""), Update::Unchanged);
        assert_eq!(goal.on_status(Status::Active, "", NOW), Update::Unchanged);
        assert_eq!(goal.status(), Status::Aborted);
    }
    let mut goal = at(Active);
    assert_eq!(goal.on_result(Status::Active, ""), Update::End);
    assert_eq!(goal.status(), Status::Lost);
}

#[test]
fn invalid_status_changes_nothing() {
    let mut goal = at(Preempting);
    assert_eq!(goal.on_status(Status::Pending, "what", NOW), Update::Invalid);
    assert_eq!((goal.state, goal.text()), (Preempting, ""));
}

fn after(seconds: u64) -> Instant {
    Instant(seconds * 1_000_000_000)
}

#[test]
fn goal_missing_from_lists_for_long_is_lost() {
    for canceled in [false, true] {
        let mut goal = ClientStateMachine::new();
        assert_eq!(canceled, canceled && goal.cancel());
        (0..100).for_each(|_| assert_eq!(goal.on_missing_status(after(1)), Update::Unchanged));
        assert_eq!(goal.on_missing_status(after(30)), Update::Unchanged, "the time limit is not reached");
        assert_eq!(goal.on_missing_status(after(31)), Update::End);
        let lost = (Status::Lost, "the action server has not received the goal");
        assert_eq!((goal.status(), goal.text()), lost);
    }
    let mut goal = ClientStateMachine::new();
    (0..10).for_each(|list| assert_eq!(goal.on_missing_status(after(10 * list)), Update::Unchanged));
    assert_eq!(
        goal.on_status(Status::Active, "", after(100)),
        Update::Changed,
        "the minimum number of lists is not reached"
    );
    assert_eq!(
        goal.on_status(Status::Active, "", after(1000)),
        Update::Unchanged,
        "an active goal has no time limit"
    );
}

#[test]
fn ended_goal_without_result_is_lost() {
    for listed in [false, true] {
        let mut goal = ClientStateMachine::new();
        (0..10).for_each(|list| assert_eq!(goal.on_missing_status(after(2 * list)), Update::Unchanged));
        assert_eq!(goal.on_status(Status::Succeeded, "", after(20)), Update::Changed);
        let mut hear = |now| match listed {
            true => goal.on_status(Status::Succeeded, "", now),
            false => goal.on_missing_status(now),
        };
        (0..100).for_each(|_| assert_eq!(hear(after(21)), Update::Unchanged));
        assert_eq!(hear(after(50)), Update::Unchanged, "earlier waiting does not count");
        assert_eq!(hear(after(51)), Update::End);
        assert_eq!(goal.status(), Status::Lost);
        assert_eq!(goal.text(), "the action server reports the goal as SUCCEEDED, but sent no result");
    }
}
