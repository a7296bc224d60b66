use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::{Instant, Time};

use super::super::goal_registry::{Arrival, GoalRegistry, KeepTimes, Key};
use super::super::goal_requests::ResultRequest;
use super::*;
use crate::goal_status::{GoalId, GoalStatus, Step};

/// Handles are the numbers of goals, and requests are numbers: 10 to 19 of one client, 20 to 29 of the next, and so on,
/// each of another participant. Those from 200 are of clients that are gone, and those from 250 of clients that will not
/// return.
type Goals = GoalRegistry<u8, u8>;

impl ClientRequest for u8 {
    fn client(&self) -> [u8; 16] {
        [self / 10; 16]
    }

    fn is_abandoned(&self) -> bool {
        *self >= 200
    }

    fn is_absent(&self) -> bool {
        *self >= 250
    }
}

fn at(seconds: u64) -> Instant {
    Instant(seconds * 1_000_000_000)
}

fn stamp(sec: i32) -> Time {
    Time { sec, nanosec: 0 }
}

fn id(number: u8) -> [u8; 16] {
    [number; 16]
}

fn goals() -> Goals {
    GoalRegistry::new(10, KeepTimes { ros1: Duration::from_secs(5), ros2: Duration::from_secs(10) })
}

/// Receives a goal at the second of its number.
fn arrive(goals: &mut Goals, number: u8) -> Arrival {
    let times = (Time::default(), stamp(number.into()));
    goals.arrive(&GoalId::from(id(number)), times, |_| number, at(number.into()))
}

fn key(goals: &Goals, number: u8) -> Key {
    goals.by_id(&GoalId::from(id(number))).unwrap().key
}

fn step(goals: &mut Goals, number: u8, step: Step, now: u64) {
    let key = key(goals, number);
    let status = goals.get(key).unwrap().status.after(step).expect("an allowed step");
    goals.set(key, status, "", at(now));
}

/// Goals 1 to `count`, which are executed.
fn executing(count: u8) -> Goals {
    let mut goals = goals();
    for number in 1..=count {
        assert_eq!(arrive(&mut goals, number), Arrival::New);
        step(&mut goals, number, Step::Accept, number.into());
    }
    goals
}

fn list(goals: &Goals) -> Vec<(u8, i8)> {
    goals.ros2_list().map(|(id, _, status)| (id[0], status)).collect()
}

/// Cancels as one user decides about all goals. Returns the code and the numbers of the goals.
fn cancel(goals: &mut Goals, id: [u8; 16], stamp: Time, accepts: bool) -> (CancelCode, Vec<u8>) {
    let request = goals.cancel_ros2(id, stamp, at(20));
    let decide = |(key, _): &(Key, u8)| {
        assert!(accepts || goals.refuse_cancel(*key));
        goals.conclude_cancel(*key)
    };
    let decisions: Vec<bool> = request.goals.iter().map(decide).collect();
    assert_eq!(decisions, vec![accepts; request.goals.len()]);
    (request.code(&decisions), request.goals.iter().map(|(_, number)| *number).collect())
}

#[test]
fn list_has_accepted_goals_until_they_expire() {
    let mut goals = executing(2);
    arrive(&mut goals, 3);
    assert_eq!(list(&goals), [(1, 2), (2, 2)], "goal 3 is not accepted");
    step(&mut goals, 3, Step::Reject, 3);
    step(&mut goals, 1, Step::RequestCancel, 4);
    step(&mut goals, 2, Step::Succeed, 4);
    assert_eq!(list(&goals), [(1, 3), (2, 4)]);
    step(&mut goals, 1, Step::Cancel, 5);
    goals.expire(at(14));
    assert_eq!(list(&goals), [(1, 5), (2, 4)]);
    goals.expire(at(15));
    assert_eq!(list(&goals), [(1, 5)], "10 s after its end");
    let stamps: Vec<Time> = goals.ros2_list().map(|(_, stamp, _)| stamp).collect();
    assert_eq!(stamps, [stamp(1)]);
}

#[test]
fn long_goal_keeps_its_result_after_the_end() {
    let mut goals = executing(1);
    goals.expire(at(1000));
    step(&mut goals, 1, Step::Abort, 1000);
    goals.expire(at(1010));
    assert_eq!(list(&goals), [(1, 6)], "the time counts from the end");
}

