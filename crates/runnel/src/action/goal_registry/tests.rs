use super::*;

impl ClientRequest for () {
    fn client(&self) -> [u8; 16] {
        [0; 16]
    }

    fn is_abandoned(&self) -> bool {
        false
    }

    fn is_absent(&self) -> bool {
        false
    }
}

const KEEP: KeepTimes = KeepTimes { ros1: Duration::from_secs(5), ros2: Duration::from_secs(10) };

/// Time of reception, by the server's clock.
const CAME: Time = Time { sec: 4, nanosec: 0 };

fn at(seconds: u64) -> Instant {
    Instant(seconds * 1_000_000_000)
}

fn stamp(sec: i32) -> Time {
    Time { sec, nanosec: 0 }
}

fn arrive(registry: &mut GoalRegistry<i32, ()>, goal: i32, set: Time, now: Instant) -> Arrival {
    registry.arrive(&id(goal), (set, CAME), |_| goal, now)
}

fn key(registry: &GoalRegistry<i32, ()>, goal: i32) -> Key {
    registry.by_id(&id(goal)).unwrap().key
}

/// A registry of these goals, each with its number as stamp and handle.
fn registry(limit: usize, goals: &[i32]) -> GoalRegistry<i32, ()> {
    let mut registry = GoalRegistry::new(limit, KEEP);
    for goal in goals {
        let arrived = arrive(&mut registry, *goal, stamp(*goal), at(0));
        assert_eq!(arrived, Arrival::New);
    }
    registry
}

fn statuses(registry: &GoalRegistry<i32, ()>) -> Vec<GoalStatus> {
    registry.entries().iter().map(|entry| entry.status).collect()
}

fn id(number: i32) -> GoalId {
    GoalId::from(&*number.to_string())
}

#[test]
fn cancel_selects_by_id_stamp_or_all() {
    let none: &[i32] = &[];
    for (canceled, at_time, expected) in [
        ("2", 0, [2].as_slice()),
        ("", 2, [1, 2].as_slice()),
        ("3", 1, [1, 3].as_slice()),
        ("", 0, [1, 2, 3].as_slice()),
        ("4", 0, none),
    ] {
        let mut registry = registry(10, &[1, 2, 3]);
        let (concerned, kept) = registry.cancel(canceled, stamp(at_time), at(0));
        let handles: Vec<i32> = concerned.iter().map(|(_, handle)| *handle).collect();
        assert_eq!((handles.as_slice(), kept), (expected, true), "{canceled:?} {at_time}");
        let again = registry.cancel(canceled, stamp(at_time), at(0)).0;
        assert!(again.is_empty(), "its owner is being asked");
        assert!(concerned.iter().all(|(key, _)| registry.conclude_cancel(*key)));
        let again = registry.cancel(canceled, stamp(at_time), at(0)).0;
        assert!(again.is_empty(), "a repeated cancel notifies no owner");
    }
}

#[test]
fn refused_cancel_restores_open_goal_only() {
    let mut registry = registry(10, &[1, 2]);
    registry.set(key(&registry, 1), GoalStatus::Active, "", at(0));
    let (concerned, _) = registry.cancel("", Time::default(), at(0));
    assert_eq!(statuses(&registry), [GoalStatus::Active, GoalStatus::Pending], "the owners are being asked");
    let seen_by_owners = registry.entries().iter().map(Entry::status_if_canceled);
    assert!(seen_by_owners.eq([GoalStatus::Preempting, GoalStatus::Recalling]));
    registry.set(key(&registry, 2), GoalStatus::Recalled, "", at(0));
    let keys: Vec<Key> = concerned.into_iter().map(|(key, _)| key).collect();
    assert_eq!([keys[0], keys[1]].map(|key| registry.refuse_cancel(key)), [true, false]);
    assert_eq!(statuses(&registry), [GoalStatus::Active, GoalStatus::Recalled]);
    registry.set(keys[0], GoalStatus::Succeeded, "", at(0));
    assert_eq!([keys[0], keys[1]].map(|key| registry.conclude_cancel(key)), [false, true]);
    registry.set(keys[0], GoalStatus::Active, "", at(0));
    registry.cancel("1", Time::default(), at(0));
    assert!(registry.conclude_cancel(keys[0]) && !registry.refuse_cancel(keys[0]), "it is decided");
}

