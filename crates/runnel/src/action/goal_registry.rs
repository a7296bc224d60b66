//! Registry of the goals that an action server knows.

use std::time::Duration;

use runnel_core::time::{Instant, Time};

use crate::goal_status::{GoalId, GoalStatus, Step};

/// Identifies an entry. A client may reuse a goal id after its goal is forgotten, so the id is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// One goal, or a request to cancel a goal that has not arrived.
#[derive(Clone, Debug)]
pub(super) struct Entry<H> {
    pub(super) key: Key,
    pub(super) id: GoalId,
    /// When the client created the goal, or the time of reception if the client gives none.
    pub(super) stamp: Time,
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// The owner's handle; `None` for a request that waits for its goal.
    handle: Option<H>,
    /// When it ended.
    ended: Option<Instant>,
}

/// What to do with a received goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The user decides on it.
    New,
    /// It was received before.
    Known,
    /// It was cancelled before it arrived.
    Recalled,
    /// Too many goals are active to keep it.
    Full,
}

/// Goals in the order of reception. `H` is the owner's handle.
pub(super) struct GoalRegistry<H> {
    entries: Vec<Entry<H>>,
    /// Key of the last entry.
    key: Key,
    limit: usize,
    /// How long an ended goal stays listed.
    keep: Duration,
    /// Goals with this stamp or an earlier one are cancelled, also those that arrive later.
    last_cancel: Time,
}

impl<H: Clone> GoalRegistry<H> {
    pub(super) fn new(limit: usize, keep: Duration) -> Self {
        Self { entries: Vec::new(), key: Key(0), limit, keep, last_cancel: Time::default() }
    }

    pub(super) fn entries(&self) -> &[Entry<H>] {
        &self.entries
    }

    /// The goal with this id.
    pub(super) fn by_id(&self, id: &GoalId) -> Option<&Entry<H>> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// The goal with this key, unless it is forgotten.
    pub(super) fn get(&self, key: Key) -> Option<&Entry<H>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Adds a received goal, with its `stamp` by the client's clock (the time of reception `came` if it is zero).
    /// `handle` creates the owner's handle.
    pub(super) fn arrive(
        &mut self,
        id: &GoalId,
        (stamp, came): (Time, Time),
        handle: impl FnOnce(Key) -> H,
        now: Instant,
    ) -> Arrival {
        if let Some(known) = self.entries.iter_mut().find(|entry| entry.id == *id) {
            return known.on_duplicate(now);
        }
        if !self.evict_if_full() {
            return Arrival::Full;
        }
        let (id, key) = (id.clone(), self.next_key());
        let recalled = !stamp.is_zero() && stamp <= self.last_cancel;
        let stamp = if stamp.is_zero() { came } else { stamp };
        self.entries.push(match recalled {
            true => {
                let text = "all goals of its time and before were cancelled".to_owned();
                Entry { key, id, stamp, status: GoalStatus::Recalled, text, handle: None, ended: Some(now) }
            }
            false => {
                let (text, handle) = (String::new(), Some(handle(key)));
                Entry { key, id, stamp, status: GoalStatus::Pending, text, handle, ended: None }
            }
        });
        if recalled { Arrival::Recalled } else { Arrival::New }
    }

    /// Cancels the goal with this id, those with this stamp or an earlier one, or (with neither) all. Returns the
    /// handles of newly cancelled goals. A request for an unknown id waits for its goal; false if the registry is full.
    pub(super) fn cancel(&mut self, id: &str, stamp: Time, now: Instant) -> (Vec<H>, bool) {
        let all = id.is_empty() && stamp.is_zero();
        let mut concerned = Vec::new();
        for entry in &mut self.entries {
            let named = !id.is_empty() && entry.id.text() == Some(id);
            let before = !stamp.is_zero() && entry.stamp <= stamp;
            if (all || named || before)
                && let Some(next) = entry.status.after(Step::RequestCancel)
            {
                entry.status = next;
                concerned.extend(entry.handle.clone());
            }
        }
        self.last_cancel = self.last_cancel.max(stamp);
        let waits = !id.is_empty() && self.by_id(&GoalId::from(id)).is_none();
        let is_kept = !waits || self.evict_if_full();
        if waits && is_kept {
            let (key, id, status) = (self.next_key(), GoalId::from(id), GoalStatus::Recalling);
            let text = String::new();
            self.entries.push(Entry { key, id, stamp, status, text, handle: None, ended: Some(now) });
        }
        (concerned, is_kept)
    }