#[test]
fn cancel_selects_by_id_stamp_either_or_all() {
    for (canceled, before, expected) in [
        (id(2), 0, vec![2]),
        (NO_GOAL, 2, vec![1, 2]),
        (id(3), 1, vec![1, 3]),
        (NO_GOAL, 0, vec![1, 2, 3]),
        (id(9), 1, vec![1]),
    ] {
        let mut goals = executing(3);
        let (code, concerned) = cancel(&mut goals, canceled, stamp(before), true);
        assert_eq!((code, &concerned), (CancelCode::None, &expected), "{canceled:?} {before}");
        let canceling: Vec<u8> =
            list(&goals).into_iter().filter(|(_, status)| *status == 3).map(|(id, _)| id).collect();
        assert_eq!(canceling, expected);
    }
}

#[test]
fn cancel_of_one_goal_names_why_not() {
    let none: Vec<u8> = Vec::new();
    let mut goals = executing(3);
    arrive(&mut goals, 4);
    assert_eq!(cancel(&mut goals, id(9), stamp(0), true), (CancelCode::UnknownGoal, none.clone()));
    assert_eq!(cancel(&mut goals, id(4), stamp(0), true), (CancelCode::UnknownGoal, none.clone()));
    step(&mut goals, 1, Step::Succeed, 20);
    assert_eq!(cancel(&mut goals, id(1), stamp(0), true), (CancelCode::GoalTerminated, none.clone()));
    assert_eq!(cancel(&mut goals, id(2), stamp(0), false), (CancelCode::Rejected, vec![2]));
    assert_eq!(list(&goals)[1], (2, 2), "it continues");
    assert_eq!(cancel(&mut goals, id(2), stamp(0), true), (CancelCode::None, vec![2]));
    assert_eq!(cancel(&mut goals, id(2), stamp(0), true), (CancelCode::GoalTerminated, none));
}

#[test]
fn cancel_of_all_succeeds_without_goals() {
    let none = (CancelCode::None, Vec::new());
    assert_eq!(cancel(&mut goals(), NO_GOAL, stamp(0), true), none);
    assert_eq!(cancel(&mut goals(), NO_GOAL, stamp(7), true), none);
}

#[test]
fn cancel_is_accepted_if_one_owner_accepts() {
    let mut goals = executing(2);
    let request = goals.cancel_ros2(NO_GOAL, stamp(0), at(0));
    assert_eq!(request.code(&[false, true]), CancelCode::None);
    assert_eq!(request.code(&[false, false]), CancelCode::Rejected);
}

#[test]
fn cancel_of_all_concerns_goals_of_both_generations() {
    let mut goals = executing(1);
    goals.arrive(&GoalId::from("/client-1-2.3"), (stamp(5), stamp(6)), |_| 7, at(6));
    let request = goals.cancel_ros2(NO_GOAL, stamp(0), at(0));
    assert_eq!(request.goals.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [1, 7]);
    request.goals.iter().for_each(|(key, _)| assert!(goals.conclude_cancel(*key)));
    assert_eq!(list(&goals), [(1, 3)], "the list has only those with a UUID");
    let mut goals = executing(1);
    arrive(&mut goals, 2);
    let (concerned, _) = goals.cancel("", Time::default(), at(0));
    assert_eq!(concerned.len(), 1, "goal 2 is not accepted, so its ROS 2 client does not know it");
}

#[test]
fn result_is_sent_at_the_end_and_after_it() {
    let mut goals = executing(1);
    assert_eq!(goals.request_result(id(1), 1, at(1)), ResultRequest::Waits);
    assert_eq!(goals.request_result(id(1), 2, at(1)), ResultRequest::Waits);
    let response: Arc<[u8]> = Arc::from([4, 2]);
    step(&mut goals, 1, Step::Succeed, 5);
    let entry_key = key(&goals, 1);
    let kept = goals.keep_result(entry_key, Arc::clone(&response));
    assert_eq!((kept.waiting, kept.dropped), (vec![1, 2], 0));
    assert_eq!(goals.request_result(id(1), 3, at(15)), ResultRequest::Answer(3, response));
    assert_eq!(goals.request_result(id(1), 4, at(16)), ResultRequest::Unknown(4), "it has expired");
}

