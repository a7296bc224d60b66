use super::*;
use crate::time::Time;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

fn popped<K: Ord + Clone>(timers: &mut Timers<K>, now: u64) -> Vec<K> {
    timers.take_due(Instant(now))
}

#[test]
fn deadlines_are_popped_in_order_of_time() {
    let mut timers = Timers::new();
    for (key, at) in [('a', 30), ('b', 10), ('c', 20), ('d', 40)] {
        timers.schedule(key, Instant(at));
    }
    assert_eq!((timers.len(), timers.next_deadline()), (4, Some(Instant(10))));
    assert_eq!(popped(&mut timers, 9), []);
    assert_eq!(popped(&mut timers, 30), ['b', 'c', 'a']);
    assert_eq!((timers.len(), timers.next_deadline()), (1, Some(Instant(40))));
}

#[test]
fn equal_deadlines_are_popped_in_order_of_keys() {
    let keys = ['d', 'a', 'c', 'b'];
    for first in 0..keys.len() {
        let mut timers = Timers::new();
        keys.iter().cycle().skip(first).take(keys.len()).for_each(|key| timers.schedule(*key, Instant(7)));
        assert_eq!(popped(&mut timers, 7), ['a', 'b', 'c', 'd']);
    }
}

#[test]
fn key_has_one_deadline() {
    let mut timers = Timers::new();
    for at in [5, 9, 3] {
        timers.schedule('a', Instant(at));
        assert_eq!((timers.len(), timers.deadline(&'a')), (1, Some(Instant(at))));
    }
    timers.schedule_if_earlier('a', Instant(4));
    assert_eq!(timers.deadline(&'a'), Some(Instant(3)));
    timers.schedule_if_earlier('a', Instant(2));
    assert_eq!(timers.deadline(&'a'), Some(Instant(2)));
    assert_eq!(timers.pop_due(Instant(9)), Some((Instant(2), 'a')));
    assert_eq!(timers.pop_due(Instant(9)), None);
}

#[test]
fn canceled_deadline_is_not_popped() {
    let mut timers = Timers::new();
    timers.schedule('a', Instant(5));
    timers.schedule('b', Instant(6));
    assert_eq!([timers.cancel(&'a'), timers.cancel(&'a')], [Some(Instant(5)), None]);
    assert_eq!((timers.deadline(&'a'), popped(&mut timers, 9)), (None, ['b'].into()));
    assert!(timers.is_empty() && timers.next_deadline().is_none());
}

#[test]
fn simulated_time_may_be_negative() {
    let mut timers = Timers::new();
    timers.schedule('a', Time::from_nanos(-1));
    timers.schedule('b', Time::from_nanos(-2_000_000_000));
    assert_eq!(timers.next_deadline(), Some(Time::from_nanos(-2_000_000_000)));
    assert_eq!(timers.pop_due(Time::from_nanos(-1_000_000_000)).map(|(_, key)| key), Some('b'));
    assert_eq!(timers.pop_due(Time::from_nanos(-1_000_000_000)), None);
}

/// A step applied to a queue and to its model.
#[derive(Clone, Debug)]
enum Step {
    Schedule(u8, u64),
    ScheduleIfEarlier(u8, u64),
    Cancel(u8),
    Retain(u8),
    PopDue(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Few keys and times, so that keys and times repeat.
    let (key, at) = (|| 0..24u8, || 0..12u64);
    let step = prop_oneof![
        6 => (key(), at()).prop_map(|(key, at)| Step::Schedule(key, at)),
        3 => (key(), at()).prop_map(|(key, at)| Step::ScheduleIfEarlier(key, at)),
        2 => key().prop_map(Step::Cancel),
        1 => (2..5u8).prop_map(Step::Retain),
        4 => at().prop_map(Step::PopDue),
    ];
    prop::collection::vec(step, 0..200)
}

/// Deadlines by key, searched for the earliest.
#[derive(Default)]
struct Model(BTreeMap<u8, u64>);

impl Model {
    fn next(&self) -> Option<(u64, u8)> {
        self.0.iter().map(|(key, at)| (*at, *key)).min()
    }

    fn pop_due(&mut self, now: u64) -> Option<(Instant, u8)> {
        let (at, key) = self.next().filter(|(at, _)| *at <= now)?;
        self.0.remove(&key);
        Some((Instant(at), key))
    }
}

/// Applies a step to both, and compares the results.
fn apply(timers: &mut Timers<u8>, model: &mut Model, step: Step) {
    match step {
        Step::Schedule(key, at) => {
            timers.schedule(key, Instant(at));
            model.0.insert(key, at);
        }
        Step::ScheduleIfEarlier(key, at) => {
            timers.schedule_if_earlier(key, Instant(at));
            model.0.entry(key).and_modify(|former| *former = at.min(*former)).or_insert(at);
        }
        Step::Cancel(key) => assert_eq!(timers.cancel(&key), model.0.remove(&key).map(Instant)),
        Step::Retain(divisor) => {
            timers.retain(|key| key % divisor != 0);
            model.0.retain(|key, _| key % divisor != 0);
        }
        Step::PopDue(now) => {
            let first = timers.first_due(Instant(now)).map(|(at, key)| (at, *key));
            let popped = model.pop_due(now);
            assert_eq!([first, timers.pop_due(Instant(now))], [popped, popped]);
        }
    }
}

proptest! {
    #[test]
    fn queue_agrees_with_model(steps in steps()) {
        let (mut timers, mut model) = (Timers::new(), Model::default());
        for step in steps {
            apply(&mut timers, &mut model, step);
            prop_assert_eq!(timers.len(), model.0.len());
            prop_assert_eq!(timers.next_deadline(), model.next().map(|(at, _)| Instant(at)));
            for key in 0..24 {
                prop_assert_eq!(timers.deadline(&key), model.0.get(&key).copied().map(Instant));
            }
        }
        while let Some(due) = timers.pop_due(Instant(u64::MAX)) {
            prop_assert_eq!(Some(due), model.pop_due(u64::MAX));
        }
        prop_assert!(model.0.is_empty());
    }
}