    /// Sets the status of a goal.
    pub(super) fn set(&mut self, key: Key, status: GoalStatus, text: &str, now: Instant) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.status = status;
            text.clone_into(&mut entry.text);
            entry.ended = status.is_terminal().then_some(now);
        }
    }

    /// Removes goals whose listing time has expired.
    pub(super) fn expire(&mut self, now: Instant) {
        let keep = self.keep;
        self.entries.retain(|entry| entry.ended.is_none_or(|ended| now.since(ended) <= keep));
    }

    fn next_key(&mut self) -> Key {
        self.key = Key(self.key.0 + 1);
        self.key
    }

    /// Evicts the goal that ended first if the registry is full. False if none has ended.
    fn evict_if_full(&mut self) -> bool {
        if self.entries.len() < self.limit {
            return true;
        }
        let ended = self.entries.iter().enumerate().filter_map(|(place, entry)| Some((entry.ended?, place)));
        let Some((_, oldest)) = ended.min() else { return false };
        self.entries.remove(oldest);
        true
    }
}

impl<H> Entry<H> {
    /// Handles another goal with this id.
    fn on_duplicate(&mut self, now: Instant) -> Arrival {
        if self.ended.is_some() {
            self.ended = Some(now);
        }
        if self.handle.is_none() && self.status == GoalStatus::Recalling {
            self.status = GoalStatus::Recalled;
            return Arrival::Recalled;
        }
        Arrival::Known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Duration = Duration::from_secs(5);

    /// Time of reception, by the server's clock.
    const CAME: Time = Time { sec: 4, nanosec: 0 };

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn stamp(sec: i32) -> Time {
        Time { sec, nanosec: 0 }
    }

    fn arrive(registry: &mut GoalRegistry<i32>, goal: i32, set: Time, now: Instant) -> Arrival {
        registry.arrive(&id(goal), (set, CAME), |_| goal, now)
    }

    fn key(registry: &GoalRegistry<i32>, goal: i32) -> Key {
        registry.by_id(&id(goal)).unwrap().key
    }

    /// A registry of these goals, each with its number as stamp and handle.
    fn registry(limit: usize, goals: &[i32]) -> GoalRegistry<i32> {
        let mut registry = GoalRegistry::new(limit, KEEP);
        for goal in goals {
            let arrived = arrive(&mut registry, *goal, stamp(*goal), at(0));
            assert_eq!(arrived, Arrival::New);
        }
        registry
    }

    fn statuses(registry: &GoalRegistry<i32>) -> Vec<GoalStatus> {
        registry.entries().iter().map(|entry| entry.status).collect()
    }

    fn id(number: i32) -> GoalId {
        GoalId::from(&*number.to_string())
    }

    #[test]
    fn cancel_selects_by_id_stamp_or_all() {
        let none: &[i32] = &[];
        for (cancelled, at_time, expected) in [
            ("2", 0, [2].as_slice()),
            ("", 2, [1, 2].as_slice()),
            ("3", 1, [1, 3].as_slice()),
            ("", 0, [1, 2, 3].as_slice()),
            ("4", 0, none),
        ] {
            let mut registry = registry(10, &[1, 2, 3]);
            let (concerned, kept) = registry.cancel(cancelled, stamp(at_time), at(0));
            assert_eq!((concerned.as_slice(), kept), (expected, true), "{cancelled:?} {at_time}");
            let again = registry.cancel(cancelled, stamp(at_time), at(0)).0;
            assert!(again.is_empty(), "a repeated cancel notifies no owner");
        }
    }

    #[test]
    fn goal_cancelled_before_arrival_is_recalled() {
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
        assert_eq!(arrive(&mut registry, 1, stamp(1), at(0)), Arrival::Known);
        assert_eq!(statuses(&registry), [GoalStatus::Recalling], "its owner continues");
    }

    #[test]
    fn ended_goal_stays_listed_for_a_while() {
        let mut registry = registry(10, &[1, 2]);
        let first = key(&registry, 1);
        registry.set(first, GoalStatus::Rejected, "no", at(10));
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
}