#[test]
fn result_of_unaccepted_goal_is_unknown() {
    let mut goals = goals();
    assert_eq!(goals.request_result(id(1), 1, at(0)), ResultRequest::Unknown(1));
    arrive(&mut goals, 1);
    assert_eq!(goals.request_result(id(1), 2, at(0)), ResultRequest::Unknown(2));
    step(&mut goals, 1, Step::Reject, 0);
    assert_eq!(goals.request_result(id(1), 3, at(0)), ResultRequest::Unknown(3));
}

#[test]
fn requests_for_one_result_are_limited() {
    let mut goals = executing(1);
    let entry_key = key(&goals, 1);
    goals.get_mut(entry_key).unwrap().requests.set_send_goal(150);
    let mut ask = |number| goals.request_result(id(1), number, at(1));
    (0..10).for_each(|number| assert_eq!(ask(number), ResultRequest::Waits));
    assert_eq!(ask(3), ResultRequest::TooMany(3, 10), "of one participant");
    (10..100).for_each(|number| assert_eq!(ask(number), ResultRequest::Waits, "of other participants"));
    assert_eq!(ask(100), ResultRequest::TooMany(100, 100), "of all others");
    (150..160).for_each(|number| assert_eq!(ask(number), ResultRequest::Waits, "of the sender of the goal"));
    assert_eq!(ask(151), ResultRequest::TooMany(151, 10), "of the sender of the goal");
}

#[test]
fn requests_of_clients_that_are_gone_make_room() {
    let mut goals = executing(1);
    for number in (0..50).chain(200..250) {
        assert_eq!(goals.request_result(id(1), number, at(1)), ResultRequest::Waits);
    }
    assert_eq!(goals.request_result(id(1), 50, at(1)), ResultRequest::Waits);
    let entry_key = key(&goals, 1);
    let kept = goals.keep_result(entry_key, Arc::from([]));
    assert_eq!(kept.waiting, (0..=50).collect::<Vec<_>>());
}

#[test]
fn requests_of_absent_clients_are_dropped() {
    let mut goals = executing(2);
    for (goal, number) in [(1, 1), (1, 250), (1, 100), (2, 251)] {
        assert_eq!(goals.request_result(id(goal), number, at(1)), ResultRequest::Waits);
    }
    goals.drop_absent_clients();
    let waiting = |goals: &mut Goals, number| {
        let entry_key = key(goals, number);
        goals.keep_result(entry_key, Arc::from([])).waiting
    };
    assert_eq!([waiting(&mut goals, 1), waiting(&mut goals, 2)], [vec![1, 100], vec![]]);
}

#[test]
fn repeated_goal_is_answered_like_the_first() {
    let mut goals = goals();
    arrive(&mut goals, 1);
    let goal = GoalId::from(id(1));
    let entry_key = key(&goals, 1);
    goals.get_mut(entry_key).unwrap().requests.set_send_goal(10);
    assert_eq!(goals.repeat_goal(&goal, 11), RepeatedGoal::Waits);
    assert_eq!(goals.repeat_goal(&goal, 20), RepeatedGoal::InUse(20), "another client");
    (12..20).for_each(|request| assert_eq!(goals.repeat_goal(&goal, request), RepeatedGoal::Waits));
    assert_eq!(goals.repeat_goal(&goal, 10), RepeatedGoal::TooMany(10, 10));
    step(&mut goals, 1, Step::Accept, 1);
    let waiting = goals.get_mut(entry_key).unwrap().requests.take_send_goal();
    assert_eq!(waiting, (10..20).collect::<Vec<_>>());
    assert_eq!(goals.repeat_goal(&goal, 12), RepeatedGoal::Accepted(12, stamp(1)));
    step(&mut goals, 1, Step::Succeed, 2);
    assert_eq!(goals.repeat_goal(&goal, 13), RepeatedGoal::Accepted(13, stamp(1)), "it was accepted then");
    assert_eq!(goals.repeat_goal(&goal, 20), RepeatedGoal::InUse(20));
    arrive(&mut goals, 2);
    let entry_key = key(&goals, 2);
    goals.get_mut(entry_key).unwrap().requests.set_send_goal(10);
    step(&mut goals, 2, Step::Reject, 2);
    assert_eq!(goals.repeat_goal(&GoalId::from(id(2)), 11), RepeatedGoal::Rejected(11));
}