#[test]
fn goal_canceled_before_arrival_is_recalled() {
    let mut registry = registry(10, &[]);
    assert_eq!(registry.cancel("7", Time::default(), at(0)), (vec![], true));
    assert_eq!(statuses(&registry), [GoalStatus::Recalling]);
    assert_eq!(arrive(&mut registry, 7, stamp(1), at(1)), Arrival::Recalled);
    assert_eq!(statuses(&registry), [GoalStatus::Recalled]);
    assert_eq!(arrive(&mut registry, 7, stamp(1), at(2)), Arrival::Known);
}

#[test]
fn late_goal_before_cancel_stamp_is_recalled() {
    let mut registry = registry(10, &[]);
    registry.cancel("", stamp(5), at(0));
    assert_eq!(arrive(&mut registry, 1, stamp(5), at(0)), Arrival::Recalled);
    assert_eq!(arrive(&mut registry, 2, stamp(6), at(0)), Arrival::New);
    assert_eq!(arrive(&mut registry, 3, Time::default(), at(0)), Arrival::New);
    assert_eq!(registry.by_id(&id(3)).unwrap().stamp, CAME, "the reception time replaces a zero stamp");
}

#[test]
fn reused_id_starts_a_new_goal() {
    let mut registry = registry(10, &[1]);
    let first = key(&registry, 1);
    registry.set(first, GoalStatus::Rejected, "", at(0));
    registry.expire(at(6));
    assert_eq!(arrive(&mut registry, 1, stamp(1), at(6)), Arrival::New);
    assert_ne!(key(&registry, 1), first);
    registry.set(first, GoalStatus::Aborted, "", at(6));
    assert!(registry.get(first).is_none());
    assert_eq!(statuses(&registry), [GoalStatus::Pending]);
}

#[test]
fn duplicate_goal_is_not_started_twice() {
    let mut registry = registry(10, &[1]);
    registry.cancel("1", Time::default(), at(0));
    assert!(registry.conclude_cancel(key(&registry, 1)));
    assert_eq!(arrive(&mut registry, 1, stamp(1), at(0)), Arrival::Known);
    assert_eq!(statuses(&registry), [GoalStatus::Recalling], "its owner continues");
}

#[test]
fn ended_goal_stays_listed_for_a_while() {
    let mut registry = registry(10, &[1, 2]);
    let first = key(&registry, 1);
    assert_eq!(registry.next_expiry(), None);
    registry.set(first, GoalStatus::Rejected, "no", at(10));
    assert_eq!(registry.next_expiry(), Some(at(15)));
    registry.expire(at(15));
    assert_eq!(statuses(&registry), [GoalStatus::Rejected, GoalStatus::Pending]);
    arrive(&mut registry, 1, stamp(1), at(15));
    registry.expire(at(20));
    assert_eq!(registry.entries().len(), 2, "a duplicate extends the listing");
    registry.expire(at(21));
    assert_eq!(statuses(&registry), [GoalStatus::Pending]);
    assert!(registry.get(first).is_none());
}

#[test]
fn full_registry_evicts_ended_goals_only() {
    let mut registry = registry(2, &[1, 2]);
    assert_eq!(arrive(&mut registry, 3, stamp(3), at(0)), Arrival::Full);
    assert!(!registry.cancel("9", Time::default(), at(0)).1);
    registry.set(key(&registry, 2), GoalStatus::Rejected, "", at(1));
    assert_eq!(arrive(&mut registry, 3, stamp(3), at(1)), Arrival::New);
    assert!(registry.by_id(&id(2)).is_none() && registry.by_id(&id(1)).is_some());
}

#[test]
fn goal_accepted_while_its_owner_is_asked_is_preempting() {
    let mut registry = registry(10, &[1]);
    registry.cancel("1", Time::default(), at(0));
    let first = key(&registry, 1);
    registry.set(first, GoalStatus::Active, "", at(0));
    assert_eq!(registry.get(first).unwrap().status_if_canceled(), GoalStatus::Preempting);
    assert!(registry.conclude_cancel(first));
    assert_eq!(statuses(&registry), [GoalStatus::Preempting]);
}

#[test]
fn withdrawn_cancel_lets_goal_be_canceled_again() {
    let mut registry = registry(10, &[1]);
    registry.cancel("1", Time::default(), at(0));
    registry.withdraw_cancel(key(&registry, 1));
    assert_eq!(statuses(&registry), [GoalStatus::Pending]);
    assert_eq!(registry.cancel("1", Time::default(), at(0)).0.len(), 1);
}