#[test]
fn rejected_goals_do_not_evict_results() {
    let mut goals = executing(1);
    step(&mut goals, 1, Step::Succeed, 1);
    let entry_key = key(&goals, 1);
    goals.keep_result(entry_key, Arc::from([1]));
    for number in 2..=100 {
        assert_eq!(arrive(&mut goals, number), Arrival::New);
        step(&mut goals, number, Step::Reject, 1);
    }
    assert_eq!(goals.entries().len(), 10);
    assert_eq!(goals.request_result(id(1), 1, at(1)), ResultRequest::Answer(1, Arc::from([1])));
}

#[test]
fn results_are_limited_by_their_bytes() {
    let mut goals = executing(4);
    let half: Arc<[u8]> = vec![0; MOST_RESULT_BYTES / 2].into();
    for number in 1..=3 {
        step(&mut goals, number, Step::Succeed, number.into());
        let entry_key = key(&goals, number);
        let kept = goals.keep_result(entry_key, Arc::clone(&half));
        assert_eq!(kept.dropped, usize::from(number == 3));
    }
    assert_eq!(list(&goals), [(2, 4), (3, 4), (4, 2)], "the goal that ended first is forgotten");
    step(&mut goals, 4, Step::Succeed, 4);
    let entry_key = key(&goals, 4);
    let long: Arc<[u8]> = vec![0; MOST_RESULT_BYTES + 1].into();
    assert_eq!(goals.keep_result(entry_key, long).dropped, 2);
    assert_eq!(list(&goals), [(4, 4)], "the last result is kept");
}

#[test]
fn cancel_status_is_listed_once_the_owner_has_decided() {
    let mut goals = executing(1);
    let request = goals.cancel_ros2(id(1), stamp(0), at(2));
    assert_eq!(list(&goals), [(1, 2)], "the owner is being asked");
    assert!(goals.refuse_cancel(request.goals[0].0) && !goals.conclude_cancel(request.goals[0].0));
    assert_eq!(list(&goals), [(1, 2)]);
    let request = goals.cancel_ros2(id(1), stamp(0), at(2));
    assert!(goals.conclude_cancel(request.goals[0].0));
    assert_eq!(list(&goals), [(1, 3)]);
}

#[test]
fn goal_request_is_answered_once() {
    let mut goals = goals();
    arrive(&mut goals, 1);
    let entry_key = key(&goals, 1);
    goals.get_mut(entry_key).unwrap().requests.set_send_goal(8);
    assert_eq!(goals.get_mut(entry_key).unwrap().requests.take_send_goal(), [8]);
    assert!(goals.get_mut(entry_key).unwrap().requests.take_send_goal().is_empty());
}

#[test]
fn duplicate_and_excess_goals_are_refused() {
    let mut goals = executing(1);
    assert_eq!(arrive(&mut goals, 1), Arrival::Known);
    (2..=10).for_each(|number| assert_eq!(arrive(&mut goals, number), Arrival::New));
    assert_eq!(arrive(&mut goals, 11), Arrival::Full);
    step(&mut goals, 1, Step::Succeed, 11);
    assert_eq!(arrive(&mut goals, 11), Arrival::New, "the ended goal makes room");
    assert_eq!(goals.request_result(id(1), 1, at(12)), ResultRequest::Unknown(1));
}

#[test]
fn many_goals_do_not_grow_the_registry() {
    let mut goals = goals();
    for number in 0..10_000_u32 {
        let mut uuid = [0; 16];
        uuid[..4].copy_from_slice(&number.to_be_bytes());
        uuid[15] = 1;
        let arrival = goals.arrive(&GoalId::from(uuid), (Time::default(), stamp(1)), |_| 0, at(1));
        assert_eq!(arrival, Arrival::New);
        let key = goals.by_id(&GoalId::from(uuid)).unwrap().key;
        goals.set(key, GoalStatus::Active, "", at(1));
        goals.set(key, GoalStatus::Succeeded, "", at(1));
        assert!(goals.entries().len() <= 10);
    }
}
